/**
 * Counts at many moments. Those of the fleet and of rollouts are a chain from the last moment to the first:
 *
 *   counts at R(i) = counts at the first checkpoint between R(i) and R(i + 1), or else at R(i + 1), minus what the entries up to there did
 *
 * So a long series reads at most as many entries of each interval as lie between two checkpoints, and a short one reads each entry once. Other
 * counts that would read all deployments at each moment read each state once (one-pass.ts). The others are counted at each moment.
 */
import { type SQL, sql } from 'drizzle-orm'
import type { DeploymentState, Millis, Revision } from '../../../domain/values.ts'
import type { Snapshot } from '../../database.ts'
import { asParents, listParameter } from '../../sql/parameters.ts'
import { deploymentCheckpoints as c } from '../../tables/schema.ts'
import { parentsOf, type Scope } from '../deployment-scope.ts'
import type { DeploymentFilter } from '../filters/deployment-filter.ts'
import { type SourceLimits, sourceLimits } from '../filters/source.ts'
import { openPast, revisionsAt } from '../past.ts'
import {
  type ConvergenceCounts,
  countConvergence,
  countDeployments,
  noCounts,
  type StateCounts,
} from './deployment-counts.ts'
import { selectArrivals, selectFirstStates, selectMoves } from './moves.ts'
import { isOnePass, staysAt } from './one-pass.ts'
import {
  byConvergence,
  byState,
  type CountedValue,
  type CountersScope,
  type Dimension,
  isJoint,
  isWantedPart,
  nameOf,
  scopeOfCounters,
} from './stored-counts.ts'

export interface CountsPoint {
  readonly at: Millis
  readonly revision: Revision
  readonly counts: StateCounts
}

/** `moments` ascend. Throws HISTORY_EXPIRED if the first one is not part of the history that is kept. */
export async function countOverTime(
  session: Snapshot,
  scope: Scope,
  filter: DeploymentFilter,
  moments: readonly Millis[],
  limits: SourceLimits = sourceLimits,
): Promise<Map<number, CountsPoint[]>> {
  const revisions = await revisionsAt(session, moments)
  const series = await countAtEach(session, { by: byState, count: countDeployments, scope, filter, revisions, limits })
  const pointsOf = (counts: readonly StateCounts[]): CountsPoint[] =>
    counts.map((one, index) => ({ at: moments[index] ?? 0, revision: revisions[index] ?? 0, counts: one }))
  return new Map([...series].map(([parent, counts]) => [parent, pointsOf(counts)]))
}

/** The same by convergence, as of the revisions of those points. */
export function convergenceOverTime(
  session: Snapshot,
  scope: Scope,
  filter: DeploymentFilter,
  revisions: readonly Revision[],
  limits: SourceLimits = sourceLimits,
): Promise<Map<number, ConvergenceCounts[]>> {
  return countAtEach(session, { by: byConvergence, count: countConvergence, scope, filter, revisions, limits })
}

/**
 * How many times a deployment changed to each state since the previous revision. It reads each entry of the series. Null: not known, which is
 * so for the first revision, and for all that the log's counts do not answer.
 */
export async function arrivalsOverTime(
  session: Snapshot,
  scope: Scope,
  filter: DeploymentFilter,
  revisions: readonly Revision[],
): Promise<Map<number, (StateCounts | null)[]>> {
  const counted = countedScope(session, scope, filter)
  const arrivals = new Map(
    parentsOf(scope).map((parent) => [
      parent,
      revisions.map((_, index) => (counted && index > 0 ? noCounts(byState) : null)),
    ]),
  )
  if (!counted || revisions.length < 2) return arrivals
  const rows = await session.rows<Part<DeploymentState>>(
    sql`select parent.key as parent, gap.index::int as index, part.state as value, part.n
      from ${asParents(parentsOf(counted))} cross join ${gapsOf(revisions)}
      cross join lateral (${selectArrivals(counted.of, { after: sql`gap.low`, upTo: sql`gap.high` }, filter)}) as part
      union all select parent.key, part.index, part.state, part.n
      from ${asParents(parentsOf(counted))} cross join lateral (${selectFirstStates(counted.of, revisions, filter)}) as part`,
  )
  for (const { parent, index, value, n } of rows) {
    const counts = arrivals.get(scope.of === 'fleet' ? 0 : parent)?.[index]
    if (counts && value) counts[nameOf(value)] += n
  }
  return arrivals
}

type Counts<Value extends CountedValue> = Record<Lowercase<Value>, number>

/** What is counted at each of the revisions. */
interface Series<Value extends CountedValue> {
  readonly by: Dimension<Value>
  readonly scope: Scope
  readonly filter: DeploymentFilter
  readonly revisions: readonly Revision[]
  readonly limits: SourceLimits
  /** Counts at one revision. */
  count(
    session: Snapshot,
    scope: Scope,
    filter: DeploymentFilter,
    asOf: Revision | null,
  ): Promise<Map<number, Counts<Value>>>
}

