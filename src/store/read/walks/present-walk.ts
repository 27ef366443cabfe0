/** The rows of a present list of deployments, by the source that was chosen for them. */

import { type SQL, sql } from 'drizzle-orm'
import { deploymentStates, type Revision } from '../../../domain/values.ts'
import type { Session } from '../../database.ts'
import { presentFields } from '../../sql/conditions.ts'
import { sorted, within } from '../../sql/page.ts'
import { all, fixed } from '../../sql/parameters.ts'
import { fromPresent, isListed, isListedInOrder, ownedBy, type Scope } from '../deployment-scope.ts'
import { type DeploymentFilter, d, matchesDeployment, matchesFound, stands } from '../filters/deployment-filter.ts'
import { namesFew } from '../filters/deployment-source.ts'
import type { Source } from '../filters/source.ts'
import { type DeploymentOrder, isByName, isByState, orders } from '../orders/deployment-order.ts'
import { deploymentColumns } from '../past-rows.ts'
import { inOrderOfRollout, namesOfRollout, walkByName } from './name-walk.ts'
import { walkByState } from './state-walk.ts'
import { type DeploymentList, type Walk, walkInOrder, whole } from './walk.ts'

const allColumns = fixed(sql`select ${deploymentColumns}`)

/** A present list of deployments, whatever the source of its rows. */
interface PresentList extends DeploymentList {
  readonly asOf: Revision | null
  /** The condition that a row has not changed since `asOf`. */
  readonly isThen: readonly SQL[]
  readonly listed: readonly SQL[]
  readonly listedInOrder: readonly SQL[]
}

/** `asOf`: only rows that have not changed since. Null: all. */
export function walkPresent(reader: Session, wanted: DeploymentList, asOf: Revision | null, source: Source): Walk {
  const { scope, filter } = wanted
  const list: PresentList = {
    ...wanted,
    asOf,
    isThen: asOf === null ? [] : [sql`${d.revision} <= ${asOf}::bigint`],
    listed: isListed(reader, scope, filter),
    listedInOrder: isListedInOrder(reader, scope, filter),
  }
  switch (source.of) {
    case 'candidates':
      return fromCandidates(list, source)
    case 'walk':
      return fromWalk(list, source)
    case 'index':
      return fromIndex(list)
  }
}

function fromCandidates(
  { scope, order, isThen, listed }: PresentList,
  { rows, matches }: Extract<Source, { of: 'candidates' }>,
): Walk {
  const conditions = all([ownedBy(scope, d), matches, ...listed, ...isThen])
  return whole(
    (stretch) =>
      sql`${allColumns} from (${rows}) as ${d}
            where ${all([conditions, ...within(orders[order], stretch)])} ${sorted(orders[order], stretch)}`,
  )
}

function fromWalk(list: PresentList, { walked, changed }: Extract<Source, { of: 'walk' }>): Walk {
  const { scope, filter, order, asOf, isThen, listedInOrder } = list
  const inRange = [stands(filter), ...isThen]
  const matches = [matchesFound(filter), ...listedInOrder]
  const byState = stateRanges(list)
  if (byState) {
    const matchesOthers = [matchesFound(byState.others), ...listedInOrder]
    return walkByState({ ...byState, newest: asOf, within: inRange, matches: matchesOthers, walked })
  }
  const rollout = rolloutOf(scope, filter)
  if (isByName(order)) {
    const ofRollout = rollout && hasNames(list) ? namesOfRollout(rollout) : null
    const names = ofRollout ?? (scope.of === 'fleet' ? sql`true` : null)
    if (names) return walkByName(order, names, [...inRange, ...matches], walked)
  }
  // In the orders of names, an index would pass rows with other revisions without counting them.
  const sinceThen = isByName(order) || isByState(order) ? [] : changed
  const from = (bounds: readonly SQL[]): SQL => fromPresent(scope, [...inRange, ...sinceThen, ...bounds])
  return walkInOrder(order, from, matches, walked)
}

function fromIndex(list: PresentList): Walk {
  const { scope, filter, order, asOf, isThen, listed, listedInOrder } = list
  const matches = all([matchesDeployment(filter), ...listed, ...isThen])
  // Before they are sorted: with a limit, the planner may read the order's index from its beginning instead.
  if (namesFew(filter)) return sortedAfter(order, () => sql`${fromPresent(scope, [matches])} offset 0`)
  const byState = stateRanges(list)
  if (byState) {
    const matchesOthers = [matchesDeployment(byState.others), ...listed]
    return walkByState({ ...byState, newest: asOf, within: [], matches: matchesOthers, walked: null })
  }
  const rollout = rolloutOf(scope, filter)
  if (isByName(order) && rollout) {
    // Other conditions have an index that finds few rows.
    const isWhole = presentFields(filter).every((field) => field === 'rolloutKeys')
    return isWhole && hasNames(list)
      ? walkByName(order, namesOfRollout(rollout), [stands(filter), matchesFound(filter), ...listedInOrder], null)
      : sortedAfter(order, () => sql`${fromPresent(scope, [matches])} ${inOrderOfRollout}`)
  }
  if (isByName(order) && scope.of === 'fleet')
    return filter.retired
      ? sortedAfter(order, () => fromPresent(scope, [matches]))
      : walkByName(order, sql`true`, [stands(filter), matchesFound(filter), ...listedInOrder, ...isThen], null)
  return whole((stretch) => {
    const bounds = within(orders[order], stretch)
    return sql`${allColumns} ${fromPresent(scope, [matches, ...bounds])} ${sorted(orders[order], stretch)}`
  })
}

/** Reads all rows of `from` before it sorts them. */
function sortedAfter(order: DeploymentOrder, from: () => SQL): Walk {
  return whole(
    (stretch) => sql`${allColumns} from (${allColumns} ${from()}) as ${d}
      where ${all([sql`true`, ...within(orders[order], stretch)])} ${sorted(orders[order], stretch)}`,
  )
}

/** Where the index (state, revision) has the order of the list: the states to read, and the other conditions. Null: it has not. */
function stateRanges({ scope, filter, order }: PresentList) {
  const { states, ...others } = filter
  if (scope.of !== 'fleet' || isByName(order) || (states === undefined && !isByState(order))) return null
  return { order, states: states ?? deploymentStates, others }
}

/** Whether the index of names is of use: it has no closed deployments. In the past, the entries of all that has changed since would be read in vain. */
function hasNames({ filter, asOf }: PresentList): boolean {
  return !filter.retired && asOf === null
}

/** The rollout to which all rows belong. Null: it is not a single one. */
function rolloutOf(scope: Scope, { rolloutKeys = [] }: DeploymentFilter): SQL | null {
  if (scope.of === 'rollout') return sql`parent.key`
  const [only] = rolloutKeys
  return scope.of === 'fleet' && only !== undefined && rolloutKeys.length === 1 ? sql`${only}::bigint` : null
}
