/**
 * Raises, resolves and acknowledges alerts. The evaluation (ingest/alerts/evaluation.ts) finds what to do; the command repeats its checks
 * under the log's lock. So each alert is raised once and resolved once, also if two replicas evaluate the same entries.
 */
import type { Alert, AlertRule, Resolution } from '../../domain/alerts/alert.ts'
import { DomainError } from '../../domain/errors.ts'
import type { Revision } from '../../domain/values.ts'
import { type Settlement, settle } from '../../store/alerts/checks.ts'
import type { StoredRule } from '../../store/alerts/rows.ts'
import type { Command } from '../command.ts'
import type { UnitOfWork } from '../unit-of-work/unit-of-work.ts'

export interface AlertDecision {
  readonly ruleKey: number
  /** The decision is void if the rule has another version by now. */
  readonly version: number
  readonly rolloutKey: number
  readonly act: 'RAISE' | 'RESOLVE'
  readonly value: number | null
}

/**
 * `evaluatedRevision`: the values reflect it. Everything is void if the evaluation's cursor is not at `settlement.from` any more: another
 * replica has evaluated these entries, perhaps on a newer state.
 */
export function recordAlerts(
  decisions: readonly AlertDecision[],
  evaluatedRevision: Revision,
  settlement: Settlement,
): Command<{ readonly isCurrent: boolean }> {
  return {
    needs: { alerts: { cursor: true, ruleKeys: [...new Set(decisions.map(({ ruleKey }) => ruleKey))] } },
    decide(work) {
      if (work.alerts.cursor !== settlement.from) return { isCurrent: false }
      for (const decision of decisions) {
        const rule = work.alerts.ruleByKey(decision.ruleKey)
        if (!rule || rule.version !== decision.version || !rule.enabled || rule.deleted) continue
        const firing = work.alerts.firingIn(decision.ruleKey, decision.rolloutKey)
        if (decision.act === 'RESOLVE' && firing) resolveAlert(work, firing, decision.value, 'RECOVERED')
        if (decision.act === 'RAISE' && !firing) raise(work, rule, decision, evaluatedRevision)
      }
      return { isCurrent: true }
    },
    statements: ({ isCurrent }) => (isCurrent ? [settle(settlement)] : []),
  }
}

function raise(
  work: UnitOfWork,
  { key: ruleKey, name, rule }: StoredRule,
  { rolloutKey, value }: AlertDecision,
  evaluatedRevision: Revision,
): void {
  const { at, revision } = work.moment()
  const facts = { rule: name, severity: rule.severity, value: value ?? 0, evaluatedRevision }
  const alert: Alert = {
    ...{ key: work.newKey(), ruleKey, rolloutKey, ...facts, ...shownOf(rule) },
    ...{ raisedRevision: revision, raisedAt: at },
    ...{ resolvedRevision: null, resolvedAt: null, resolvedValue: null, resolution: null },
    ...{ acknowledgedRevision: null, acknowledgedAt: null, acknowledgedBy: null, comment: null },
  }
  work.recordAlert(alert, { kind: 'ALERT_RAISED', alertKey: alert.key, ...facts })
}

function shownOf({ description, labels, runbookUrl, metric, unit, threshold }: AlertRule) {
  return { description, labels, runbookUrl, metric, unit, threshold }
}

export function resolveAlert(work: UnitOfWork, alert: Alert, value: number | null, resolution: Resolution): void {
  const { at, revision } = work.moment()
  const { key: alertKey, rule, severity } = alert
  work.recordAlert(
    { ...alert, resolvedRevision: revision, resolvedAt: at, resolvedValue: value, resolution },
    { kind: 'ALERT_RESOLVED', alertKey, rule, severity, value, resolution },
  )
}

/** The first acknowledgement stays, so that the past does not change. Resolved alerts may be acknowledged too. */
export function acknowledgeAlert(key: number, by: string, comment: string): Command<Alert> {
  return {
    needs: { alerts: { alertKeys: [key] } },
    decide(work) {
      const alert = work.alerts.alert(key)
      if (!alert) throw refusal('NOT_FOUND', 'there is no such alert')
      if (alert.acknowledgedBy === by && alert.comment === comment) return alert
      if (alert.acknowledgedBy !== null)
        throw refusal('CONFLICT', `${alert.acknowledgedBy} has acknowledged this alert`)
      const { at, revision } = work.moment()
      const acknowledged = { ...alert, acknowledgedRevision: revision, acknowledgedAt: at, acknowledgedBy: by, comment }
      const { rule, severity } = alert
      work.recordAlert(acknowledged, { kind: 'ALERT_ACKNOWLEDGED', alertKey: key, rule, severity, by, comment })
      return acknowledged
    },
  }
}

function refusal(code: 'NOT_FOUND' | 'CONFLICT', message: string): DomainError {
  return new DomainError(code, message, { problems: [{ field: 'id', message }] })
}