async function countAtEach<Value extends CountedValue>(
  session: Snapshot,
  asked: Series<Value>,
): Promise<Map<number, Counts<Value>[]>> {
  const { by, scope, filter, revisions, limits } = asked
  const counted = countedScope(session, scope, filter)
  if (counted) return chain(session, asked, counted)
  const series = new Map<number, Counts<Value>[]>(parentsOf(scope).map((parent) => [parent, []]))
  if (await isOnePass(session, scope, filter, revisions, limits)) return countOnce(session, asked)
  for (const [index, revision] of revisions.entries()) {
    const found = revision === revisions[index - 1] ? null : await asked.count(session, scope, filter, revision)
    for (const [parent, counts] of series) counts.push(found?.get(parent) ?? counts.at(-1) ?? noCounts(by))
  }
  return series
}

async function countOnce<Value extends CountedValue>(
  session: Snapshot,
  { by, scope, filter, revisions, count }: Series<Value>,
): Promise<Map<number, Counts<Value>[]>> {
  const series = new Map<number, Counts<Value>[]>(
    parentsOf(scope).map((parent) => [parent, revisions.map(() => noCounts(by))]),
  )
  for (const { parent, value, first, end, n } of await staysAt(session, by, scope, filter, revisions))
    for (const counts of series.get(parent)?.slice(first, end) ?? []) counts[nameOf(value)] += n
  for (const [index, revision] of revisions.entries()) {
    if ((await openPast(session, revision)).spanned === null) continue
    for (const [parent, counts] of await count(session, scope, filter, revision))
      series.get(parent)?.splice(index, 1, counts)
  }
  return series
}

/** The scope whose entries say what they did to these counts. Null: there is none, as for a reader with an access scope, which stored counters ignore. */
function countedScope(session: Snapshot, scope: Scope, filter: DeploymentFilter): CountersScope | null {
  return session.accessScope ? null : scopeOfCounters(scope, filter)
}

/** What the counts at the beginning of an interval differ by from those at its end, or from nothing if there is a checkpoint in between. */
interface Part<Value extends CountedValue> {
  readonly parent: number
  readonly index: number
  /** Null: nothing is counted at the checkpoint. */
  readonly value: Value | null
  readonly n: number
}

async function chain<Value extends CountedValue>(
  session: Snapshot,
  { by, scope, filter, revisions, count }: Series<Value>,
  counted: CountersScope,
): Promise<Map<number, Counts<Value>[]>> {
  const last = revisions.at(-1) ?? 0
  // The newest counts are stored.
  const ends = await count(session, counted, filter, last === (await session.head).revision ? null : last)
  const stretch = { after: sql`gap.low`, upTo: sql`coalesce(base.revision, gap.high)` }
  const moves = selectMoves(counted.of, stretch, isJoint(by, filter) ? null : by.column)
  const rows = await session.rows<Part<Value> & { readonly is_based: boolean }>(
    sql`select parent.key as parent, gap.index::int as index, base.revision is not null as is_based, ${sql.raw(`part.${by.column}`)} as value,
        coalesce(sum(part.n), 0)::int as n
      from ${asParents(parentsOf(counted))} cross join ${gapsOf(revisions)}
      left join lateral (
        select ${c.revision}, ${c.counts} from ${c}
        where ${c.rolloutKey} = ${counted.of === 'fleet' ? sql`0` : sql`parent.key`} and ${c.revision} >= gap.low and ${c.revision} < gap.high
        order by ${c.revision} limit 1) as base on true
      left join lateral (
        select kept.state, kept.convergence, kept.n
          from json_to_recordset(base.counts) as kept(state deployment_state, convergence convergence, n int)
        union all select move.state, move.convergence, -move.n from (${moves}) as move
      ) as part on ${isWantedPart(filter)}
      where base.revision is not null or part.n is not null group by 1, 2, 3, 4`,
  )
  const parts = Map.groupBy(rows, ({ parent, index }) => `${parent} ${index}`)
  const series = new Map<number, Counts<Value>[]>(
    parentsOf(scope).map((parent) => [parent, revisions.map(() => noCounts(by))]),
  )
  for (const key of parentsOf(counted)) {
    const sums = series.get(scope.of === 'fleet' ? 0 : key) ?? []
    let counts = ends.get(key) ?? noCounts(by)
    for (const [index, sum] of [...sums.entries()].reverse()) {
      const own = parts.get(`${key} ${index + 1}`) ?? []
      counts = addParts(own[0]?.is_based ? noCounts(by) : counts, own)
      for (const name of Object.keys(counts) as Lowercase<Value>[]) sum[name] += counts[name]
    }
  }
  return series
}

function addParts<Value extends CountedValue>(counts: Counts<Value>, parts: readonly Part<Value>[]): Counts<Value> {
  const sum = { ...counts }
  for (const { value, n } of parts) if (value) sum[nameOf(value)] += n
  return sum
}

/** The intervals between revisions: rows `gap` {low, high, index}. `index` is the place of `high`. */
function gapsOf(revisions: readonly Revision[]): SQL {
  const [lows, highs] = [revisions.slice(0, -1), revisions.slice(1)]
  return sql`unnest(${listParameter(lows, 'bigint')}, ${listParameter(highs, 'bigint')}) with ordinality as gap(low, high, index)`
}
