/**
 * What entries of the log did to counts, from their columns `from_state` to `to_convergence`. Two indexes of the log hold those columns, so a
 * sum over a stretch of the log reads no state of any deployment.
 */
import { type SQL, type SQLWrapper, sql } from 'drizzle-orm'
import { changeLog as l } from '../../tables/schema.ts'

interface Stretch {
  /** The entries that begin after this revision … */
  readonly after: SQLWrapper
  /** … up to and including this one. */
  readonly upTo: SQLWrapper
}

/** Counted per value of this expression. */
const whole = sql`0`
/** The entry changed what a deployment counts as. */
const isCounted = sql`(${l.fromState} is not null or ${l.toState} is not null)`
const from = sql`${l.fromState} as from_state, ${l.fromConvergence} as from_convergence`
const to = sql`${l.toState} as to_state, ${l.toConvergence} as to_convergence`
const isNew = sql`${l.toState} is distinct from ${l.fromState} as is_new`

/**
 * Rows {bucket, state, convergence, n, entered}: the difference `n` of the number of deployments with these values, in the fleet or the
 * rollout parent.key. `entered`: how many times a deployment changed to the state.
 */
export function selectMoves(of: 'fleet' | 'rollout', { after, upTo }: Stretch, bucket: SQL = whole): SQL {
  const within = sql`${isCounted} and ${l.firstRevision} > ${after} and ${l.firstRevision} <= ${upTo}`
  const moved =
    of === 'fleet'
      ? sql`select ${bucket} as bucket, ${from}, ${to}, ${isNew} from ${l} where ${within}`
      : sql`select ${bucket} as bucket, case when ${l.fromRolloutKey} is null then ${l.fromState} end as from_state,
            ${l.fromConvergence} as from_convergence, ${to}, ${isNew} from ${l} where ${l.rolloutKey} = parent.key and ${within}
          union all select ${bucket}, ${from}, null, null, false from ${l} where ${l.fromRolloutKey} = parent.key and ${within}`
  return sql`select moved.bucket, step.state, step.convergence, step.n, step.entered from (
      select bucket, from_state, from_convergence, to_state, to_convergence, is_new, count(*)::int as n
      from (${moved}) as entry group by 1, 2, 3, 4, 5, 6) as moved
    cross join lateral (values (from_state, from_convergence, -n, 0), (to_state, to_convergence, n, case when is_new then n else 0 end))
      as step(state, convergence, n, entered)
    where step.state is not null`
}
