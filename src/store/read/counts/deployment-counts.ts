/**
 * Counts of deployments by state and by convergence. At present, the stored counters of the fleet and of rollouts answer. In the past, and for
 * one of them restricted by the other:
 *
 *   counts at R = counts of the checkpoint nearest to R ± what the entries in between did (moves.ts), which are a bounded number
 *
 * Those of a large fleet with one application, version or error code have counts of their own (facet-counts.ts). All other counts count the rows
 * of the list.
 */
import { type SQL, sql } from 'drizzle-orm'
import { type Counters, type Tally, zeroCounters } from '../../../domain/counters.ts'
import type { Convergence } from '../../../domain/desired.ts'
import type { DeploymentState, Revision } from '../../../domain/values.ts'
import type { Session } from '../../database.ts'
import { all, asKeptParents, asParents } from '../../sql/parameters.ts'
import { fromPresent, fromThen, fromUnwound, isListed, ownedBy, parentsOf, type Scope } from '../deployment-scope.ts'
import { type DeploymentFilter, d, filterAt, flattened, matchesDeployment } from '../filters/deployment-filter.ts'
import { sourceOfCount, tooManyToCount } from '../filters/deployment-source.ts'
import { readingOf } from '../filters/past-candidates.ts'
import { type Source, type SourceLimits, sourceLimits } from '../filters/source.ts'
import { type Counted, openPast, type Past } from '../past.ts'
import { deploymentColumns } from '../past-rows.ts'
import { areCounted, type Facets, facetsOf, hasFacet, selectFacets } from './facet-counts.ts'
import {
  byConvergence,
  byState,
  type CountedValue,
  type CountersScope,
  type Dimension,
  dimensions,
  fromCheckpoint,
  fromCounters,
  isJoint,
  isWantedPart,
  nameOf,
  scopeOfCounters,
} from './stored-counts.ts'

export type StateCounts = Readonly<Record<Lowercase<DeploymentState>, number>>
export type ConvergenceCounts = Readonly<Record<Lowercase<Convergence>, number>>

/** Zero-filled. */
export function countDeployments(
  session: Session,
  scope: Scope,
  filter: DeploymentFilter,
  asOf: Revision | null,
  limits: SourceLimits = sourceLimits,
): Promise<Map<number, StateCounts>> {
  return countBy(byState, session, scope, filter, asOf, limits)
}

/** Zero-filled. */
export function countConvergence(
  session: Session,
  scope: Scope,
  filter: DeploymentFilter,
  asOf: Revision | null,
): Promise<Map<number, ConvergenceCounts>> {
  return countBy(byConvergence, session, scope, filter, asOf, sourceLimits)
}

/** The counts from a rollout's stored counters: those of all its deployments. */
export const stateCountsOf = (counters: Counters): StateCounts => countsIn(byState, counters)
export const convergenceCountsOf = (counters: Counters): ConvergenceCounts => countsIn(byConvergence, counters)

function countsIn<Value extends CountedValue>(
  { counters: names }: Dimension<Value>,
  counters: Counters,
): Record<Lowercase<Value>, number> {
  const counts = {} as Record<Lowercase<Value>, number>
  for (const [value, counter] of names) counts[nameOf(value)] = counters[counter]
  return counts
}

interface CountRecord<Value> {
  readonly parent: number
  readonly value: Value
  readonly n: number
  /** Rows that were read for it. */
  readonly read: number
}

interface Selected {
  /** Rows {value, n}. */
  readonly select: SQL
  /** With more rows than this, the count begins anew. */
  readonly most: number
  /** They come from stored counts. */
  readonly isStored: boolean
}

/** What is counted, and which stored counts may answer it. */
interface Question<Value extends CountedValue> {
  readonly by: Dimension<Value>
  readonly scope: Scope
  readonly filter: DeploymentFilter
  readonly asOf: Revision | null
  readonly past: Past | null
  /** The scope of the stored counters. Null: they do not answer. */
  readonly counted: CountersScope | null
  /** The facets whose counts answer. Null: there are none. */
  readonly facets: Facets | null
}

