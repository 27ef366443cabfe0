/**
 * The evaluation's place in the log, and the checks that time makes due. The place moves with the results of the evaluation, and only from
 * where the evaluation began: of two replicas that evaluate the same entries, one has no effect.
 */
import { storableJson } from '../../domain/text.ts'
import type { Millis, Revision } from '../../domain/values.ts'
import type { Session } from '../database.ts'
import { iso } from '../sql/record-set.ts'
import { type RuleRecord, type StoredRule, toRule } from './rows.ts'

/** The duty's name, which is also the name of its cursor. */
export const alertsDuty = 'alerts'

export interface Check {
  readonly ruleKey: number
  readonly rolloutKey: number
  readonly dueAt: Millis
  readonly breachedSince: Millis | null
  readonly sweptTo: number | null
}

interface Statement {
  readonly text: string
  readonly parameters: readonly unknown[]
}

/** The results of an evaluation, apart from alerts. */
export interface Settlement {
  readonly from: Revision
  readonly to: Revision
  /** The newest version of the rules that were evaluated. With an older copy, the entries must be read again. */
  readonly version: number
  /** For these versions of their rules only. */
  readonly kept: readonly (Check & { readonly version: number })[]
  readonly dropped: readonly Pick<Check, 'ruleKey' | 'rolloutKey'>[]
  /** Checks that are owed. An earlier due time stays. */
  readonly owed: readonly (Pick<Check, 'ruleKey' | 'rolloutKey' | 'dueAt'> & { readonly version: number })[]
}

const item = `as x("ruleKey" bigint, "rolloutKey" bigint, version bigint, "dueAt" timestamptz, "breachedSince" timestamptz, "sweptTo" bigint)`
/** A rule that is changed meanwhile is waited for, and then its checks are not written. */
const current = (parameter: string): string =>
  `select x.* from turn, json_to_recordset(${parameter}::text::json) ${item}
     join alert_rules r on r.key = x."ruleKey" and r.version = x.version and r.enabled and not r.deleted for share of r`
const settleText = `
  with turn as (
    update duties set cursor = $2::bigint where name = '${alertsDuty}' and cursor = $1::bigint
      and coalesce((select max(version) from alert_rules), 0) = $6::bigint returning cursor
  ), kept as (
    insert into alert_checks (rollout_key, rule_key, due_at, breached_since, swept_to)
    select k."rolloutKey", k."ruleKey", k."dueAt", k."breachedSince", k."sweptTo" from (${current('$3')}) k
    on conflict (rollout_key, rule_key) do update
      set due_at = excluded.due_at, breached_since = excluded.breached_since, swept_to = excluded.swept_to
  ), owed as (
    insert into alert_checks as known (rollout_key, rule_key, due_at)
    select o."rolloutKey", o."ruleKey", o."dueAt" from (${current('$4')}) o
    on conflict (rollout_key, rule_key) do update set due_at = least(known.due_at, excluded.due_at)
      where known.due_at > excluded.due_at
  ), dropped as (
    delete from alert_checks c using turn, json_to_recordset($5::text::json) ${item}
    where c.rollout_key = x."rolloutKey" and c.rule_key = x."ruleKey"
  )
  select cursor from turn`

export function settle({ from, to, version, kept, owed, dropped }: Settlement): Statement {
  const timed = kept.map(({ dueAt, breachedSince, ...check }) => ({
    ...check,
    dueAt: iso(dueAt),
    breachedSince: breachedSince === null ? null : iso(breachedSince),
  }))
  const lists = [timed, owed.map((check) => ({ ...check, dueAt: iso(check.dueAt) })), dropped]
  return { text: settleText, parameters: [from, to, ...lists.map(storableJson), version] }
}

/** The cursor. The first call sets it to the newest revision: new rules look at the present themselves. */
export async function readCursor(session: Session): Promise<{
  readonly cursor: Revision
  readonly newest: Revision
  readonly tail: Revision
  /** When the duty was last attempted. */
  readonly attemptedAt: Millis | null
}> {
  const [row] = await session.run<{
    cursor: Revision | null
    newest: Revision
    tail: Revision
    attemptedAt: Millis | null
  }>(
    `select d.cursor, h.revision as newest, h.tail, d.attempted_at as "attemptedAt" from log_head h left join duties d on d.name = '${alertsDuty}'`,
  )
  if (row?.cursor !== null && row !== undefined) return { ...row, cursor: row.cursor }
  await session.run(
    `insert into duties as d (name, cursor) select '${alertsDuty}', revision from log_head
     on conflict (name) do update set cursor = coalesce(d.cursor, excluded.cursor)`,
  )
  return readCursor(session)
}

