/** Loads alert rules and alerts for the writer. */
import { storableJson } from '../../../domain/text.ts'
import type { Revision } from '../../../domain/values.ts'
import { alertsDuty } from '../../alerts/checks.ts'
import { type AlertRecord, type LoadedAlerts, type RuleRecord, toAlert, toRule } from '../../alerts/rows.ts'
import type { Reader } from '../../database.ts'
import type { AlertNeed } from '../needs.ts'

const readCursor = `select cursor from duties where name = '${alertsDuty}' for update`
/** $1 names, $2 keys, $3 whether those of the file are wanted. */
const readRules = `select r.* from alert_rules r where r.name in (select x from json_array_elements_text($1::text::json) x)
  or r.key in (select x::bigint from json_array_elements_text($2::text::json) x) or ($3::boolean and r.origin = 'FILE')`
const readFiring = `select a.* from json_array_elements_text($1::text::json) x cross join lateral (
  select a.* from alerts a where a.rule_key = x::bigint and a.resolved_revision is null offset 0) a`
const readAlerts = `select a.* from alerts a where a.key in (select x::bigint from json_array_elements_text($1::text::json) x)`

export async function loadAlerts(session: Reader, needs: readonly AlertNeed[]): Promise<LoadedAlerts> {
  const names = needs.flatMap(({ rules = [] }) => rules)
  const keys = needs.flatMap(({ ruleKeys = [] }) => ruleKeys)
  const wanted = needs.flatMap(({ alertKeys = [] }) => alertKeys)
  const isOfFile = needs.some((need) => need.isOfFile)
  const [head] = needs.some((need) => need.cursor) ? await session.run<{ cursor: Revision | null }>(readCursor) : []
  const rules = (await session.run<RuleRecord>(readRules, [storableJson(names), storableJson(keys), isOfFile])).map(
    toRule,
  )
  const firing = await session.run<AlertRecord>(readFiring, [storableJson(rules.map(({ key }) => key))])
  const named = wanted.length === 0 ? [] : await session.run<AlertRecord>(readAlerts, [storableJson(wanted)])
  const [counted] = await session.run<{ n: number }>('select count(*)::int as n from alert_rules where not deleted')
  return { cursor: head?.cursor ?? null, ruleCount: counted?.n ?? 0, rules, alerts: [...firing, ...named].map(toAlert) }
}
