/**
 * Pages of the past of a fleet in which more deployments have changed since than a page can unwind, in the order of the list:
 *
 *   by change or state   the states that held then, from an index by state and revision (past_deployments)
 *   by name              the names of all deployments, which have no past
 *
 * A page that is still not full after half of `walked` deployments of each state, or a quarter as many names, is short (walk.ts).
 */
import { type SQL, sql } from 'drizzle-orm'
import { deploymentStates } from '../../../domain/values.ts'
import type { Session } from '../../database.ts'
import { type Stretch, sorted, within } from '../../sql/page.ts'
import { all, nothing } from '../../sql/parameters.ts'
import { isListedInOrder, ownedBy, parentsOf } from '../deployment-scope.ts'
import { d, matchesFound } from '../filters/deployment-filter.ts'
import { isByName, type NameOrder, orders } from '../orders/deployment-order.ts'
import type { Past } from '../past.ts'
import { completed, deploymentColumns, formerRows, fromPast, present } from '../past-rows.ts'
import { keysByName } from './name-walk.ts'
import { walkByState } from './state-walk.ts'
import { type DeploymentList, type Walk, whole } from './walk.ts'

/** The list can be read in its order. */
export function isWalkable({ scope, filter, order }: DeploymentList): boolean {
  if (scope.of === 'target' || scope.of === 'instance' || parentsOf(scope).length > 1 || filter.retired) return false
  return scope.of === 'fleet' || !isByName(order)
}

/** The rows that have changed since, in parts that are each in the order of the list. By name: all rows. */
export function walkPast(reader: Session, list: DeploymentList, past: Past, walked: number): readonly Walk[] {
  const { scope, filter, order } = list
  const { states, ...others } = filter
  const matching = (of: typeof filter): SQL[] => [
    ownedBy(scope, d),
    matchesFound(of),
    ...isListedInOrder(reader, scope, filter),
  ]
  if (isByName(order)) return [walkByName(past, order, matching(filter), Math.ceil(walked / 4))]
  const wanted = states ?? deploymentStates
  const changed = walkByState({
    table: formerRows,
    order,
    states: wanted,
    newest: past.revision,
    within: [sql`d.until > ${past.revision}::bigint`],
    matches: matching(others),
    // Of each state: most deployments are in one.
    walked: Math.ceil(walked / 2) * wanted.length,
  })
  const held: Walk = { ...changed, select: (stretch) => completed(changed.select(stretch)) }
  if (past.spanned === null) return [held]
  const isSpanned = sql`${present.key} = ${past.spanned.key}::bigint`
  return [
    held,
    whole((stretch) => {
      const bounds = within(orders[order], stretch)
      return sql`select ${deploymentColumns} ${fromPast(past, isSpanned)} and ${all([...matching(filter), ...bounds])} ${sorted(orders[order], stretch)}`
    }),
  ]
}

/** All deployments, changed since or not. */
function walkByName(past: Past, order: NameOrder, matches: readonly SQL[], walked: number): Walk {
  const names = (stretch: Stretch, limit: SQL): SQL => keysByName(order, sql`true`, stretch, limit)
  return {
    // The conditions are within the look-up of each place: a join with what they name could change the order.
    select: (stretch) => sql`select ${deploymentColumns} from (${names(stretch, sql`${walked}`)}) as place
      cross join lateral (select ${deploymentColumns} from (
        select ${deploymentColumns} ${fromPast(past, sql`${present.key} = place.key`)} offset 0) as ${d} where ${all(matches)} offset 0) as ${d}
      limit ${stretch.limit}`,
    isShort: (stretch, last) => (last ? nothing : sql`exists (${names(stretch, sql`1 offset ${walked}`)})`),
  }
}