/** The log no longer has the entries after the cursor: every rule is evaluated from the beginning. */
export async function restart(session: Session, from: Revision, to: Revision, now: Millis): Promise<void> {
  await session.run(
    `with turn as (update duties set cursor = $2::bigint where name = '${alertsDuty}' and cursor = $1::bigint returning cursor)
     insert into alert_checks (rollout_key, rule_key, due_at, swept_to)
     select 0, r.key, $3::timestamptz, case when (r.rule->>'perRollout')::boolean then 0 end from turn, alert_rules r
     where r.enabled and not r.deleted
     on conflict (rollout_key, rule_key) do update set due_at = excluded.due_at, swept_to = excluded.swept_to`,
    [from, to, iso(now)],
  )
}

/** Makes all checks due: the clock has gone back, and their times would come too late. */
export async function makeAllDue(session: Session, now: Millis): Promise<void> {
  await session.run('update alert_checks set due_at = $1::timestamptz where due_at > $1::timestamptz', [iso(now)])
}

/** Counted by version, because a version is never used twice. */
export async function newestVersion(session: Session): Promise<number> {
  const [row] = await session.run<{ version: number | null }>('select max(version) as version from alert_rules')
  return row?.version ?? 0
}

export async function enabledRules(session: Session): Promise<StoredRule[]> {
  const rows = await session.run<RuleRecord>('select * from alert_rules where enabled and not deleted order by key')
  return rows.map(toRule)
}

/** The rollouts that the next entries after the cursor touch. `cursor`: the last revision that was read. */
export async function readTouched(
  session: Session,
  cursor: Revision,
  newest: Revision,
  limit: number,
): Promise<{ readonly cursor: Revision; readonly rollouts: readonly number[] }> {
  const [row] = await session.run<{ entries: number; last: Revision | null; rollouts: number[] | null }>(
    `with entries as materialized (
       select last_revision, deployment_key, instance_key, target_key, rollout_key, from_rollout_key from change_log
       where first_revision > $1::bigint and first_revision <= $2::bigint order by first_revision limit $3::int
     ), touched as (
       select rollout_key as key from entries where deployment_key is not null or instance_key is not null
       union select from_rollout_key from entries
       union select d.rollout_key from (
         select distinct target_key from entries where deployment_key is null and target_key is not null) t
       cross join lateral (
         select d.rollout_key from deployments d where d.target_key = t.target_key and d.forgotten_at is null offset 0) d
     )
     select count(*)::int as entries, max(last_revision) as last,
       (select json_agg(key) from touched where key is not null) as rollouts from entries`,
    [cursor, newest, limit],
  )
  const isAll = (row?.entries ?? 0) < limit
  return { cursor: isAll ? Math.max(newest, row?.last ?? 0) : (row?.last ?? newest), rollouts: row?.rollouts ?? [] }
}

export interface Standings {
  /** `<rule> <rollout>` of alerts that fire. */
  readonly firing: ReadonlySet<string>
  readonly checks: ReadonlyMap<string, Check>
}

export function scopeName(ruleKey: number, rolloutKey: number): string {
  return `${ruleKey} ${rolloutKey}`
}

/** The keys of the rules that fire or have a check, by the key of the rollout. */
export function rulesByScope({ firing, checks }: Standings): ReadonlyMap<number, readonly number[]> {
  const found = new Map<number, number[]>()
  const add = (rolloutKey: number, ruleKey: number): void => {
    const rules = found.get(rolloutKey)
    if (rules) rules.push(ruleKey)
    else found.set(rolloutKey, [ruleKey])
  }
  for (const name of firing) {
    const [ruleKey, rolloutKey] = name.split(' ').map(Number)
    add(rolloutKey ?? 0, ruleKey ?? 0)
  }
  for (const { ruleKey, rolloutKey } of checks.values()) add(rolloutKey, ruleKey)
  return found
}

export async function readStandings(session: Session, rolloutKeys: readonly number[]): Promise<Standings> {
  const keys = storableJson(rolloutKeys)
  const each = 'json_array_elements_text($1::text::json) k'
  const firing = await session.run<{ ruleKey: number; rolloutKey: number }>(
    `select a.* from ${each} cross join lateral (
       select rule_key as "ruleKey", rollout_key as "rolloutKey" from alerts
       where rollout_key = k::bigint and resolved_revision is null offset 0) a`,
    [keys],
  )
  const checks = await session.run<Check>(
    `select c.* from ${each} cross join lateral (select ${checkColumns} from alert_checks where rollout_key = k::bigint offset 0) c`,
    [keys],
  )
  return {
    firing: new Set(firing.map(({ ruleKey, rolloutKey }) => scopeName(ruleKey, rolloutKey))),
    checks: new Map(checks.map((check) => [scopeName(check.ruleKey, check.rolloutKey), check])),
  }
}

const checkColumns = `rule_key as "ruleKey", rollout_key as "rolloutKey", due_at as "dueAt", breached_since as "breachedSince", swept_to as "sweptTo"`

/** The longest due first. */
export function dueChecks(session: Session, now: Millis, limit: number): Promise<Check[]> {
  return session.run(
    `select ${checkColumns} from alert_checks where due_at <= $1::timestamptz order by due_at, rule_key, rollout_key limit $2::int`,
    [iso(now), limit],
  )
}
