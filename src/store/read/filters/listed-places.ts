/** What a live list of deployments reads after a change: which of a few deployments are listed, and in which order. */
import { sql } from 'drizzle-orm'
import type { Revision } from '../../../domain/values.ts'
import type { Session } from '../../database.ts'
import { readCursor, writeCursor } from '../../sql/cursor.ts'
import { sorted, within } from '../../sql/page.ts'
import { all, isAnyOf, listParameter } from '../../sql/parameters.ts'
import { toPlaced } from '../../sql/rows.ts'
import { changeLog, deployments } from '../../tables/schema.ts'
import { isListed } from '../deployment-scope.ts'
import { type DeploymentOrder, orders } from '../orders/deployment-order.ts'
import { type DeploymentFilter, d, matchesFound } from './deployment-filter.ts'

/** A row of a list. `cursor`: its place. */
interface ListedPlace {
  readonly key: number
  readonly revision: Revision
  readonly cursor: string
}

export interface Candidates {
  readonly keys: readonly number[]
  /** All deployments that run on them. */
  readonly targetKeys: readonly number[]
}

/**
 * The candidates that match the filter, in the order of the list, at most `limit`. `upTo`: the last place that counts; null: all count.
 * Each is looked up by its key: the planner cannot choose the index of the order instead, and read the fleet.
 */
export async function placesOf(
  session: Session,
  { keys, targetKeys }: Candidates,
  filter: DeploymentFilter,
  order: DeploymentOrder,
  upTo: string | null,
  limit: number,
): Promise<ListedPlace[]> {
  const own = sql`select distinct unnest(${listParameter(keys, 'bigint')}) as key`
  const found =
    targetKeys.length === 0
      ? own
      : sql`${own} union select ${d.key} from ${deployments} ${d} where ${isAnyOf(d.targetKey, targetKeys, 'bigint')}`
  const place = upTo === null ? null : readCursor(orders[order], upTo, 'after')
  const stretch = {
    bounds: place ? [{ side: 'upTo', place } as const] : [],
    reversed: false,
    limit: sql`${limit}`,
  }
  const conditions = [
    matchesFound(filter),
    ...isListed(session, { of: 'fleet' }, filter),
    ...within(orders[order], stretch),
  ]
  const rows = await session.rows<Parameters<typeof toPlaced>[0]>(
    sql`select ${d.key}, ${d.deploymentId}, ${d.state}, ${d.revision} from (${found} offset 0) as place
      cross join lateral (select ${d}.* from ${deployments} ${d} where ${d.key} = place.key offset 0) as ${d}
      where ${all(conditions)} ${sorted(orders[order], stretch)}`,
  )
  return rows.map(toPlaced).map((row) => ({
    key: row.key,
    revision: row.revision,
    cursor: writeCursor(orders[order], row),
  }))
}

/** Those of the deployments whose Kubernetes objects have changed after a revision. The deployment itself keeps its revision. */
export async function withChangedResources(
  session: Session,
  keys: readonly number[],
  after: Revision,
): Promise<ReadonlySet<number>> {
  if (keys.length === 0) return new Set()
  const rows = await session.rows<{ readonly key: number }>(
    sql`select listed.key from unnest(${listParameter(keys, 'bigint')}) as listed(key) where exists (
      select 1 from ${changeLog} where ${changeLog.deploymentKey} = listed.key and ${changeLog.resourceKey} is not null
        and ${changeLog.firstRevision} > ${after}::bigint offset 0)`,
  )
  return new Set(rows.map(({ key }) => key))
}
