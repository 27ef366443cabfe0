/** Saves and deletes alert rules. A changed rule resolves its alerts and is evaluated from the beginning. */
import { isDeepStrictEqual } from 'node:util'
import { DomainError } from '../../domain/errors.ts'
import type { RuleOrigin, StoredRule } from '../../store/alerts/rows.ts'
import type { Command } from '../command.ts'
import type { UnitOfWork } from '../unit-of-work/unit-of-work.ts'
import { resolveAlert } from './alerts.ts'

export type GivenRule = Pick<StoredRule, 'name' | 'rule' | 'selector' | 'enabled'>

/** Rules in service. Each touched rule is evaluated, so their number is bounded. */
const mostRules = 1_000

export function saveAlertRule(given: GivenRule): Command<StoredRule> {
  return {
    needs: { alerts: { rules: [given.name] } },
    decide(work) {
      refuseOfFile(work.alerts.rule(given.name))
      return save(work, given, 'API')
    },
  }
}

export function deleteAlertRule(name: string): Command<StoredRule> {
  return {
    needs: { alerts: { rules: [name] } },
    decide(work) {
      const known = work.alerts.rule(name)
      if (!known || known.deleted) throw refusal('NOT_FOUND', `there is no alert rule ${name}`)
      refuseOfFile(known)
      return remove(work, known)
    },
  }
}

/** The rules of the file: saves them, and deletes those that the file had before. Rules of the API with these names become the file's. */
export function applyRuleFile(rules: readonly GivenRule[]): Command<null> {
  return {
    needs: { alerts: { rules: rules.map(({ name }) => name), isOfFile: true } },
    decide(work) {
      const names = new Set(rules.map(({ name }) => name))
      for (const known of [...work.alerts.rules()])
        if (known.origin === 'FILE' && !known.deleted && !names.has(known.name)) remove(work, known)
      for (const rule of rules) save(work, rule, 'FILE')
      return null
    },
  }
}

function save(work: UnitOfWork, given: GivenRule, origin: RuleOrigin): StoredRule {
  const known = work.alerts.rule(given.name)
  const { name, rule, selector, enabled } = given
  if (known && !known.deleted && isEqual(known, given)) {
    if (known.origin === origin) return known
    const taken = { ...known, origin, version: work.newKey() }
    work.alerts.putRule(taken)
    return taken
  }
  if (!known || known.deleted) refuseTooMany(work)
  const stored: StoredRule = {
    key: known?.key ?? work.newKey(),
    ...{ name, rule, selector, enabled, origin, deleted: false, version: work.newKey() },
    createdAt: known && !known.deleted ? known.createdAt : work.now,
    updatedAt: work.now,
  }
  if (known) for (const alert of work.alerts.firing(known.key)) resolveAlert(work, alert, null, 'RULE_CHANGED')
  work.alerts.putRule(stored)
  return stored
}

function remove(work: UnitOfWork, known: StoredRule): StoredRule {
  for (const alert of work.alerts.firing(known.key)) resolveAlert(work, alert, null, 'RULE_DELETED')
  const deleted = { ...known, deleted: true, enabled: false, version: work.newKey(), updatedAt: work.now }
  work.alerts.putRule(deleted)
  return deleted
}

function isEqual(known: StoredRule, { rule, selector, enabled }: GivenRule): boolean {
  return known.enabled === enabled && isDeepStrictEqual([known.rule, known.selector], [rule, selector])
}

function refuseTooMany({ alerts }: UnitOfWork): void {
  if (alerts.ruleCount() >= mostRules)
    throw new DomainError('CONFLICT', `there are ${mostRules} alert rules: delete some first`)
}

function refuseOfFile(known: StoredRule | null): void {
  if (known?.origin === 'FILE' && !known.deleted)
    throw refusal('CONFLICT', `the rule ${known.name} is defined in the file of ALERT_RULES: change it there`)
}

function refusal(code: 'NOT_FOUND' | 'CONFLICT', message: string): DomainError {
  return new DomainError(code, message, { problems: [{ field: 'name', message }] })
}
