/**
 * The fleet in numbers for monitoring. Each part has a bounded cost: counters of the fleet and of the newest rollouts, an index that holds
 * stalled deployments only, and the first entry of an index for each unfinished state.
 */
import { sql } from 'drizzle-orm'
import { type Counters, zeroCounters } from '../../../domain/counters.ts'
import { type Connectivity, connectivities } from '../../../domain/target.ts'
import type { DeploymentState, Millis } from '../../../domain/values.ts'
import type { Session } from '../../database.ts'
import { type CountersRecord, type RolloutRecord, rolloutColumns, toCounters, toRollout } from '../../sql/rows.ts'
import { deployments, logHead, rollouts, targets } from '../../tables/schema.ts'

export const unfinishedStates = ['PENDING', 'INSTALLING', 'REMOVING'] as const satisfies readonly DeploymentState[]
type UnfinishedState = (typeof unfinishedStates)[number]

export interface RolloutFigures {
  /** Its parts, joined by slashes. */
  readonly name: string
  readonly counters: Counters
  readonly stalled: number
}

export interface FleetFigures {
  readonly fleet: Omit<RolloutFigures, 'name'>
  /** The newest, at most as many as were asked for. A deployment without an intent has a rollout of its own, which is not among them. */
  readonly rollouts: readonly RolloutFigures[]
  /** When the deployment that has been in a state the longest changed last; null: no deployment is in that state. */
  readonly oldest: Readonly<Record<UnfinishedState, Millis | null>>
}

/** Deployments of earlier instances come before the others in the index; no more of them are read. */
const mostPassed = 1_000

/** Of a snapshot. */
export async function readFleetFigures(session: Session, most: number): Promise<FleetFigures> {
  const [heads, newest, stalled, oldest] = await Promise.all([
    session.rows<CountersRecord>(sql`select ${logHead}.* from ${logHead}`),
    session.rows<RolloutRecord>(
      sql`select ${rolloutColumns('rollouts')} from ${rollouts} where ${rollouts.kind} <> 'MARGO_DEPLOYMENT'
        order by ${rollouts.key} desc limit ${most}`,
    ),
    session.rows<{ readonly rollout: number; readonly n: number }>(
      sql`select ${deployments.rolloutKey} as rollout, count(*)::int as n from ${deployments}
        where ${deployments.stalled} and ${deployments.forgottenAt} is null and ${deployments.isCurrent} group by 1`,
    ),
    Promise.all(unfinishedStates.map(async (state) => [state, await oldestIn(session, state)] as const)),
  ])
  const stalledOf = new Map(stalled.map(({ rollout, n }) => [rollout, n]))
  return {
    fleet: {
      counters: heads[0] ? toCounters(heads[0]) : zeroCounters(),
      stalled: stalled.reduce((sum, { n }) => sum + n, 0),
    },
    rollouts: newest.map((record) => {
      const { key, provider, project, compositeApp, compositeAppVersion, name } = toRollout(record)
      const parts = [provider, project, compositeApp, compositeAppVersion, name].filter((part) => part !== null)
      return { name: parts.join('/'), counters: toCounters(record), stalled: stalledOf.get(key) ?? 0 }
    }),
    oldest: Object.fromEntries(oldest) as FleetFigures['oldest'],
  }
}

/** Revisions and times of changes rise together: the smallest revision is the oldest change. */
async function oldestIn(session: Session, state: UnfinishedState): Promise<Millis | null> {
  const { isCurrent, changedAt, revision, forgottenAt } = deployments
  const [row] = await session.rows<{ readonly changed_at: Millis }>(
    sql`select changed_at from (
        select ${isCurrent}, ${changedAt}, ${revision} from ${deployments}
        where ${deployments.state} = ${state}::deployment_state and ${forgottenAt} is null
        order by ${revision} limit ${mostPassed}) as first
      where is_current order by revision limit 1`,
  )
  return row?.changed_at ?? null
}

/** Devices in service. It reads an index with an entry for each of them, so callers ask seldom. Zero-filled. */
export async function countConnectivity(session: Session): Promise<Readonly<Record<Connectivity, number>>> {
  const rows = await session.rows<{ readonly connectivity: Connectivity; readonly n: number }>(
    sql`select ${targets.connectivity}, count(*)::int as n from ${targets}
      where ${targets.kind} = 'DEVICE' and ${targets.retiredAt} is null group by 1`,
  )
  const found = new Map(rows.map(({ connectivity, n }) => [connectivity, n]))
  return Object.fromEntries(connectivities.map((each) => [each, found.get(each) ?? 0])) as Record<Connectivity, number>
}
