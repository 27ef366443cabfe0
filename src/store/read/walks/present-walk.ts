/** The rows of a present list of deployments, by the source that was chosen for them. */
import { type SQL, sql } from 'drizzle-orm'
import { deploymentStates, type Revision } from '../../../domain/values.ts'
import type { Session } from '../../database.ts'
import { presentFields } from '../../sql/conditions.ts'
import { type Stretch, sorted, within } from '../../sql/page.ts'
import { all, fixed, nothing } from '../../sql/parameters.ts'
import { fromPresent, isListed, isListedInOrder, ownedBy, type Scope } from '../deployment-scope.ts'
import { type DeploymentFilter, d, matchesDeployment, matchesFound, stands } from '../filters/deployment-filter.ts'
import { namesFew, type Source } from '../filters/deployment-source.ts'
import { type DeploymentOrder, isByName, isByState, orders } from '../orders/deployment-order.ts'
import { inOrderOfRollout, walkByName } from './rollout-names.ts'
import { walkByState } from './state-walk.ts'
import { type Walk, walkInOrder } from './walk.ts'

const allColumns = fixed(sql`select ${d}.*`)

/** `asOf`: only rows that have not changed since. Null: all. */
export function walkPresent(
  reader: Session,
  scope: Scope,
  filter: DeploymentFilter,
  order: DeploymentOrder,
  asOf: Revision | null,
  source: Source,
): Walk {
  const { states, ...others } = filter
  const isThen = asOf === null ? [] : [sql`${d.revision} <= ${asOf}::bigint`]
  const listed = isListed(reader, scope, filter)
  const listedInOrder = isListedInOrder(reader, scope, filter)
  const revisionOrder =
    scope.of === 'fleet' && !isByName(order) && (states !== undefined || isByState(order)) ? order : null
  const wanted = states ?? deploymentStates
  const whole = (select: Walk['select']): Walk => ({ select, isShort: () => nothing })
  // In the past, the entries of all that has changed since would be read in vain.
  const rollout = !isByName(order) || filter.retired || asOf !== null ? null : rolloutOf(scope, filter)
  const sortedAfter = (from: SQL, stretch: Stretch): SQL =>
    sql`${allColumns} from (${allColumns} ${from}) as ${d}
      where ${all([sql`true`, ...within(orders[order], stretch)])} ${sorted(orders[order], stretch)}`
  switch (source.of) {
    case 'candidates': {
      const matches = all([ownedBy(scope, d), source.matches, ...listed, ...isThen])
      return whole(
        (stretch) =>
          sql`${allColumns} from (${source.rows}) as ${d}
            where ${all([matches, ...within(orders[order], stretch)])} ${sorted(orders[order], stretch)}`,
      )
    }
    case 'walk': {
      const inRange = [stands(filter), ...isThen]
      if (revisionOrder)
        return walkByState(
          revisionOrder,
          wanted,
          asOf,
          inRange,
          [matchesFound(others), ...listedInOrder],
          source.walked,
        )
      if (rollout && isByName(order))
        return walkByName(order, rollout, [...inRange, matchesFound(filter), ...listedInOrder], source.walked)
      // In the orders of names, an index would pass rows with other revisions without counting them.
      const changed = isByName(order) || isByState(order) ? [] : source.changed
      const from = (bounds: readonly SQL[]): SQL => fromPresent(scope, [...inRange, ...changed, ...bounds])
      return walkInOrder(order, from, [matchesFound(filter), ...listedInOrder], source.walked)
    }
    case 'index': {
      const matches = all([matchesDeployment(filter), ...listed, ...isThen])
      // Before they are sorted: with a limit, the planner may read the order's index from its beginning instead.
      if (namesFew(filter))
        return whole((stretch) => sortedAfter(sql`${fromPresent(scope, [matches])} offset 0`, stretch))
      if (revisionOrder)
        return walkByState(revisionOrder, wanted, asOf, [], [matchesDeployment(others), ...listed], null)
      // Other conditions have an index that finds few rows.
      const isWhole = presentFields(filter).every((field) => field === 'rolloutKeys')
      if (rollout && isWhole && isByName(order))
        return walkByName(order, rollout, [stands(filter), matchesFound(filter), ...listedInOrder], null)
      const isOfRollout = isByName(order) && rolloutOf(scope, filter) !== null
      if (isOfRollout)
        return whole((stretch) => sortedAfter(sql`${fromPresent(scope, [matches])} ${inOrderOfRollout}`, stretch))
      return whole((stretch) => {
        const bounds = within(orders[order], stretch)
        return sql`${allColumns} ${fromPresent(scope, [matches, ...bounds])} ${sorted(orders[order], stretch)}`
      })
    }
  }
}

/** The rollout to which all rows belong. Null: it is not a single one. */
function rolloutOf(scope: Scope, { rolloutKeys = [] }: DeploymentFilter): SQL | null {
  if (scope.of === 'rollout') return sql`parent.key`
  const [only] = rolloutKeys
  return scope.of === 'fleet' && only !== undefined && rolloutKeys.length === 1 ? sql`${only}::bigint` : null
}
