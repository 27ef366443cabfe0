/**
 * Pages of the past of a fleet in which more deployments have changed since than a page can unwind. They are read in the order of the list, and only those
 * that the page passes are unwound:
 *
 *   by change   the log back from the revision: an entry is the newest of its deployment up to then, or it is passed over
 *   by name     the names of all deployments, which have no past
 *
 * There is no order of the past by state. A page that is still not full after `walked` entries is short (deployment-order.ts, Walk).
 */
import { type SQL, sql } from 'drizzle-orm'
import type { Session } from '../../database.ts'
import { type Select, type Stretch, sorted, within } from '../../sql/page.ts'
import { all, isAnyOf, nothing } from '../../sql/parameters.ts'
import { deployments, changeLog as entry, epochs, logHead } from '../../tables/schema.ts'
import { type DeploymentFilter, d } from '../deployment-filter.ts'
import { type DeploymentOrder, isByState, isRunOrder, orders, type Walk } from '../deployment-order.ts'
import { ownedBy, parentsOf, type Scope } from '../deployment-scope.ts'
import { fromPast, type Past, present } from '../past.ts'

/** How many deployments a page at that time would have to unwind, counted up to a limit. 0: the filter or the scope names them. */
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
  // Deployments that have left the rollouts are unwound, too.
  const left = rollouts
    ? sql`union all (select 1 from ${entry} where ${isAnyOf(entry.fromRolloutKey, rollouts, 'bigint')}
        and ${since(sql`${entry.firstRevision}`)} order by ${entry.firstRevision} limit ${most})`
    : sql``
  const [row] = await session.rows<{ readonly n: number }>(
    sql`select count(*)::int as n from (${changed(sql`is null`)} union all ${changed(sql`is not null`)} ${left}) as found`,
  )
  return row?.n ?? 0
}

/** `matches`: the conditions of the list on a row at that time. Null: the list cannot be walked. */
export function walkPast(
  past: Past,
  scope: Scope,
  filter: DeploymentFilter,
  order: DeploymentOrder,
  matches: readonly SQL[],
  walked: number,
): Walk | null {
  if (scope.of === 'target' || scope.of === 'instance' || parentsOf(scope).length > 1 || filter.retired) return null
  if (!isRunOrder(order)) return scope.of === 'fleet' ? walkByName(past, order, matches, walked) : null
  if (isByState(order)) return null
  const rollouts = scope.of === 'rollout' ? scope.keys : filter.rolloutKeys
  return walkByChange(past, order, rollouts ?? null, [ownedBy(scope, d), ...matches], walked)
}

/** Only deployments that have changed since: the others have an index. */
function walkByChange(
  past: Past,
  order: 'CHANGED_ASC' | 'CHANGED_DESC',
  rollouts: readonly number[] | null,
  matches: readonly SQL[],
  walked: number,
): Walk {
  const revision = sql`${past.revision}::bigint`
  const isOldestFirst = (stretch: Stretch): boolean => (order === 'CHANGED_ASC') !== stretch.reversed
  const entries = (stretch: Stretch, limit: SQL): SQL => sql`
    select ${entry.deploymentKey} as key, ${entry.firstRevision} as revision from ${entry}
    where ${all([
      sql`${entry.firstRevision} <= ${revision} and ${entry.deploymentKey} is not null and ${entry.resourceKey} is null`,
      ...(rollouts ? [isAnyOf(entry.rolloutKey, rollouts, 'bigint')] : []),
      ...(past.spanned ? [sql`${entry.deploymentKey} <> ${past.spanned.key}::bigint`] : []),
      ...stretch.bounds.map((bound) => limitOf(order, bound)),
    ])} order by ${entry.firstRevision} ${isOldestFirst(stretch) ? sql`asc` : sql`desc`} limit ${limit}`
  const bounded = (stretch: Stretch): SQL =>
    sql`${all([...matches, ...within(orders[order], stretch)])} limit ${stretch.limit}`
  const then = (which: SQL): SQL =>
    sql`select ${d}.* ${fromPast(past, which)} and ${present.revision} > ${revision} offset 0`
  // Lateral joins keep the order of the entries and read them lazily.
  const walkedRows: Select = (stretch) => sql`select ${d}.* from (${entries(stretch, sql`${walked}`)}) as place
    cross join lateral (select where not exists (
      select 1 from ${entry} where ${entry.deploymentKey} = place.key and ${entry.resourceKey} is null
        and ${entry.firstRevision} > place.revision and ${entry.firstRevision} <= ${revision} offset 0) offset 0) as newest
    cross join lateral (${then(sql`${present.key} = place.key`)}) as ${d}
    where ${bounded(stretch)}`
  // The entry that spans the revision may have moved its deployment to another rollout after it.
  const key = past.spanned?.key ?? null
  const spannedRow: Select = (stretch) =>
    sql`select ${d}.* from (${then(sql`${present.key} = ${key}::bigint`)}) as ${d} where ${bounded(stretch)}`
  const select: Select = (stretch) =>
    key === null ? walkedRows(stretch) : sql`(${walkedRows(stretch)}) union all (${spannedRow(stretch)})`
  return {
    select,
    isShort: (stretch, last) => {
      const isOldest = isOldestFirst(stretch)
      const shown = sql`${last?.revision ?? null}::bigint`
      // Rows of entries beyond the walked ones precede the last row that is shown.
      const precedes =
        last === null ? sql`true` : isOldest ? sql`beyond.revision < ${shown}` : sql`beyond.revision > ${shown}`
      const isCut = sql`exists (select 1 from (${entries(stretch, sql`1 offset ${walked}`)}) as beyond where ${precedes})`
      // Retention has removed entries of deployments that have changed since. Theirs would be the oldest rows.
      const mayPrecede = isOldest || last === null ? sql`true` : sql`${logHead.tail} >= ${shown}`
      const isTrimmed = sql`exists (select 1 from ${logHead} where ${logHead.tail} > (select min(${epochs.base}) from ${epochs}) and ${mayPrecede})`
      return sql`(${isCut} or ${isTrimmed})`
    },
  }
}

/** The entries whose rows may be within a bound of the order. The row of an entry has its last revision. */
function limitOf(order: 'CHANGED_ASC' | 'CHANGED_DESC', { side, place }: Stretch['bounds'][number]): SQL {
  const isTowardsEnd = side === 'after' || side === 'from'
  const bound = sql`${place[0]}::bigint`
  if (isTowardsEnd === (order === 'CHANGED_DESC')) return sql`${entry.firstRevision} <= ${bound}`
  return sql`${entry.firstRevision} >= coalesce((select max(${entry.firstRevision}) from ${entry} where ${entry.firstRevision} <= ${bound}), 0)`
}

/** All deployments, changed since or not. */
function walkByName(past: Past, order: 'NAME' | 'NAME_DESC', matches: readonly SQL[], walked: number): Walk {
  const names = (stretch: Stretch, limit: SQL): SQL => sql`select ${d.key} from ${deployments} ${d}
    where ${all([sql`true`, ...within(orders[order], stretch)])} ${sorted(orders[order], { ...stretch, limit })}`
  return {
    select: (stretch) => sql`select ${d}.* from (${names(stretch, sql`${walked}`)}) as place
      cross join lateral (select ${d}.* ${fromPast(past, sql`${present.key} = place.key`)} offset 0) as ${d}
      where ${all(matches)} limit ${stretch.limit}`,
    isShort: (stretch, last) => (last ? nothing : sql`exists (${names(stretch, sql`1 offset ${walked}`)})`),
  }
}
