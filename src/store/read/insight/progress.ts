/** The steps of rollouts from the log: those that ended and those that are open. The input of domain/insight/forecast.ts. */
import { type SQL, sql } from 'drizzle-orm'
import { type Steps, startsKept } from '../../../domain/insight/forecast.ts'
import type { Durations } from '../../../domain/insight/survival.ts'
import type { Millis, Revision } from '../../../domain/values.ts'
import type { Session, Snapshot } from '../../database.ts'
import { maintained } from '../../sql/maintained.ts'
import { asParents } from '../../sql/parameters.ts'
import { iso } from '../../sql/record-set.ts'
import { changeLog, deployments, logHead, rollouts } from '../../tables/schema.ts'
import { recordedAt } from '../changes/recorded-at.ts'
import { seesWholeRollouts } from '../rollouts/rollout-life.ts'

/** Changes of state that are read of a rollout: some seconds of the database. The embedded one answers nothing else meanwhile. */
const mostPassages: Readonly<Record<Snapshot['kind'], number>> = { postgres: 1_000_000, pglite: 100_000 }
/** The same of a peer, and the number of peers. */
const mostOfPeer = 20_000
const mostPeers = 5
/** Rollouts among which peers are looked for. */
const searched = 500

interface StepsAt {
  /** The time of the newest change of the fleet: what is open has lasted up to then. An answer depends on its revision alone. */
  readonly now: Millis
  readonly revision: Revision
  readonly own: Steps
  readonly peers: Steps
  /** Milliseconds since the latest starts, the shortest first. */
  readonly starts: readonly number[]
  /** Whether it has more changes than are read. Then the steps are empty. */
  readonly isTooLarge: boolean
}

interface Row {
  readonly owner: number
  readonly member: number
  readonly kind: 'wait' | 'run' | 'start' | 'large'
  readonly is_open: boolean
  readonly n: number
  readonly millis: number
}

/**
 * By rollout. Empty for a reader that labels restrict: it does not see whole rollouts. `at`: open steps have lasted up to then, and not only
 * to the newest change.
 */
export async function stepsOf(
  session: Session & Pick<Snapshot, 'kind'>,
  rolloutKeys: readonly number[],
  asOf: Revision | null,
  most = mostPassages[session.kind],
  at: Millis | null = null,
): Promise<Map<number, StepsAt>> {
  if (!seesWholeRollouts(session)) return new Map()
  const [head] = await session.rows<{ now: Millis; revision: Revision }>(momentOf(asOf, at))
  if (!head) return new Map()
  const moment = momentOf(asOf, at)
  const rows = await session.rows<Row>(sql`
    with members as materialized (
      select parent.key as owner, parent.key as member, ${most}::int as most from ${asParents(rolloutKeys)}
      union all select parent.key, peer.key, ${mostOfPeer}::int from ${asParents(rolloutKeys)} cross join lateral (${peersOf}) as peer
    ), passages as materialized (
      select members.owner, members.member, members.most, step.* from members cross join lateral (
        select entry.at, entry.to_state, entry.target_key, lead(entry.at) over deployment as ended_at,
          case when not lead(entry.has_moved) over deployment then lead(entry.to_state) over deployment end as next_state, count(*) over () as read
        from (${passagesOf(head.revision)} limit members.most + 1) as entry
        window deployment as (partition by entry.deployment_key order by entry.first_revision)) as step
    ), steps as (
      select owner, member, case when to_state = 'PENDING' then 'wait' else 'run' end as kind, ended_at is null as is_open,
        greatest(extract(epoch from coalesce(ended_at, moment.now) - at) * 1000
          - (${sql.raw(maintained('passages.target_key', 'passages.at', 'coalesce(passages.ended_at, moment.now)'))}), 1)::float8 as millis
      from passages cross join (${moment}) as moment
      where to_state in ('PENDING', 'INSTALLING', 'REMOVING') and read <= most and (ended_at is null or next_state is not null)
    ), started as (
      select owner, member, greatest(extract(epoch from moment.now - ended_at) * 1000, 1)::float8 as millis,
        row_number() over (partition by owner order by ended_at desc) as place
      from passages cross join (${moment}) as moment
      where to_state = 'PENDING' and next_state = 'INSTALLING' and owner = member and read <= most
    )
    select owner, member, kind, is_open, count(*)::int as n, avg(millis)::float8 as millis from steps
      group by owner, member, kind, is_open, floor(ln(millis) * 24)
    union all select owner, member, 'start', false, 1, millis from started where place <= ${startsKept}
    union all select distinct owner, member, 'large', false, 1, 0::float8 from passages where read > most`)
  const byOwner = Map.groupBy(rows, ({ owner }) => owner)
  return new Map(
    rolloutKeys.map((key) => {
      const found = byOwner.get(key) ?? []
      const own = found.filter(({ member }) => member === key)
      const starts = own.filter(({ kind }) => kind === 'start').map(({ millis }) => millis)
      return [
        key,
        {
          ...head,
          own: stepsIn(own),
          peers: stepsIn(found.filter(({ member }) => member !== key)),
          starts: starts.sort((a, b) => a - b),
          isTooLarge: own.some(({ kind }) => kind === 'large'),
        },
      ]
    }),
  )
}

