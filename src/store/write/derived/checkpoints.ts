/**
 * Checkpoints of counts (store/read/counts). Each is exact for ever, because the log is. So they are written behind the writer, not by it: in
 * the writer's transaction they would cost every report.
 */
import type { Revision } from '../../../domain/values.ts'
import { noLogHead } from '../../connection/failure.ts'
import type { Database, Session } from '../../database.ts'
import { tallyDeployments } from '../../read/counts/deployment-counts.ts'
import { insertOf } from '../../sql/record-set.ts'
import { sumOfStates } from '../../sql/state-counters.ts'
import { deploymentCheckpoints } from '../../tables/schema.ts'

/** Entries of a rollout between two of its checkpoints. */
export const rolloutSpacing = 1_000
/** Entries of the log between two checkpoints of the fleet. */
export const fleetSpacing = 2_000
/** Rollouts of fewer deployments have no checkpoints: they have few entries. */
const fewest = 10

export const checkpointsDuty = 'checkpoints'

export interface Walked {
  /** The end of the last entry, or where the cursor is. */
  readonly revision: Revision
  readonly entries: number
  /** The number of entries of each rollout. */
  readonly byRollout: readonly (readonly [rolloutKey: number, entries: number])[]
}

/** Looks up no rollout: in a fleet of many rollouts, that would cost as many look-ups as there are reports. */
const walk = `
  with place as materialized (
    select greatest(d.cursor, h.tail) as cursor from log_head h left join duties d on d.name = '${checkpointsDuty}'
  ), entries as materialized (
    select l.* from place cross join lateral (
      select last_revision, rollout_key, from_rollout_key from change_log where first_revision > cursor order by first_revision limit $1::int) l
  ), touched as (
    select key, count(*)::int as n from (
      select rollout_key as key from entries where rollout_key is not null
      union all select from_rollout_key from entries where from_rollout_key is not null) either group by key
  )
  select coalesce((select max(last_revision) from entries), cursor) as revision, (select count(*)::int from entries) as entries,
    (select coalesce(json_agg(json_build_array(key, n)), '[]') from touched) as "byRollout" from place`

/** The next entries, at most as many as may lie between two checkpoints of the fleet. */
export async function walkEntries(session: Session): Promise<Walked> {
  const [walked] = await session.run<Walked>(walk, [fleetSpacing])
  if (!walked) throw noLogHead()
  return walked
}

/** Those of the rollouts that are large enough for checkpoints. */
export async function largeRollouts(session: Session, rolloutKeys: readonly number[]): Promise<number[]> {
  if (rolloutKeys.length === 0) return []
  const rows = await session.run<{ key: number }>(
    `select r.key from json_array_elements_text($1::text::json) x
     cross join lateral (select r.key from rollouts r where r.key = x::bigint
       and ${sumOfStates('r')} >= ${fewest} offset 0) r`,
    [JSON.stringify(rolloutKeys)],
  )
  return rows.map(({ key }) => key)
}

/** The entries since the last checkpoint, up to the spacing, of rollouts whose number is not known. */
export async function entriesSinceCheckpoint(
  session: Session,
  rolloutKeys: readonly number[],
  upTo: Revision,
): Promise<ReadonlyMap<number, number>> {
  if (rolloutKeys.length === 0) return new Map()
  const rows = await session.run<{ key: number; n: number }>(
    `select r.key, case when last.revision is null and ${sumOfStates('r')} >= ${rolloutSpacing}
        then ${rolloutSpacing} else since.n end as n
     from (select x::bigint as key from json_array_elements_text($1::text::json) x) asked
     cross join lateral (select r.* from rollouts r where r.key = asked.key offset 0) r
     cross join lateral (select max(c.revision) as revision from deployment_checkpoints c where c.rollout_key = asked.key) last
     cross join lateral (select count(*)::int as n from (
       select from change_log l where l.rollout_key = asked.key and l.first_revision > coalesce(last.revision, 0) and l.first_revision <= $2::bigint
       limit ${rolloutSpacing}) counted) since`,
    [JSON.stringify(rolloutKeys), upTo],
  )
  return new Map(rows.map(({ key, n }) => [key, n]))
}

const insertCheckpoints = insertOf(deploymentCheckpoints, { more: 'on conflict do nothing' })

/** 0: the fleet. */
export async function writeCheckpoints(
  database: Database,
  revision: Revision,
  rolloutKeys: readonly number[],
): Promise<void> {
  const snapshot = await database.snapshot()
  // The embedded database has one connection: it writes after the snapshot is closed.
  const tallies = await tallyDeployments(snapshot, rolloutKeys, revision).finally(() => snapshot.close())
  const rows = [...tallies].map(([rolloutKey, counts]) => ({ rolloutKey, revision, counts }))
  await database.session.run(insertCheckpoints.text, insertCheckpoints.parameters(rows))
}

export async function moveCheckpointed(session: Session, cursor: Revision): Promise<void> {
  await session.run(
    `insert into duties as d (name, cursor) values ('${checkpointsDuty}', $1::bigint)
     on conflict (name) do update set cursor = greatest(d.cursor, excluded.cursor)`,
    [cursor],
  )
}