async function countBy<Value extends CountedValue>(
  by: Dimension<Value>,
  session: Session,
  scope: Scope,
  given: DeploymentFilter,
  asOf: Revision | null,
  limits: SourceLimits,
): Promise<Map<number, Record<Lowercase<Value>, number>>> {
  const past = asOf === null ? null : await openPast(session, asOf)
  const then = filterAt(given, asOf)
  const flat = flattened(then)
  // Stored counters ignore access scopes.
  const counted = session.accessScope ? null : scopeOfCounters(scope, flat)
  const named = counted ? null : facetsOf(session, scope, flat)
  const facets = named && (await areCounted(session, asOf)) ? named : null
  const filter = counted || facets ? flat : then
  const question: Question<Value> = { by, scope, filter, asOf, past, counted, facets }
  const totals = new Map(parentsOf(scope).map((parent) => [parent, noCounts(by)]))
  const add = ({ parent, value, n }: Omit<CountRecord<Value>, 'read'>): void => {
    const counts = totals.get(scope.of === 'fleet' ? 0 : parent)
    if (counts) counts[nameOf(value)] += n
  }
  const wanted: readonly string[] | undefined = filter[by.field]
  const rows =
    (await countRows(session, question, limits, past === null)) ??
    (await countRows(session, question, limits, false)) ??
    []
  for (const row of rows) if (wanted?.includes(row.value) ?? true) add(row)
  if (counted && past)
    for (const { n, ...place } of spannedMoves(counted, filter, past))
      add({ parent: place.rolloutKey, value: place[by.column] as Value, n })
  if (facets && past)
    for (const { n, ...place } of spannedFacets(facets, filter, past))
      add({ parent: 0, value: place[by.column] as Value, n })
  return totals
}

/** `isProbable`: the source may turn out to have too many rows. Null: it has. */
async function countRows<Value extends CountedValue>(
  session: Session,
  question: Question<Value>,
  limits: SourceLimits,
  isProbable: boolean,
): Promise<CountRecord<Value>[] | null> {
  const stored = selectStored(question)
  const { select, most, isStored } = stored ?? (await selectFound(session, question, limits, isProbable))
  const rows = await countEach<Value>(session, question.counted ?? question.scope, select, isStored)
  return rows.reduce((sum, { read }) => sum + read, 0) > most ? null : rows
}

/** Null: no stored counts answer. */
function selectStored<Value extends CountedValue>(question: Question<Value>): Selected | null {
  const { by, filter, asOf, past, counted, facets } = question
  const isWanted = isWantedPart({ ...filter, [by.field]: undefined })
  const isJointly = isJoint(by, filter)
  const stored = { most: Number.POSITIVE_INFINITY, isStored: true }
  const ofParts = (parts: SQL): Selected => ({
    ...stored,
    select: sql`select part.${sql.raw(by.column)} as value, part.n from (${parts}) as part where ${isWanted}`,
  })
  if (facets) return ofParts(selectFacets(facets, asOf))
  if (!counted) return null
  if (!past && !isJointly) return { ...stored, select: fromCounters(by, counted) }
  return ofParts(fromCheckpoint(counted, isJointly ? null : by, past?.revision ?? null))
}

/** From the rows of deployments. */
async function selectFound<Value extends CountedValue>(
  session: Session,
  { by, scope, filter, past, counted }: Question<Value>,
  limits: SourceLimits,
  isProbable: boolean,
): Promise<Selected> {
  const known = await sourceOfCount(session, counted ?? scope, filter, limits, isProbable)
  if (known === null && past === null) throw tooManyToCount(limits.counted)
  const source: Source = known ?? { of: 'index' }
  if (source.of === 'candidates' && source.most !== undefined) {
    const matches = all([ownedBy(scope, d), source.matches, ...isListed(session, scope, filter)])
    const select = sql`select ${d[by.column]} as value, coalesce(${matches}, false)::int as n from (${source.rows}) as ${d}`
    return { select, most: source.most, isStored: false }
  }
  const then = past && (await readingOf(session, past, scope, filter, limits))
  const select = sql`select ${d[by.column]} as value, 1 as n ${rowsOf(session, counted ?? scope, filter, then, source)}`
  return { select, most: Number.POSITIVE_INFINITY, isStored: false }
}

