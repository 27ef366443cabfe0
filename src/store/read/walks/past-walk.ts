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
import { type Stretch, sorted, within } from '../../sql/page.ts'
import { all, either, nothing } from '../../sql/parameters.ts'
import { deployments } from '../../tables/schema.ts'
import type { CountedAs } from '../changes/stays.ts'
import { fromUnwound, parentsOf } from '../deployment-scope.ts'
import { d } from '../filters/deployment-filter.ts'
import { isByName, isByState, type NameOrder, orders, type StateOrder } from '../orders/deployment-order.ts'
import { deploymentColumns, fromPast, type Past, present } from '../past.ts'
import { type PastList, type Run, walkByChange } from './past-changes.ts'
import type { DeploymentList, Walk } from './walk.ts'

/** The list can be read in its order. Otherwise, all that has changed since must be unwound. */
export function isWalkable({ scope, filter, order }: DeploymentList): boolean {
  if (scope.of === 'target' || scope.of === 'instance' || parentsOf(scope).length > 1 || filter.retired) return false
  return scope.of === 'fleet' || !isByName(order)
}

/** Only deployments that have changed since, except by name: the others have an index. */
export function walkPast(list: PastList): Walk {
  const { order } = list
  if (isByName(order)) return walkByName(list.past, order, list.matches, list.walked)
  if (!isByState(order)) return walkByChange(list, order, null)
  return inSequence(
    order,
    list.runs.map((run) => ({ state: run.state, walk: walkState(list, run, order) })),
  )
}

/** The rows of one state. */
function walkState(list: PastList, { state, keys }: Run, order: StateOrder): Walk {
  const ofState = {
    ...list,
    unchanged: list.runs.length === 1 ? list.unchanged : null,
    matches: [sql`${d.state} = ${state}::deployment_state`, ...list.matches],
  }
  if (keys) return unwindFew(ofState, keys)
  const counted: CountedAs = { by: 'state', values: [state] }
  return walkByChange({ ...ofState, counted: [...list.counted, counted] }, order, state)
}

/** The rows of states that follow each other. */
function inSequence(
  order: StateOrder,
  runs: readonly { readonly state: DeploymentState; readonly walk: Walk }[],
): Walk {
  const place = (state: DeploymentState): number => deploymentStates.indexOf(state)
  return {
    select: (stretch) => {
      const rows = runs.map(({ walk }) => sql`(${walk.select(stretch)})`)
      if (rows.length === 0) return sql`select ${deploymentColumns} from ${deployments} ${d} where ${nothing}`
      return sql`select ${deploymentColumns} from (${sql.join(rows, sql` union all `)}) as ${d} ${sorted(orders[order], stretch)}`
    },
    isShort: (stretch, last) => {
      const precedes = (state: DeploymentState, other: DeploymentState): boolean =>
        place(state) < place(other) === ((order === 'STATE') !== stretch.reversed)
      // All rows that were found of a state before the last row's are shown, and no row of a state behind it is.
      const parts = runs.flatMap(({ state, walk }) => {
        if (last === null || state === last.state) return [walk.isShort(stretch, last)]
        return precedes(state, last.state) ? [walk.isShort(stretch, null)] : []
      })
      return either(parts)
    },
  }
}

function unwindFew({ past, scope, filter, order, matches }: PastList, keys: SQL): Walk {
  return {
    select: (stretch) => {
      const conditions = [...matches, ...within(orders[order], stretch)]
      return sql`select ${deploymentColumns} ${fromUnwound({ ...past, candidates: keys }, scope, filter, conditions)} ${sorted(orders[order], stretch)}`
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
    select: (stretch) => sql`select ${deploymentColumns} from (${names(stretch, sql`${walked}`)}) as place
      cross join lateral (select ${deploymentColumns} from (
        select ${deploymentColumns} ${fromPast(past, sql`${present.key} = place.key`)} offset 0) as ${d} where ${all(matches)} offset 0) as ${d}
      limit ${stretch.limit}`,
    isShort: (stretch, last) => (last ? nothing : sql`exists (${names(stretch, sql`1 offset ${walked}`)})`),
  }
}
