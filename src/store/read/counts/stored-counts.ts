/** Where counts of the fleet and of rollouts come from without counting rows: stored counters, checkpoints, and the log. */
import { type SQL, sql } from 'drizzle-orm'
import { type Counter, convergenceCounter, stateCounter } from '../../../domain/counters.ts'
import { type Convergence, convergences } from '../../../domain/desired.ts'
import { type DeploymentState, deploymentStates, type Revision } from '../../../domain/values.ts'
import { presentFields } from '../../sql/conditions.ts'
import { all, isAnyOf } from '../../sql/parameters.ts'
import { deploymentCheckpoints as c, deployments, logHead, rollouts } from '../../tables/schema.ts'
import { ownedBy, type Scope } from '../deployment-scope.ts'
import { type DeploymentFilter, d, stands } from '../filters/deployment-filter.ts'
import { selectMoves } from './moves.ts'

export type CountedValue = DeploymentState | Convergence

/** Its name in an answer. */
export function nameOf<Value extends CountedValue>(value: Value): Lowercase<Value> {
  return value.toLowerCase() as Lowercase<Value>
}

/** A column of deployments to count by. */
interface Column {
  readonly column: 'state' | 'convergence'
  /** The filter's values of that column. */
  readonly field: 'states' | 'convergence'
  readonly type: 'deployment_state' | 'convergence'
}

/** The counter of each of its values. */
export interface Dimension<Value extends CountedValue = CountedValue> extends Column {
  readonly counters: readonly (readonly [value: Value, counter: Counter])[]
}

export const byState: Dimension<DeploymentState> = {
  column: 'state',
  field: 'states',
  type: 'deployment_state',
  counters: deploymentStates.map((state) => [state, stateCounter(state)]),
}
export const byConvergence: Dimension<Convergence> = {
  column: 'convergence',
  field: 'convergence',
  type: 'convergence',
  counters: convergences.map((value) => [value, convergenceCounter(value)]),
}
/** In the order of the columns of a tally. */
export const dimensions: readonly Dimension[] = [byState, byConvergence]

export type CountersScope = { readonly of: 'fleet' } | { readonly of: 'rollout'; readonly keys: readonly number[] }

/** The rows whose counters add up to the answer. Null: rows must be counted. */
export function scopeOfCounters(scope: Scope, filter: DeploymentFilter): CountersScope | null {
  if (scope.of === 'target' || scope.of === 'instance') return null
  if (presentFields(filter).some((field) => !isCounterField(field))) return null
  const wanted = filter.rolloutKeys
  if (!wanted) return scope.of === 'fleet' ? scope : { of: 'rollout', keys: scope.keys }
  return { of: 'rollout', keys: scope.of === 'fleet' ? wanted : scope.keys.filter((key) => wanted.includes(key)) }
}

/** The filter restricts the other column, too. */
export function isJoint(by: Dimension, filter: DeploymentFilter): boolean {
  return dimensions.some((one) => one.field !== by.field && filter[one.field] !== undefined)
}

function isCounterField(field: keyof DeploymentFilter): boolean {
  return field === 'rolloutKeys' || dimensions.some((one) => one.field === field)
}

export function fromCounters(by: Dimension, scope: CountersScope): SQL {
  return sql`select counter.value, counter.n from ${scope.of === 'fleet' ? countersOf(by, logHead) : countersOf(by, rollouts)}
    where ${scope.of === 'fleet' ? sql`true` : sql`${rollouts.key} = parent.key`}`
}

/**
 * Rows {state, convergence, n} that add up to the counts: those of the checkpoint nearest to the revision, or else of the present, and what the
 * entries in between did. The entry that spans the revision counts as a whole. `by`: the other column may be null. `revision` null: the present.
 */
export function fromCheckpoint(scope: CountersScope, by: Dimension | null, revision: Revision | null): SQL {
  const at = revision === null ? sql`${logHead.revision}` : sql`${revision}::bigint`
  const isOwn = sql`${c.rolloutKey} = ${scope.of === 'fleet' ? sql`0` : sql`parent.key`} and ${c.revision} >= ${logHead.tail}`
  const moves = selectMoves(
    scope.of,
    {
      after: sql`least(base.at, base.revision)`,
      upTo: sql`greatest(base.at, base.revision)`,
    },
    by?.column,
  )
  return sql`select part.state, part.convergence, part.n
    from (
      select ${at} as at, coalesce(nearest.revision, ${logHead.revision}) as revision, nearest.counts
      from ${logHead} left join lateral (
        select revision, counts from (
          (select ${c.revision}, ${c.counts} from ${c} where ${isOwn} and ${c.revision} >= ${at} order by ${c.revision} limit 1)
          union all
          (select ${c.revision}, ${c.counts} from ${c} where ${isOwn} and ${c.revision} < ${at} order by ${c.revision} desc limit 1)
        ) as either order by abs(revision - ${at}) limit 1) as nearest on true) as base
    cross join lateral (
      select kept.state, kept.convergence, kept.n
        from json_to_recordset(base.counts) as kept(state deployment_state, convergence convergence, n int)
      union all (${by ? selectOneColumn(by, scope) : selectTallies(scope)})
      union all select move.state, move.convergence, case when base.revision < base.at then move.n else -move.n end from (${moves}) as move
    ) as part`
}

/** The conditions of the filter's states and convergence on a row of fromCheckpoint. */
export function isWantedPart(filter: DeploymentFilter): SQL {
  const { states, convergence } = filter
  return all([
    ...(states ? [isAnyOf(sql`part.state`, states, 'deployment_state')] : []),
    ...(convergence ? [isAnyOf(sql`part.convergence`, convergence, 'convergence')] : []),
  ])
}

/** The present counts, if there is no checkpoint. */
function selectTallies(scope: CountersScope): SQL {
  return sql`select ${d.state}, ${d.convergence}, count(*)::int from ${deployments} ${d}
    where base.counts is null and ${stands({})} and ${d.isCurrent} and ${ownedBy(scope, d)} group by 1, 2`
}

/** The same by one column only, which the stored counters have. */
function selectOneColumn(by: Dimension, scope: CountersScope): SQL {
  const columns = dimensions.map(({ column, type }) =>
    column === by.column ? sql`had.value` : sql`null::${sql.raw(type)}`,
  )
  return sql`select ${sql.join(columns, sql`, `)}, had.n from (${fromCounters(by, scope)}) as had where base.counts is null`
}

function countersOf({ column, counters }: Dimension, table: typeof logHead | typeof rollouts): SQL {
  const type = sql.raw(deployments[column].getSQLType())
  const values = counters.map(([value, counter]) => sql`(${value}::${type}, ${table[counter]})`)
  return sql`${table} cross join lateral (values ${sql.join(values, sql`, `)}) as counter(value, n)`
}
