/** Saves alert rules and alerts, one statement a table as in save.ts. */
import { storableJson } from '../../../domain/text.ts'
import { insertOf, iso, updateOf } from '../../sql/record-set.ts'
import { alertRules, alerts } from '../../tables/schema.ts'
import type { AlertEffects } from '../contract.ts'
import { type Put, putEach, putText } from './put.ts'

const insertRules = insertOf(alertRules)
const updateRules = updateOf(alertRules, { set: (field) => !['name', 'createdAt'].includes(field) })
const insertAlerts = insertOf(alerts)
const updateAlerts = updateOf(alerts, {
  set: (field) => /^(resolved|resolution|acknowledged|comment)/.test(field),
})
/** A changed rule is evaluated from the beginning: for all its scopes, and its `for` starts again. */
const dropChecks = `delete from alert_checks where rule_key in (select x::bigint from json_array_elements_text($1::text::json) x)`
const beginAgain = `insert into alert_checks (rollout_key, rule_key, due_at, swept_to)
  select 0, x.key, $2::timestamptz, x."sweptTo" from json_to_recordset($1::text::json) as x(key bigint, "sweptTo" bigint)`

export function* putAlerts(effects: AlertEffects, at: number): Iterable<Put> {
  const rules = [...effects.rules.values()]
  const enabled = rules.filter(({ row }) => row.enabled && !row.deleted)
  const begun = enabled.map(({ row: { key, rule } }) => ({ key, sweptTo: rule.perRollout ? 0 : null }))
  yield* putEach(insertRules, updateRules, rules)
  if (rules.length > 0) yield putText({ text: dropChecks, parameters: [storableJson(rules.map(({ row }) => row.key))] })
  if (begun.length > 0) yield putText({ text: beginAgain, parameters: [storableJson(begun), iso(at)] })
  yield* putEach(insertAlerts, updateAlerts, effects.alerts.values())
}
