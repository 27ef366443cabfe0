/** The alert rules and alerts of a unit of work. */
import type { Alert } from '../../domain/alerts/alert.ts'
import type { Revision } from '../../domain/values.ts'
import type { LoadedAlerts, StoredRule } from '../../store/alerts/rows.ts'
import type { AlertEffects } from '../../store/write/contract.ts'

export interface AlertRows {
  /** The evaluation's place in the log. Null: it was not loaded, or there is none. */
  readonly cursor: Revision | null
  /** Rules that are not deleted. */
  ruleCount(): number
  /** Deleted ones included. */
  rule(name: string): StoredRule | null
  ruleByKey(key: number): StoredRule | null
  rules(): Iterable<StoredRule>
  alert(key: number): Alert | null
  firing(ruleKey: number): readonly Alert[]
  firingIn(ruleKey: number, rolloutKey: number): Alert | null
  putRule(rule: StoredRule): void
  /** The caller writes the change (UnitOfWork.recordAlert). */
  putAlert(alert: Alert): void
  effects(): AlertEffects
}

export const noAlerts: LoadedAlerts = { cursor: null, ruleCount: 0, rules: [], alerts: [] }

export function createAlertRows(loaded: LoadedAlerts): AlertRows {
  const rules = new Map(loaded.rules.map((rule) => [rule.key, rule]))
  const alerts = new Map(loaded.alerts.map((alert) => [alert.key, alert]))
  const [knownRules, knownAlerts] = [new Set(rules.keys()), new Set(alerts.keys())]
  let ruleCount = loaded.ruleCount
  const touchedRules = new Set<number>()
  const touchedAlerts = new Set<number>()
  /** Firing alerts by rule and rollout. A loaded alert that is acknowledged may be resolved. */
  const firing = new Map<number, Map<number, Alert>>()

  function note(alert: Alert): void {
    const ofRule = firing.get(alert.ruleKey) ?? new Map<number, Alert>()
    if (alert.resolvedRevision === null) ofRule.set(alert.rolloutKey, alert)
    else if (ofRule.get(alert.rolloutKey)?.key === alert.key) ofRule.delete(alert.rolloutKey)
    firing.set(alert.ruleKey, ofRule)
  }
  for (const alert of alerts.values()) note(alert)

  const touched = <Row>(all: ReadonlyMap<number, Row>, keys: ReadonlySet<number>, known: ReadonlySet<number>) =>
    new Map(
      [...keys].flatMap((key) => {
        const row = all.get(key)
        return row === undefined ? [] : [[key, { row, isNew: !known.has(key) }] as const]
      }),
    )

  return {
    cursor: loaded.cursor,
    ruleCount: () => ruleCount,
    rule: (name) => [...rules.values()].find((rule) => rule.name === name) ?? null,
    ruleByKey: (key) => rules.get(key) ?? null,
    rules: () => rules.values(),
    alert: (key) => alerts.get(key) ?? null,
    firing: (ruleKey) => [...(firing.get(ruleKey)?.values() ?? [])],
    firingIn: (ruleKey, rolloutKey) => firing.get(ruleKey)?.get(rolloutKey) ?? null,
    putRule(rule) {
      const wasThere = rules.get(rule.key)?.deleted === false
      ruleCount += Number(!rule.deleted) - Number(wasThere)
      rules.set(rule.key, rule)
      touchedRules.add(rule.key)
    },
    putAlert(alert) {
      alerts.set(alert.key, alert)
      touchedAlerts.add(alert.key)
      note(alert)
    },
    effects: () => ({
      rules: touched(rules, touchedRules, knownRules),
      alerts: touched(alerts, touchedAlerts, knownAlerts),
    }),
  }
}
