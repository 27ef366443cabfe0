/**
 * Pages of the past of a fleet in which more deployments have changed since than a page can unwind. They are read in the order of the list, and only those
 * that the page passes are unwound:
 *
 *   by change   the log back from the revision: an entry is the newest of its deployment up to then, or it is passed over
 *   by state    the same for each state that many deployments had then. If few had it, they are unwound
 *   by name     the names of all deployments, which have no past
 *
 * A page that is still not full after `walked` entries is short (walk.ts).
 */
import { type SQL, sql } from 'drizzle-orm'
import { type DeploymentState, deploymentStates } from '../../../domain/values.ts'
import type { Session } from '../../database.ts'
import { type Stretch, sorted, within } from '../../sql/page.ts'
import { all, either, isAnyOf, nothing } from '../../sql/parameters.ts'
import { deployments, changeLog as entry } from '../../tables/schema.ts'
import type { CountedAs } from '../changes/stays.ts'
import { type DeploymentFilter, d } from '../deployment-filter.ts'
import { fromUnwound, parentsOf, type Scope } from '../deployment-scope.ts'
import { type DeploymentOrder, isByName, isByState, type NameOrder, orders } from '../orders/deployment-order.ts'
import { fromPast, type Past, present } from '../past.ts'
import { type PastList, walkByChange } from './past-entries.ts'
import type { Walk } from './walk.ts'

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

/** The list can be read in its order. Otherwise, all that has changed since must be unwound. */
export function isWalkable(scope: Scope, { retired }: DeploymentFilter, order: DeploymentOrder): boolean {
  if (scope.of === 'target' || scope.of === 'instance' || parentsOf(scope).length > 1 || retired) return false
  return scope.of === 'fleet' || !isByName(order)
}

/** Only deployments that have changed since, except by name: the others have an index. */
export function walkPast(list: PastList): Walk {
  const { order, runs, matches } = list
  if (isByName(order)) return walkByName(list.past, order, matches, list.walked)
  if (!isByState(order)) return walkByChange(list, order, null)
  return inSequence(
    order,
    runs.map(({ state, keys }) => {
      const unchanged = runs.length === 1 ? list.unchanged : null
      const ofState = { ...list, unchanged, matches: [sql`${d.state} = ${state}::deployment_state`, ...matches] }
      if (keys) return { state, walk: unwindFew(ofState, keys) }
      const counted: CountedAs = { by: 'state', values: [state] }
      return { state, walk: walkByChange({ ...ofState, counted: [...list.counted, counted] }, order, state) }
    }),
  )
}

/** The rows of states that follow each other. */
function inSequence(
  order: 'STATE' | 'STATE_DESC',
  runs: readonly { readonly state: DeploymentState; readonly walk: Walk }[],
): Walk {
  const place = (state: DeploymentState): number => deploymentStates.indexOf(state)
  return {
    select: (stretch) => {
      const rows = runs.map(({ walk }) => sql`(${walk.select(stretch)})`)
      if (rows.length === 0) return sql`select ${d}.* from ${deployments} ${d} where ${nothing}`
      return sql`select ${d}.* from (${sql.join(rows, sql` union all `)}) as ${d} ${sorted(orders[order], stretch)}`
    },
    isShort: (stretch, last) => {
      const isFirst = (state: DeploymentState, other: DeploymentState): boolean =>
        place(state) < place(other) === ((order === 'STATE') !== stretch.reversed)
      // All rows that were found of a state before the last row's are shown, and no row of a state behind it is.
      const parts = runs.flatMap(({ state, walk }) => {
        if (last === null || state === last.state) return [walk.isShort(stretch, last)]
        return isFirst(state, last.state) ? [walk.isShort(stretch, null)] : []
      })
      return either(parts)
    },
  }
}

function unwindFew({ past, scope, filter, order, matches }: PastList, keys: SQL): Walk {
  return {
    select: (stretch) => {
      const conditions = [...matches, ...within(orders[order], stretch)]
      return sql`select ${d}.* ${fromUnwound({ ...past, candidates: keys }, scope, filter, conditions)} ${sorted(orders[order], stretch)}`
    },
    isShort: () => nothing,
  }
}

/** All deployments, changed since or not. */
function walkByName(past: Past, order: NameOrder, matches: readonly SQL[], walked: number): Walk {
  const names = (stretch: Stretch, limit: SQL): SQL => sql`select ${d.key} from ${deployments} ${d}
    where ${all([sql`true`, ...within(orders[order], stretch)])} ${sorted(orders[order], { ...stretch, limit })}`
  return {
    // The conditions are within the look-up of each place: a join with what they name could change the order.
    select: (stretch) => sql`select ${d}.* from (${names(stretch, sql`${walked}`)}) as place
      cross join lateral (select ${d}.* from (
        select ${d}.* ${fromPast(past, sql`${present.key} = place.key`)} offset 0) as ${d} where ${all(matches)} offset 0) as ${d}
      limit ${stretch.limit}`,
    isShort: (stretch, last) => (last ? nothing : sql`exists (${names(stretch, sql`1 offset ${walked}`)})`),
  }
}