/** By state and convergence, as of a revision that ends an entry and that all later entries of the log are counted from. 0: the fleet. */
export async function tallyDeployments(
  session: Session,
  rolloutKeys: readonly number[],
  revision: Revision,
): Promise<Map<number, Tally[]>> {
  const tallies = new Map<number, Tally[]>(rolloutKeys.map((key) => [key, []]))
  const scopes: readonly CountersScope[] = [
    { of: 'fleet' },
    { of: 'rollout', keys: rolloutKeys.filter((key) => key !== 0) },
  ]
  for (const scope of scopes) {
    const keys = parentsOf(scope).filter((key) => tallies.has(key))
    if (keys.length === 0) continue
    const rows = await session.rows<Tally & { readonly parent: number }>(
      sql`select parent.key as parent, part.state, part.convergence, sum(part.n)::int as n from ${asKeptParents(keys)}
        cross join lateral (${fromCheckpoint(scope, null, revision)}) as part group by 1, 2, 3 having sum(part.n) <> 0`,
    )
    for (const { parent, ...tally } of rows) tallies.get(parent)?.push(tally)
  }
  return tallies
}

/** What counts from checkpoints lack: they count the entry that spans the revision as a whole. */
export function spannedMoves(
  scope: CountersScope,
  filter: DeploymentFilter,
  { spanned }: Past,
): readonly (Counted & { readonly n: number })[] {
  const moves = [
    ...(spanned?.countedAfter ? [{ ...spanned.countedAfter, n: -1 }] : []),
    ...(spanned?.counted ? [{ ...spanned.counted, n: 1 }] : []),
  ]
  return moves.filter((place) => isCountedIn(scope, filter, place))
}

function spannedFacets(facets: Facets, filter: DeploymentFilter, past: Past): ReturnType<typeof spannedMoves> {
  const { was, becomes } = past.spanned ?? {}
  const hasThen = was ? hasFacet(facets, was) : false
  const hasAfter = becomes ? hasFacet(facets, becomes) : false
  return spannedMoves({ of: 'fleet' }, filter, past).filter(({ n }) => (n < 0 ? hasAfter : hasThen))
}

function isCountedIn(scope: CountersScope, filter: DeploymentFilter, place: Counted): boolean {
  if (scope.of === 'rollout' && !scope.keys.includes(place.rolloutKey)) return false
  return dimensions.every(
    ({ field, column }) => (filter[field] as readonly string[] | undefined)?.includes(place[column]) ?? true,
  )
}

/** `isStored`: a generic plan is as good, and planning takes longer than reading stored counts. */
function countEach<Value>(
  session: Session,
  scope: Scope,
  counted: SQL,
  isStored: boolean,
): Promise<CountRecord<Value>[]> {
  const keys = parentsOf(scope)
  return session.rows<CountRecord<Value>>(
    sql`select parent.key as parent, counted.value, sum(counted.n)::int as n, count(*)::int as read
      from ${isStored ? asKeptParents(keys) : asParents(keys)}
      cross join lateral (${counted}) as counted group by parent.key, counted.value`,
  )
}

/** `from … where …` of the rows `d` of parent.key, from the source that was chosen for them. `filter`: as of the past (filterAt). */
export function rowsOf(
  reader: Session,
  scope: Scope,
  filter: DeploymentFilter,
  past: Past | null,
  source: Source,
): SQL {
  const listed = isListed(reader, scope, filter)
  if (source.of !== 'candidates') {
    const conditions = [matchesDeployment(filter), ...listed]
    return past ? fromThen(past, scope, filter, conditions) : fromPresent(scope, conditions)
  }
  const found = (isThen: readonly SQL[]): SQL =>
    sql`from (${source.rows}) as ${d} where ${all([ownedBy(scope, d), source.matches, ...listed, ...isThen])}`
  if (!past) return found([])
  return sql`from (
    select ${deploymentColumns} ${found([sql`${d.revision} <= ${past.revision}::bigint`])}
    union all select ${deploymentColumns} ${fromUnwound(past, scope, filter, [matchesDeployment(filter), ...listed])}) as ${d}`
}

export function noCounts<Value extends CountedValue>(by: Dimension<Value>): Record<Lowercase<Value>, number> {
  return countsIn(by, zeroCounters())
}
