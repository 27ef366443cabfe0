/**
 * How long deployments stay in each state, from the log. Each entry is read once, so the cost follows from the changes. docs/design/duties.md
 * has the design. Counting in the writer's transaction was rejected: it would slow every report. A reader of the log is a minute late instead.
 */
import { ownSite } from '../../domain/target.ts'
import type { Projection } from '../projection.ts'
import { maintained } from '../sql/maintained.ts'
import { sumOfStates } from '../sql/state-counters.ts'

/** Buckets for each doubling of a duration: each is 4.4 % wide. */
const bucketsPerDoubling = 16
/** Fewer deployments or durations give no percentile. A rollout of one deployment has no histogram. */
export const fewestPeers = 10
/** Steps of one deployment that are followed. */
const mostSteps = 32

/** Seconds. A shorter time is no standstill, even if the peers are faster. */
export const shortest = 60

/** Whether `d` can stand still: it is in progress, was reported, and does not wait for a reason that it gives (an error on PENDING). */
export const isUnderWay = `d.state in ('PENDING', 'INSTALLING', 'REMOVING') and d.forgotten_at is null and d.is_current and d.claimed and d.site_key = ${ownSite}
  and not d.stalled and (d.state <> 'PENDING' or d.error is null or json_typeof(d.error) = 'null')`

/** A duration ends when a state other than FAILED follows: the duration of a failed step does not show how long the step takes. */
const isPassed = `step."from" in ('PENDING', 'INSTALLING', 'REMOVING') and step."to" not in ('FAILED', step."from")`

/**
 * Each row is looked up in an index ("offset 0"): the database believes in many more entries than there are, and would read whole tables to join them.
 * Each statement also reads the durations that are known of the steps that it comes by, and those are the same for many entries. A step that
 * ended within the delay needs no row in the index of steps.
 */
export const stepsProjection: Projection = {
  name: 'standstill',
  version: 1,
  tables: ['step_durations', 'usual_durations', 'steps_in_progress'],
  reads: 'entries',
  columns: 'deployment_key, resource_key, rollout_key, target_key, from_target_key, at, changes',
  most: { postgres: 2_000, pglite: 250 },
  delay: shortest * 1_000,
  write: `changed as materialized (
    select e.* from entries e cross join lateral (
      select from rollouts r where r.key = e.rollout_key
        and ${sumOfStates('r')} >= ${fewestPeers} offset 0) r
    where e.deployment_key is not null and e.resource_key is null and e.from_target_key is null
  ), passed as (
    select e.rollout_key, change.component, change."from" as state, extract(epoch from e.at - change.since)::float8 * 1000
        - (${maintained('e.target_key', 'change.since', 'e.at')}) as took
    from changed e cross join lateral (
      select components, changed_at from past_deployments where until = e.first_revision offset 0) was
    cross join lateral (
      select coalesce(step.component, '') as component, step."from",
        case step.kind when 'DEPLOYMENT_STATE_CHANGED' then was.changed_at else to_timestamp(part."changedAt" / 1000) end as since
      from json_to_recordset(e.changes) as step(kind text, component text, "from" text, "to" text)
      left join json_to_recordset(was.components) as part(name text, "changedAt" float8) on part.name = step.component
      where step.kind in ('DEPLOYMENT_STATE_CHANGED', 'COMPONENT_STATE_CHANGED') and ${isPassed}) change
    where change.since is not null
  ), found as materialized (
    select rollout_key, component, state::deployment_state, floor(ln(greatest(took, 1)) / ln(2) * ${bucketsPerDoubling})::int as bucket,
      count(*) as count, sum(greatest(took, 1))::float8 as total
    from passed group by 1, 2, 3, 4
  ), counted as (
    insert into step_durations as known (rollout_key, component, state, bucket, count, total) select * from found
    on conflict (rollout_key, component, state, bucket) do update
      set count = known.count + excluded.count, total = known.total + excluded.total
  ), merged as (
    select rollout_key, component, state, bucket, sum(count) as count, sum(total) as total from (
      select * from found union all
      select known.* from (select distinct rollout_key, component, state from found) f cross join lateral (
        select k.* from step_durations k where (k.rollout_key, k.component, k.state) = (f.rollout_key, f.component, f.state) offset 0) known) both_of
    group by 1, 2, 3, 4
  ), ranked as (
    select *, sum(count) over (step order by bucket) as up_to, sum(count) over (partition by rollout_key, component, state) as whole
    from merged window step as (partition by rollout_key, component, state)
  ), usual as (
    insert into usual_durations (rollout_key, component, state, count, p95)
    select distinct on (rollout_key, component, state) rollout_key, component, state, whole, total / count
    from ranked where up_to >= 0.95 * whole order by rollout_key, component, state, bucket
    on conflict (rollout_key, component, state) do update set count = excluded.count, p95 = excluded.p95
  ), touched as materialized (
    select deployment_key, max(at) filter (where resource_key is not null) as resource_at
    from entries where deployment_key is not null group by 1
  ), standing as (
    select d.key, d.rollout_key, d.state, d.components, greatest(d.changed_at, t.resource_at) as since
    from touched t cross join lateral (select d.* from deployments d where d.key = t.deployment_key offset 0) d
    where ${isUnderWay} and d.revision <= $3::bigint
  ), parts as materialized (
    select s.key, s.rollout_key, s.since, part->>'name' as component, (part->>'state')::deployment_state as state
    from standing s cross join lateral (
      select part from json_array_elements(s.components) part where part->>'state' in ('PENDING', 'INSTALLING', 'REMOVING')
      limit ${mostSteps}) parts
    union all
    select s.key, s.rollout_key, s.since, '', s.state from standing s
    where not exists (select from json_array_elements(s.components) part where part->>'state' in ('PENDING', 'INSTALLING', 'REMOVING'))
  ), compared as (
    select distinct p.key from parts p cross join lateral (
      select from usual_durations u where (u.rollout_key, u.component, u.state) = (p.rollout_key, p.component, p.state)
        and u.count >= ${fewestPeers} offset 0) u
  ), left_behind as (
    delete from steps_in_progress where ctid = any (array(
      select s.ctid from touched t cross join lateral (
        select s.ctid, s.* from steps_in_progress s where s.deployment_key = t.deployment_key offset 0) s
      where not exists (select from parts p where p.key = s.deployment_key and p.component = s.component)))
  ), entered as (
    insert into steps_in_progress (deployment_key, component, rollout_key, state, since, counts_from, has_peers)
    select p.key, p.component, p.rollout_key, p.state, p.since, p.since, p.key in (select key from compared) from parts p
    on conflict (deployment_key, component) do update
      set rollout_key = excluded.rollout_key, state = excluded.state, since = excluded.since, counts_from = excluded.counts_from,
        has_peers = excluded.has_peers
  )`,
}