/** The newest rollouts of the same application before each rollout, the newest first. Empty for a reader that labels restrict. */
export async function earlierRollouts(
  session: Session,
  rolloutKeys: readonly number[],
): Promise<Map<number, number[]>> {
  if (!seesWholeRollouts(session)) return new Map()
  const rows = await session.rows<{ owner: number; key: number }>(sql`
    select parent.key as owner, peer.key from ${asParents(rolloutKeys)} cross join lateral (${peersOf}) as peer order by peer.key desc`)
  const byOwner = Map.groupBy(rows, ({ owner }) => owner)
  return new Map([...byOwner].map(([owner, peers]) => [owner, peers.map(({ key }) => key)]))
}

function stepsIn(rows: readonly Row[]): Steps {
  const of = (wanted: Row['kind']): Durations[] =>
    rows.flatMap(({ kind, is_open, n, millis }) => (kind === wanted ? [{ n, millis, isOpen: is_open }] : []))
  return { waits: of('wait'), runs: of('run') }
}

/** One row: the revision, and the time of its change. The head has a later time: that of the newest batch, which may have changed nothing. */
function momentOf(asOf: Revision | null, at: Millis | null): SQL {
  const revision = asOf === null ? sql`${logHead.revision}` : sql`${asOf}::bigint`
  if (at !== null) return sql`select ${revision} as revision, ${iso(at)}::timestamptz as now from ${logHead}`
  return sql`select ${revision} as revision, ${recordedAt(revision)} as now from ${logHead}`
}

/**
 * The entries with which deployments of members.member came to another state or left. One that comes from another rollout or device in the middle of
 * a step begins the step here, and one that goes to another one ends it as if it were forgotten.
 */
function passagesOf(revision: Revision): SQL {
  const upTo = sql`${changeLog.firstRevision} <= ${revision}::bigint`
  const columns = sql`${changeLog.firstRevision}, ${changeLog.deploymentKey}, ${changeLog.at}, ${changeLog.targetKey}`
  return sql`(select ${columns}, ${changeLog.toState}, ${changeLog.fromTargetKey} is not null as has_moved from ${changeLog}
      where ${changeLog.rolloutKey} = members.member and ${upTo}
        and (${changeLog.toState} is distinct from ${changeLog.fromState}
          or ${changeLog.fromRolloutKey} is not null or ${changeLog.fromTargetKey} is not null)
      order by ${changeLog.firstRevision} limit members.most + 1)
    union all (select ${columns}, null, false from ${changeLog}
      where ${changeLog.fromRolloutKey} = members.member and ${upTo}
      order by ${changeLog.firstRevision} limit members.most + 1)`
}

const applicationOf = (rollout: SQL): SQL =>
  sql`(select ${deployments.application} from ${deployments} where ${deployments.rolloutKey} = ${rollout} and ${deployments.forgottenAt} is null
    order by ${deployments.revision} desc limit 1)`

/** The rollouts of the same application before parent.key, the newest first. */
const peersOf = sql`select other.key from ${rollouts} as own cross join lateral (
    select * from ${rollouts} as earlier where earlier.key < own.key order by earlier.key desc limit ${searched}) as other
  where own.key = parent.key and other.kind = own.kind and other.composite_app is not distinct from own.composite_app
    and other.project is not distinct from own.project
    and ${applicationOf(sql`other.key`)} is not distinct from ${applicationOf(sql`own.key`)}
  order by other.key desc limit ${mostPeers}`
