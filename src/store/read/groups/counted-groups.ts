/**
 * Groups by rollout without a look at deployments: from the counters of the rollouts, and in the past from their checkpoints. When the deployments of a group
 * changed is not stored, so it is read only if it is selected (members.ts).
 */
import { type SQL, sql } from 'drizzle-orm'
import { counters } from '../../../domain/counters.ts'
import type { Revision } from '../../../domain/values.ts'
import type { Session } from '../../database.ts'
import { isAnyOf } from '../../sql/parameters.ts'
import { rollouts } from '../../tables/schema.ts'
import { spannedMoves } from '../counts/deployment-counts.ts'
import { fromCheckpoint, isWantedPart, scopeOfCounters } from '../counts/stored-counts.ts'
import type { DeploymentFilter } from '../deployment-filter.ts'
import type { Scope } from '../deployment-scope.ts'
import { openPast } from '../past.ts'
import { type GroupedBy, nameColumn } from './grouping.ts'
import { selectSums } from './sums.ts'

/** More rollouts have too many entries after their checkpoints (write/derived/checkpoints.ts) to add them up. */
const mostRollouts = 1_000

const noSpan = sql`null::timestamptz as since, null::timestamptz as changed_at, null::bigint as revision`
const sum = sql.join(
  counters.filter((counter) => !counter.startsWith('convergence')).map((counter) => sql`${rollouts[counter]}`),
  sql` + `,
)
const columns = sql.join(
  counters.map((counter) => sql`${rollouts[counter]}`),
  sql`, `,
)

/** A select of groups. Null: deployments must be read. */
export async function selectCountedGroups(
  session: Session,
  scope: Scope,
  { by }: GroupedBy,
  filter: DeploymentFilter,
  asOf: Revision | null,
): Promise<SQL | null> {
  // Stored counters ignore access scopes.
  const counted =
    by !== 'ROLLOUT' || scope.of !== 'fleet' || session.accessScope ? null : scopeOfCounters(scope, filter)
  if (counted === null) return null
  const isWanted = counted.of === 'rollout' ? isAnyOf(rollouts.key, counted.keys, 'bigint') : sql`true`
  if (asOf === null) {
    if (filter.states || filter.convergence) return null
    return sql`select 0::bigint as key, part.*, ${nameColumn} as name, null::json as components, ${noSpan}
      from (select ${rollouts.key}::text as value, null::text as detail, ${sum} as size, ${columns} from ${rollouts} where ${isWanted}) as part
      where part.size > 0`
  }
  const past = await openPast(session, asOf)
  const wanted = sql`select ${rollouts.key} from ${rollouts} where ${isWanted}`
  if (!past.isCounted || !(await areFew(session, wanted))) return null
  const spanned = spannedMoves(counted, filter, past).map(
    ({ rolloutKey, state, convergence, n }) =>
      sql`union all select ${rolloutKey}::bigint, ${state}::deployment_state, ${convergence}::convergence, ${n}::int`,
  )
  return selectSums(sql`
    select part.key::text as value, null::text as detail, part.state, part.convergence, null::text as component, sum(part.n)::int as n, ${noSpan}
    from (
      select parent.key, part.state, part.convergence, part.n from (${wanted}) as parent
        cross join lateral (${fromCheckpoint({ of: 'rollout', keys: [] }, null, asOf)}) as part
      ${sql.join(spanned, sql` `)}
    ) as part where ${isWantedPart(filter)} group by part.key, part.state, part.convergence having sum(part.n) <> 0`)
}

async function areFew(session: Session, wanted: SQL): Promise<boolean> {
  const [row] = await session.rows<{ n: number }>(
    sql`select count(*)::int as n from (${wanted} limit ${mostRollouts + 1}) as found`,
  )
  return row !== undefined && row.n <= mostRollouts
}
