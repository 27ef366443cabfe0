/**
 * Who stands still. A deployment under way is compared with its peers of the same rollout: each of its components that is under way
 * with how long theirs stayed in that state before they went on (where it has no such component: the deployments themselves). Longer
 * without any change than `factor` times what 95 of 100 of them took, in the component that is due first, is a standstill. Where
 * too few peers have gone on, the usual time is unknown: then a fixed limit holds.
 */
import type { Millis, Revision } from '../../domain/values.ts'
import type { Session } from '../database.ts'
import { iso } from '../sql/record-set.ts'

export interface StallLimits {
  /** Times what is usual; null: peers are not looked at. */
  readonly factor: number | null
  /** Seconds, where there is nothing to compare with; null: none. */
  readonly after: number | null
}

/** Fewer peers say nothing about what is usual. */
const fewestPeers = 10
/** Seconds: a shorter time is no standstill, however quick the peers are. */
const shortest = 60
/** Of a rollout, so many of the newest entries of the log are looked at. */
const mostEntries = 500

/**
 * Those that should be marked: what waits and says why (an error on PENDING) does not stand still, nor does what has never been
 * reported. `listeningSince`: while no server listened, no progress could be reported.
 */
export function findStalled(
  session: Session,
  now: Millis,
  { factor, after }: StallLimits,
  listeningSince: Millis,
  limit: number,
): Promise<{ readonly key: number; readonly revision: Revision }[]> {
  return session.run(
    `with candidates as materialized (
       select d.key, d.revision, d.rollout_key, d.state::text as state, d.components,
         $1::timestamptz - greatest($2::timestamptz, d.changed_at, (
           select l.at from change_log l where l.deployment_key = d.key and l.resource_key is not null
           order by l.first_revision desc limit 1)) as still
       from deployments d
       where d.state in ('PENDING', 'INSTALLING', 'REMOVING') and d.forgotten_at is null and d.is_current and d.claimed
         and not d.stalled and (d.state <> 'PENDING' or d.error is null or json_typeof(d.error) = 'null')
         and d.changed_at < $1::timestamptz - make_interval(secs => ${shortest})
     ), entries as (
       select e.* from (select distinct rollout_key from candidates where $3::float8 is not null) r
       cross join lateral (
         select l.rollout_key, l.deployment_key, l.at, l.before, l.changes from change_log l
         where l.rollout_key = r.rollout_key order by l.first_revision desc limit ${mostEntries}) e
       where e.deployment_key is not null and json_typeof(e.before) = 'object'
     ), steps as (
       select e.rollout_key, e.deployment_key, change->>'component' as part, change->>'from' as state,
         e.at - to_timestamp((was->>'changedAt')::float8 / 1000) as took
       from entries e cross join lateral json_array_elements(e.changes) change
       join lateral json_array_elements(e.before->'components') was on was->>'name' = change->>'component'
       where change->>'kind' = 'COMPONENT_STATE_CHANGED' and change->>'from' <> change->>'to'
       union all
       select e.rollout_key, e.deployment_key, '', change->>'from', e.at - (e.before->>'changed_at')::timestamptz
       from entries e cross join lateral json_array_elements(e.changes) change
       where change->>'kind' = 'DEPLOYMENT_STATE_CHANGED' and change->>'from' <> change->>'to'
     ), usual as materialized (
       select rollout_key, part, state, percentile_disc(0.95) within group (order by took) as p95
       from steps group by 1, 2, 3 having count(distinct deployment_key) >= ${fewestPeers}
     )
     select c.key, c.revision
     from candidates c
     cross join lateral (
       select part->>'name' as part, part->>'state' as state from json_array_elements(c.components) part
       where part->>'state' in ('PENDING', 'INSTALLING', 'REMOVING')
       union all
       select '', c.state where not exists (
         select from json_array_elements(c.components) part where part->>'state' in ('PENDING', 'INSTALLING', 'REMOVING'))
     ) due
     left join usual u on u.rollout_key = c.rollout_key and u.part = due.part and u.state = due.state
     group by c.key, c.revision, c.still
     having c.still > case when min(u.p95) is null then make_interval(secs => $4::int)
       else greatest(min(u.p95) * $3::float8, make_interval(secs => ${shortest})) end
     order by c.revision limit $5::int`,
    [iso(now), iso(listeningSince), factor, after, limit],
  )
}
