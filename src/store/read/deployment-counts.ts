/**
 * Counts of deployments by state and by convergence. Unfiltered counts of the fleet and of rollouts come from stored counters. For the
 * past, the present states of the deployments that have changed since are subtracted and their former states are added. All other counts
 * count the rows of the list.
 */
import { type SQL, sql } from 'drizzle-orm'
import { type Counter, type Counters, convergenceCounter, stateCounter, zeroCounters } from '../../domain/counters.ts'
import { type Convergence, convergences } from '../../domain/desired.ts'
import { type DeploymentState, deploymentStates, type Revision } from '../../domain/values.ts'
import type { Session } from '../database.ts'
import { all, asParents } from '../sql/parameters.ts'
import { deployments, logHead, rollouts } from '../tables/schema.ts'
import {
  type DeploymentFilter,
  d,
  filterAt,
  matchesDeployment,
  matchesFound,
  presentFields,
  stands,
} from './deployment-filter.ts'
import { fromPresent, fromThen, fromUnwound, isListed, ownedBy, parentsOf, type Scope } from './deployment-scope.ts'
import { type Source, type SourceLimits, sourceLimits, sourceOfCount } from './filters/deployment-source.ts'
import { openPast, type Past, present } from './past.ts'

export type StateCounts = Readonly<Record<Lowercase<DeploymentState>, number>>
export type ConvergenceCounts = Readonly<Record<Lowercase<Convergence>, number>>

/** A column of deployments to count by, and the counter of each of its values. */
interface Dimension<Value extends DeploymentState | Convergence> {
  readonly column: 'state' | 'convergence'
  /** The filter's values of that column. */
  readonly field: 'states' | 'convergence'
  readonly values: readonly Value[]
  readonly counterOf: (value: Value) => Counter
  /** The name of each value in counts, and its counter. */
  readonly names: readonly (readonly [Lowercase<Value>, Counter])[]
}

const byState = dimension('state', 'states', deploymentStates, stateCounter)
const byConvergence = dimension('convergence', 'convergence', convergences, convergenceCounter)

function dimension<Value extends DeploymentState | Convergence>(
  column: Dimension<Value>['column'],
  field: Dimension<Value>['field'],
  values: readonly Value[],
  counterOf: (value: Value) => Counter,
): Dimension<Value> {
  return { column, field, values, counterOf, names: values.map((value) => [nameOf(value), counterOf(value)]) }
}

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

function countsIn<Value extends DeploymentState | Convergence>(
  { names }: Dimension<Value>,
  counters: Counters,
): Record<Lowercase<Value>, number> {
  const counts = {} as Record<Lowercase<Value>, number>
  for (const [name, counter] of names) counts[name] = counters[counter]
  return counts
}

interface CountRecord<Value> {
  readonly parent: number
  readonly value: Value
  readonly n: number
}

async function countBy<Value extends DeploymentState | Convergence>(
  by: Dimension<Value>,
  session: Session,
  scope: Scope,
  filter: DeploymentFilter,
  asOf: Revision | null,
  limits: SourceLimits,
): Promise<Map<number, Record<Lowercase<Value>, number>>> {
  const past = asOf === null ? null : await openPast(session, asOf)
  // Stored counters ignore access scopes.
  const counted = session.accessScope ? null : scopeOfCounters(by, scope, filter)
  const records = counted
    ? await countEach<Value>(session, counted, fromCounters(by, counted, past))
    : await countEach<Value>(
        session,
        scope,
        sql`select ${d[by.column]} as value, 1 as n ${rowsOf(session, scope, filter, past, await sourceOfCount(session, scope, filter, limits))}`,
      )
  const totals = new Map(parentsOf(scope).map((parent) => [parent, noCounts(by)]))
  const wanted: readonly string[] | undefined = filter[by.field]
  for (const { parent, value, n } of records) {
    if (wanted && !wanted.includes(value)) continue
    const counts = totals.get(scope.of === 'fleet' ? 0 : parent)
    if (counts) counts[nameOf(value)] += n
  }
  return totals
}

/** The rows whose counters add up to the answer. Null: rows must be counted. */
function scopeOfCounters(
  { field: own }: { readonly field: string },
  scope: Scope,
  filter: DeploymentFilter,
): Scope | null {
  if (scope.of === 'target' || scope.of === 'instance') return null
  if (presentFields(filter).some((field) => field !== own && field !== 'rolloutKeys')) return null
  const wanted = filter.rolloutKeys
  if (!wanted) return scope
  return { of: 'rollout', keys: scope.of === 'fleet' ? wanted : scope.keys.filter((key) => wanted.includes(key)) }
}

function countEach<Value>(session: Session, scope: Scope, counted: SQL): Promise<CountRecord<Value>[]> {
  return session.rows<CountRecord<Value>>(
    sql`select parent.key as parent, counted.value, sum(counted.n)::int as n
      from ${asParents(parentsOf(scope))}
      cross join lateral (${counted}) as counted group by parent.key, counted.value`,
  )
}

function rowsOf(reader: Session, scope: Scope, filter: DeploymentFilter, past: Past | null, source: Source): SQL {
  const then = filterAt(filter, past?.revision ?? null)
  const listed = isListed(reader, scope, filter)
  if (source.of !== 'candidates') {
    const conditions = [matchesDeployment(then), ...listed]
    return past ? fromThen(past, scope, conditions) : fromPresent(scope, conditions)
  }
  const found = (isThen: readonly SQL[]): SQL =>
    sql`from (${source.rows}) as ${d} where ${all([ownedBy(scope, d), matchesFound(then), ...listed, ...isThen])}`
  if (!past) return found([])
  return sql`from (
    select ${d}.* ${found([sql`${d.revision} <= ${past.revision}::bigint`])}
    union all select ${d}.* ${fromUnwound(past, scope, [matchesDeployment(then), ...listed])}) as ${d}`
}

function fromCounters<Value extends DeploymentState | Convergence>(
  by: Dimension<Value>,
  scope: Scope,
  past: Past | null,
): SQL {
  const counters = sql`select counter.value, counter.n from ${scope.of === 'fleet' ? countersOf(by, logHead) : countersOf(by, rollouts)}
    where ${scope.of === 'fleet' ? sql`true` : sql`${rollouts.key} = parent.key`}`
  if (!past) return counters
  return sql`${counters}
    union all select ${present[by.column]}, -1 from ${deployments} ${present}
      where ${present.forgottenAt} is null and ${present.isCurrent} and ${present.revision} > ${past.revision}::bigint and ${ownedBy(scope, present)}
    union all select ${d[by.column]}, 1 ${fromUnwound(past, scope, [stands({}), sql`${d.isCurrent}`])}`
}

function countersOf<Value extends DeploymentState | Convergence>(
  { column, values, counterOf }: Dimension<Value>,
  table: typeof logHead | typeof rollouts,
): SQL {
  const type = sql.raw(deployments[column].getSQLType())
  const counters = values.map((value) => sql`(${value}::${type}, ${table[counterOf(value)]})`)
  return sql`${table} cross join lateral (values ${sql.join(counters, sql`, `)}) as counter(value, n)`
}

function nameOf<Value extends DeploymentState | Convergence>(value: Value): Lowercase<Value> {
  return value.toLowerCase() as Lowercase<Value>
}

function noCounts<Value extends DeploymentState | Convergence>(by: Dimension<Value>): Record<Lowercase<Value>, number> {
  return countsIn(by, zeroCounters())
}
