/**
 * Finds deployments that stand still. The duration of a step in progress is compared with the durations of the same step of other deployments in
 * the rollout. A standstill is longer than `factor` times their 95th percentile, without any change. If too few completed the step, a fixed limit
 * applies.
 *
 * The time that a device was in maintenance does not count. An index orders the steps by when they begin to count (step-durations.ts maintains it). So a search costs one probe for each kind of step and the
 * results, for any number of deployments in progress.
 */
import { storableJson } from '../../domain/text.ts'
import type { Millis, Revision } from '../../domain/values.ts'
import type { Session } from '../database.ts'
import { covered } from '../projection.ts'
import { maintained } from '../sql/maintained.ts'
import { iso } from '../sql/record-set.ts'
import { fewestPeers, isUnderWay, shortest, stepsProjection } from './step-durations.ts'

export interface StallLimits {
  /** The factor of the peers' 95th percentile. Null: peers are ignored. */
  readonly factor: number | null
  /** The limit in seconds without enough peers. Null: no limit. */
  readonly after: number | null
}

interface Overdue {
  readonly key: number
  readonly revision: Revision
  /** GONE: the deployment has changed since, or is not in progress any more. PEERS: peers have completed the step meanwhile, so the fixed limit does not apply. PAUSED: its device was in maintenance, so it is found again later, if ever. */
  readonly verdict: 'STALLED' | 'GONE' | 'PEERS' | 'PAUSED'
  /** From when the step counts: its device was in maintenance since it began. */
  readonly countsFrom: Millis
}

/** While a device is in maintenance, the clock of its steps stands still, so they are not looked at. */
const isPaused = `exists (select from deployments d join targets t on t.key = d.target_key
          where d.key = s.deployment_key and t.maintenance_key is not null offset 0)`
const paused = `make_interval(secs => (${maintained('d.target_key', 'f.since', '$1::timestamptz')}) / 1000)`

/** $1 now, $2 listening since, $3 factor, $4 after, $5 rows at most. */
const find = `
  with limits as materialized (
    select u.rollout_key, u.component, u.state,
      make_interval(secs => greatest(u.p95 * $3::float8 / 1000, ${shortest})) as longest
    from usual_durations u join rollouts r on r.key = u.rollout_key
    where $3::float8 is not null and u.count >= ${fewestPeers} and r.pending + r.installing + r.removing > 0
  ), overdue as (
    select p.deployment_key, p.since, p.counts_from, true as has_peers from limits u cross join lateral (
      select deployment_key, since, counts_from from steps_in_progress s
      where s.rollout_key = u.rollout_key and s.component = u.component and s.state = u.state and s.counts_from < $1::timestamptz - u.longest
        and not ${isPaused}
      order by s.counts_from limit $5::int) p
    where $2::timestamptz < $1::timestamptz - u.longest
    union all
    select p.deployment_key, p.since, p.counts_from, false
    from (values (false), (true)) peers(has) cross join lateral (
      select deployment_key, since, counts_from from steps_in_progress s
      where s.has_peers = peers.has and s.counts_from < $1::timestamptz - make_interval(secs => greatest($4::int, ${shortest}))
        and not ${isPaused}
      order by s.counts_from limit $5::int) p
    where $4::int is not null and ($3::float8 is null or not peers.has)
      and $2::timestamptz < $1::timestamptz - make_interval(secs => greatest($4::int, ${shortest}))
  ), first as (
    select deployment_key, max(since) as since, max(counts_from) as counts_from, bool_or(has_peers) as has_peers from overdue group by 1 limit $5::int
  )
  select d.key, d.revision, (extract(epoch from f.since + ${paused}) * 1000)::float8 as "countsFrom", case
      when not (${isUnderWay}) or d.changed_at > f.since or exists (
        select from change_log l where l.deployment_key = d.key and l.resource_key is not null and l.first_revision > ${covered(stepsProjection)}) then 'GONE'
      when f.since + ${paused} > f.counts_from + interval '1 millisecond' then 'PAUSED'
      when f.has_peers or $3::float8 is null or not exists (
        select from steps_in_progress s join usual_durations u using (rollout_key, component, state)
        where s.deployment_key = d.key and u.count >= ${fewestPeers}) then 'STALLED'
      else 'PEERS' end as verdict
  from first f join deployments d on d.key = f.deployment_key`

/** `listeningSince`: while no server listened, no progress could be heard. */
export function findOverdue(
  session: Session,
  now: Millis,
  { factor, after }: StallLimits,
  listeningSince: Millis,
  limit: number,
): Promise<Overdue[]> {
  return session.run(find, [iso(now), iso(listeningSince), factor, after, limit])
}

/** Notes the results, so that no step is found twice: marks steps with PEERS, moves those with PAUSED, and removes the others. A later change of a deployment adds its steps again. */
export async function settleOverdue(session: Session, found: readonly Overdue[]): Promise<void> {
  const keysOf = (...verdicts: readonly Overdue['verdict'][]): string =>
    storableJson(found.filter(({ verdict }) => verdicts.includes(verdict)).map(({ key }) => key))
  const moved = found.filter(({ verdict }) => verdict === 'PAUSED')
  await session.run(
    `with compared as (
       update steps_in_progress set has_peers = true where deployment_key in (select x::bigint from json_array_elements_text($1::text::json) x)
     ), paused as (
       update steps_in_progress s set counts_from = x."countsFrom" from json_to_recordset($3::text::json) as x(key bigint, "countsFrom" timestamptz)
       where s.deployment_key = x.key)
     delete from steps_in_progress where deployment_key in (select x::bigint from json_array_elements_text($2::text::json) x)`,
    [
      keysOf('PEERS'),
      keysOf('STALLED', 'GONE'),
      storableJson(moved.map(({ key, countsFrom }) => ({ key, countsFrom: iso(countsFrom) }))),
    ],
  )
}
