/**
 * What entries of the log did to counts, from their columns `from_state` to `to_convergence`. Two indexes of the log hold those columns, so a
 * sum over a stretch of the log reads no state of any deployment.
 */
import { type SQL, type SQLWrapper, sql } from 'drizzle-orm'
import type { Revision } from '../../../domain/values.ts'
import { all, isAnyOf, listParameter } from '../../sql/parameters.ts'
import { changeLog as l } from '../../tables/schema.ts'
import type { DeploymentFilter } from '../filters/deployment-filter.ts'

interface Stretch {
  /** The entries that begin after this revision … */
  readonly after: SQLWrapper
  /** … up to and including this one. */
  readonly upTo: SQLWrapper
}

/** A column of deployments, and its type. */
const columns = { state: 'deployment_state', convergence: 'convergence' } as const
type CountedColumn = keyof typeof columns
const names: readonly CountedColumn[] = ['state', 'convergence']

/**
 * Rows {state, convergence, n}: the difference `n` of the number of deployments with these values, in the fleet or the rollout parent.key.
 * `by`: the other column is null. Grouping is most of the cost, and one column has fewer changes and a shorter key than both.
 */
export function selectMoves(of: 'fleet' | 'rollout', stretch: Stretch, by: CountedColumn | null = null): SQL {
  const wanted = by ? [by] : names
  const list = (parts: readonly string[]): SQL => sql.raw(parts.join(', '))
  const ends = list(wanted.flatMap((name) => [`from_${name}`, `to_${name}`]))
  const at = (end: 'from' | 'to'): SQL =>
    list(names.map((name) => (wanted.includes(name) ? `${end}_${name}` : `null::${columns[name]}`)))
  const isMoved = list([wanted.map((name) => `from_${name} is distinct from to_${name}`).join(' or ')])
  // An entry that moves a deployment counts as a departure from one rollout and as an arrival in another.
  const entries =
    of === 'fleet'
      ? sql`${l} where ${isCounted} and ${isIn(stretch)}`
      : sql`(select case when ${l.fromRolloutKey} is null then ${l.fromState} end as from_state,
            case when ${l.fromRolloutKey} is null then ${l.fromConvergence} end as from_convergence, ${l.toState}, ${l.toConvergence}
          from ${l} where ${l.rolloutKey} = parent.key and ${isCounted} and ${isIn(stretch)}
          union all select ${l.fromState}, ${l.fromConvergence}, null, null
          from ${l} where ${l.fromRolloutKey} = parent.key and ${isCounted} and ${isIn(stretch)}) as entry where true`
  return sql`select step.state, step.convergence, step.n
    from (select ${ends}, count(*)::int as n from ${entries} and (${isMoved}) group by ${ends}) as moved
    cross join lateral (values (${at('from')}, -n), (${at('to')}, n)) as step(state, convergence, n)
    where ${sql.raw(`step.${wanted[0]}`)} is not null`
}

/**
 * Rows {state, n}: how many times a deployment of the fleet or of the rollout parent.key changed to the state, and then matched the filter.
 * Without those of selectFirstStates.
 */
export function selectArrivals(of: 'fleet' | 'rollout', stretch: Stretch, filter: DeploymentFilter): SQL {
  const conditions = [isIn(stretch), isCounted, sql`${l.toState} is distinct from ${l.fromState}`]
  return sql`select ${l.toState} as state, count(*)::int as n from ${l} where ${all([...conditions, ...isArrival(of, filter)])} group by 1`
}

/**
 * Rows {index, state, n}: the first states of deployments on another device that equal their last states on the former one. `index` is the
 * place of the end of the interval in `revisions`. The indexes by revision do not have the former device: one pass over the index of the few
 * moves is for all intervals.
 */
export function selectFirstStates(
  of: 'fleet' | 'rollout',
  revisions: readonly Revision[],
  filter: DeploymentFilter,
): SQL {
  const [first = 0, last = 0] = [revisions[0], revisions.at(-1)]
  const conditions = [
    isIn({ after: sql`${first}::bigint`, upTo: sql`${last}::bigint` }),
    sql`${l.fromTargetKey} is not null and ${l.toState} = ${l.fromState}`,
  ]
  return sql`select width_bucket(${l.firstRevision} - 1, ${listParameter(revisions, 'bigint')}) as index, ${l.toState} as state, count(*)::int as n
    from ${l} where ${all([...conditions, ...isArrival(of, filter)])} group by 1, 2`
}

function isArrival(of: 'fleet' | 'rollout', { states, convergence }: DeploymentFilter): SQL[] {
  return [
    ...(of === 'rollout' ? [sql`${l.rolloutKey} = parent.key`] : []),
    sql`${l.toState} is not null`,
    ...(states ? [isAnyOf(l.toState, states, 'deployment_state')] : []),
    ...(convergence ? [isAnyOf(l.toConvergence, convergence, 'convergence')] : []),
  ]
}

/** The entry changed what a deployment counts as. */
const isCounted = sql`(${l.fromState} is not null or ${l.toState} is not null)`

function isIn({ after, upTo }: Stretch): SQL {
  return sql`${l.firstRevision} > ${after} and ${l.firstRevision} <= ${upTo}`
}
