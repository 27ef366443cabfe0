/** What an evaluation of rules finds: decisions about alerts, and the checks that follow. */
import { type Evaluation, evaluate, type Measure } from '../../domain/alerts/alert.ts'
import type { Millis } from '../../domain/values.ts'
import { type Check, type Standings, scopeName } from '../../store/alerts/checks.ts'
import { type Measured, nothingMeasured } from '../../store/alerts/measures.ts'
import type { StoredRule } from '../../store/alerts/rows.ts'
import type { AlertDecision } from '../commands/alerts.ts'

export interface Results {
  readonly decisions: AlertDecision[]
  readonly kept: (Check & { readonly version: number })[]
  readonly dropped: Pick<Check, 'ruleKey' | 'rolloutKey'>[]
  readonly owed: { ruleKey: number; rolloutKey: number; dueAt: Millis; version: number }[]
}

export const noResults = (): Results => ({ decisions: [], kept: [], dropped: [], owed: [] })

export function countResults({ decisions, kept, dropped, owed }: Results): number {
  return decisions.length + kept.length + dropped.length + owed.length
}

/** A check that is due, with its rule. */
export type DueCheck = Check & { readonly rule: StoredRule }

/** Adds the decision about a rule in a scope, and its next check, to the results. */
export function judge(
  results: Results,
  { key: ruleKey, version, rule }: StoredRule,
  rolloutKey: number,
  { firing, checks }: Standings,
  { measures }: Measured,
  now: Millis,
): void {
  const name = scopeName(ruleKey, rolloutKey)
  const before = checks.get(name)
  const standing = { isFiring: firing.has(name), breachedSince: before?.breachedSince ?? null }
  const measure: Measure = measures.get(rolloutKey) ?? nothingMeasured
  const { act, value, breachedSince, dueAt }: Evaluation = evaluate(rule, measure, standing, now)
  if (act !== null) results.decisions.push({ ruleKey, version, rolloutKey, act, value })
  const isDue = before !== undefined && before.dueAt <= now
  if (dueAt === null) {
    if (before) results.dropped.push({ ruleKey, rolloutKey })
  } else if (!before || isDue || before.breachedSince !== breachedSince || before.dueAt > dueAt) {
    // A later due time is written only when the earlier one is due: progress would otherwise write each time.
    results.kept.push({ ruleKey, rolloutKey, version, dueAt, breachedSince, sweptTo: null })
  }
}
