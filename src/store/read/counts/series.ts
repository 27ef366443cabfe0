/**
 * Counts at many moments. Those of the fleet and of rollouts take one pass over the log between the first moment and the last: the counts at
 * the last one, minus what the entries of each interval did. All other counts are counted at each moment.
 */
import { sql } from 'drizzle-orm'
import { type Tally, zeroCounters } from '../../../domain/counters.ts'
import type { Millis, Revision } from '../../../domain/values.ts'
import type { Session, Snapshot } from '../../database.ts'
import { asParents, listParameter } from '../../sql/parameters.ts'
import type { DeploymentFilter } from '../deployment-filter.ts'
import { parentsOf, type Scope } from '../deployment-scope.ts'
import { openPast, revisionsAt } from '../past.ts'
import {
  type ConvergenceCounts,
  countConvergence,
  countDeployments,
  type StateCounts,
  stateCountsOf,
} from './deployment-counts.ts'
import { selectMoves } from './moves.ts'
import { type CountersScope, isWantedPart, scopeOfCounters } from './stored-counts.ts'

export interface CountsPoint {
  readonly at: Millis
  readonly revision: Revision
  readonly counts: StateCounts
  /** Null: not counted yet. */
  readonly convergence: ConvergenceCounts | null
  /** How many times a deployment changed to each state since the previous moment. Null: not known. */
  readonly entered: StateCounts | null
}

/** `moments` ascend. Throws HISTORY_EXPIRED if the first one is not part of the history that is kept. */
export async function countOverTime(
  session: Snapshot,
  scope: Scope,
  filter: DeploymentFilter,
  moments: readonly Millis[],
): Promise<Map<number, CountsPoint[]>> {
  const revisions = await revisionsAt(session, moments)
  const [first] = revisions
  if (first === undefined) return new Map(parentsOf(scope).map((parent) => [parent, []]))
  const counted = session.accessScope ? null : scopeOfCounters(scope, filter)
  if (counted && (await openPast(session, first)).isCounted)
    return sumMoves(session, scope, counted, filter, moments, revisions)
  const series = new Map<number, CountsPoint[]>(parentsOf(scope).map((parent) => [parent, []]))
  for (const [index, revision] of revisions.entries()) {
    const isSame = revision === revisions[index - 1]
    const at = moments[index] ?? 0
    const found = isSame ? null : await countDeployments(session, scope, filter, revision)
    for (const [parent, points] of series) {
      const counts = found?.get(parent) ?? points.at(-1)?.counts ?? stateCountsOf(zeroCounters())
      points.push({ at, revision, counts, convergence: null, entered: null })
    }
  }
  return series
}

interface Moves extends Tally {
  readonly parent: number
  /** The interval that ends at this moment. */
  readonly bucket: number
  readonly entered: number
}

async function sumMoves(
  session: Session,
  scope: Scope,
  counted: CountersScope,
  filter: DeploymentFilter,
  moments: readonly Millis[],
  revisions: readonly Revision[],
): Promise<Map<number, CountsPoint[]>> {
  const [first, last] = [revisions[0] ?? 0, revisions.at(-1) ?? 0]
  const stretch = { after: sql`${first}::bigint`, upTo: sql`${last}::bigint` }
  const moves = selectMoves(
    counted.of,
    stretch,
    sql`width_bucket(first_revision - 1, ${listParameter(revisions, 'bigint')})`,
  )
  const states = await countDeployments(session, scope, filter, last)
  const convergence = await countConvergence(session, scope, filter, last)
  const rows = await session.rows<Moves>(
    sql`select parent.key as parent, part.bucket, part.state, part.convergence, sum(part.n)::int as n, sum(part.entered)::int as entered
      from ${asParents(parentsOf(counted))} cross join lateral (${moves}) as part where ${isWantedPart(filter)} group by 1, 2, 3, 4`,
  )
  const moved = Map.groupBy(rows, ({ parent, bucket }) => `${scope.of === 'fleet' ? 0 : parent} ${bucket}`)
  return new Map(
    parentsOf(scope).map((parent) => {
      let counts = states.get(parent) ?? stateCountsOf(zeroCounters())
      let converged = convergence.get(parent) ?? null
      const points: CountsPoint[] = []
      for (let index = revisions.length - 1; index >= 0; index -= 1) {
        const own = moved.get(`${parent} ${index}`) ?? []
        const entered = index === 0 ? null : added(stateCountsOf(zeroCounters()), own, 'state', (row) => row.entered)
        points.push({
          at: moments[index] ?? 0,
          revision: revisions[index] ?? 0,
          counts,
          convergence: converged,
          entered,
        })
        counts = added(counts, own, 'state', (row) => -row.n)
        converged = converged && added(converged, own, 'convergence', (row) => -row.n)
      }
      return [parent, points.reverse()]
    }),
  )
}

function added<Name extends string>(
  counts: Readonly<Record<Name, number>>,
  moves: readonly Moves[],
  by: 'state' | 'convergence',
  numberOf: (move: Moves) => number,
): Readonly<Record<Name, number>> {
  const sum: Record<string, number> = { ...counts }
  for (const move of moves) {
    const name = move[by].toLowerCase()
    sum[name] = (sum[name] ?? 0) + numberOf(move)
  }
  return sum as Record<Name, number>
}
