/** How many deployments a reader of the past would have to look up. */
import { type SQL, sql } from 'drizzle-orm'
import type { Session } from '../../database.ts'
import { isAnyOf } from '../../sql/parameters.ts'
import { deployments, changeLog as entry } from '../../tables/schema.ts'
import { parentsOf, type Scope } from '../deployment-scope.ts'
import type { Past } from '../past.ts'
import { present } from '../past-rows.ts'
import type { DeploymentFilter } from './deployment-filter.ts'

/** Counts up to a limit. 0: the filter or the scope names the deployments. */
export async function countChangedSince(
  session: Session,
  { revision }: Past,
  scope: Scope,
  { keys, deploymentIds, reporters, deviceIds, rolloutKeys }: DeploymentFilter,
  most: number,
): Promise<number> {
  if (scope.of === 'target' || scope.of === 'instance' || parentsOf(scope).length > 1) return 0
  if (keys || deploymentIds || reporters || deviceIds) return 0
  const rollouts = scope.of === 'rollout' ? scope.keys : rolloutKeys
  const since = (column: SQL): SQL => sql`${column} > ${revision}::bigint`
  const ofRollouts = rollouts ? isAnyOf(present.rolloutKey, rollouts, 'bigint') : sql`true`
  const changed = (state: SQL): SQL => sql`(select 1 from ${deployments} ${present}
    where ${ofRollouts} and ${since(sql`${present.revision}`)} and ${present.forgottenAt} ${state} order by ${present.revision} limit ${most})`
  // Deployments that have left the rollouts are looked up, too.
  const left = rollouts
    ? sql`union all (select 1 from ${entry} where ${isAnyOf(entry.fromRolloutKey, rollouts, 'bigint')}
        and ${since(sql`${entry.firstRevision}`)} order by ${entry.firstRevision} limit ${most})`
    : sql``
  const [row] = await session.rows<{ readonly n: number }>(
    sql`select count(*)::int as n from (${changed(sql`is null`)} union all ${changed(sql`is not null`)} ${left}) as found`,
  )
  return row?.n ?? 0
}
