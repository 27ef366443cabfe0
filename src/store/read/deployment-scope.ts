/** The parents of a list or a count of deployments, and the source of their rows: the present, or the present unwound. */
import { type SQL, type SQLWrapper, sql } from 'drizzle-orm'
import type { Session } from '../database.ts'
import { all, fixed, isAnyOf } from '../sql/parameters.ts'
import { changeLog, deploymentNames, deployments, targets } from '../tables/schema.ts'
import { isFound, visiblePlace } from './access-scope.ts'
import { type DeploymentFilter, d, stands } from './filters/deployment-filter.ts'
import type { Past } from './past.ts'
import { deploymentColumns, fromEnded, fromPast, present } from './past-rows.ts'

/** Results are by the key of the parent, 0 for the fleet. */
export type Scope =
  | { readonly of: 'fleet' }
  | { readonly of: 'rollout' | 'target' | 'instance'; readonly keys: readonly number[] }

export function parentsOf(scope: Scope): readonly number[] {
  return scope.of === 'fleet' ? [0] : [...new Set(scope.keys)]
}

type Owned =
  | Pick<typeof d, 'rolloutKey' | 'targetKey' | 'instanceKey'>
  | Pick<typeof present, 'rolloutKey' | 'targetKey' | 'instanceKey'>

/** The condition that a row belongs to parent.key. */
export function ownedBy(scope: Scope, row: Owned): SQL {
  switch (scope.of) {
    case 'fleet':
      return sql`true`
    case 'rollout':
      return isParent(row.rolloutKey)
    case 'target':
      return isParent(row.targetKey)
    case 'instance':
      return isParent(row.instanceKey)
  }
}

function isParent(column: SQLWrapper): SQL {
  return sql`${column} = parent.key`
}

const fromAll = fixed(sql`from ${deployments} ${d} where`)
const isCurrent = fixed(sql`${d.isCurrent}`)

/** `from … where …` of the rows `d` of parent.key that match the conditions. They must include isListed. */
export function fromPresent(scope: Scope, conditions: readonly SQL[]): SQL {
  return sql`${fromAll} ${all([ownedBy(scope, d), ...conditions])}`
}

/**
 * The condition that a row is listed: it is not forgotten, the reader sees it, and it belongs to a current instance. If the filter or the
 * parent names instances, it belongs to one of those instead.
 */
export function isListed(reader: Pick<Session, 'accessScope'>, scope: Scope, filter: DeploymentFilter): SQL[] {
  return [...isMeant(scope, filter), ...visiblePlace(reader, d)]
}

/** The same for the rows of a walk, in whatever order they are. */
export function isListedInOrder(reader: Pick<Session, 'accessScope'>, scope: Scope, filter: DeploymentFilter): SQL[] {
  return [...isMeant(scope, filter), ...visiblePlace(reader, d, isFound)]
}

function isMeant(scope: Scope, filter: DeploymentFilter): SQL[] {
  return scope.of === 'instance' || filter.instanceIds ? [stands(filter)] : [stands(filter), isCurrent]
}

/** The same in the past: unchanged rows come from the indexes of the present, and only changed rows are unwound. `conditions` include the filter's. */
export function fromThen(past: Past, scope: Scope, filter: DeploymentFilter, conditions: readonly SQL[]): SQL {
  const unchanged = fromPresent(scope, [sql`${d.revision} <= ${past.revision}::bigint`, ...conditions])
  return sql`from (select ${deploymentColumns} ${unchanged} union all select ${deploymentColumns} ${fromUnwound(past, scope, filter, conditions)}) as ${d}`
}

/** The rows `d` of parent.key at that time, of deployments that have changed since. */
export function fromUnwound(past: Past, scope: Scope, filter: DeploymentFilter, conditions: readonly SQL[]): SQL {
  if (past.candidates === 'scan') return sql`${fromEnded(past)} where ${all([ownedBy(scope, d), ...conditions])}`
  const candidates = all([hasChanged(past, scope), ...canMatch(past, filter)])
  return sql`${fromPast(past, candidates)} and ${all([ownedBy(scope, d), ...conditions])}`
}

/** The present rows that have changed since and may have belonged to parent.key. */
function hasChanged(past: Past, scope: Scope): SQL {
  const since = sql`${present.revision} > ${past.revision}::bigint`
  switch (scope.of) {
    case 'fleet':
      return sql`((${present.forgottenAt} is null and ${since}) or (${present.forgottenAt} is not null and ${since}))`
    case 'instance':
      return sql`${since} and ${isParent(present.instanceKey)}`
    case 'rollout':
      return sql`${since} and ${mayHaveBeenIn(past, 'rollout', isParent)}`
    case 'target':
      return sql`${since} and ${mayHaveBeenIn(past, 'target', isParent)}`
  }
}

/**
 * Conditions on present rows that rows in the past can match, so that a filter that names its subjects unwinds only those. Ids, keys and
 * reporters have no past. A rollout or a device had those that it has, and those that left it.
 */
function canMatch(past: Past, filter: DeploymentFilter): SQL[] {
  const { keys, deploymentIds, reporters, rolloutKeys, deviceIds } = filter
  const { candidates, spanned } = past
  return [
    ...(typeof candidates === 'object'
      ? [sql`${present.key} in (${candidates} union all select ${spanned?.key ?? null}::bigint)`]
      : []),
    ...(keys ? [isAnyOf(present.key, keys, 'bigint')] : []),
    ...(deploymentIds ? [isNamed([isAnyOf(deploymentNames.deploymentId, deploymentIds, 'text')])] : []),
    ...(reporters
      ? [isNamed(kindsOfReporters.map((kind) => all([isAnyOf(deploymentNames.reporter, reporters, 'text'), kind])))]
      : []),
    ...(rolloutKeys ? [mayHaveBeenIn(past, 'rollout', (column) => isAnyOf(column, rolloutKeys, 'bigint'))] : []),
    ...(deviceIds
      ? [mayHaveBeenIn(past, 'target', (column) => sql`${column} = any(array(${devicesNamed(deviceIds)}))`)]
      : []),
  ]
}

/** Each kind of reporter has an index. */
const kindsOfReporters = [sql`not ${deploymentNames.isRemote}`, sql`${deploymentNames.isRemote}`]

/** The present row has one of these names, by the index beside the deployments. */
function isNamed(either: readonly SQL[]): SQL {
  const parts = either.map(
    (condition) => sql`select ${deploymentNames.deploymentKey} from ${deploymentNames} where ${condition}`,
  )
  return sql`${present.key} = any(array(${sql.join(parts, sql` union all `)}))`
}

/** Their keys. */
export function devicesNamed(names: readonly string[]): SQL {
  return sql`select ${targets.key} from ${targets}
    where ${targets.kind} = 'DEVICE' and ${targets.provider} = '' and ${isAnyOf(targets.name, names, 'text')}`
}

/** Its present rows that have changed since, and those that left it. */
function mayHaveBeenIn(past: Past, of: 'rollout' | 'target', isIt: (column: SQLWrapper) => SQL): SQL {
  const [owner, left] =
    of === 'rollout'
      ? [deployments.rolloutKey, changeLog.fromRolloutKey]
      : [deployments.targetKey, changeLog.fromTargetKey]
  const { revision } = past
  const own = sql`select ${deployments.key} from ${deployments} where ${isIt(owner)}`
  // Each part has its own index: one for listed deployments, one for forgotten ones.
  return sql`${present.key} in (
    ${own} and ${deployments.forgottenAt} is null and ${deployments.revision} > ${revision}::bigint
    union all ${own} and ${deployments.forgottenAt} is not null and ${deployments.revision} > ${revision}::bigint
    union all ${leaversOf(past, isIt(left))})`
}

/** The keys of those that left it since, and of the one whose entry spans the revision. */
export function leaversOf({ revision, spanned }: Past, hasLeft: SQL): SQL {
  return sql`select ${changeLog.deploymentKey} from ${changeLog} where ${hasLeft} and ${changeLog.firstRevision} > ${revision}::bigint
    union all select ${spanned?.key ?? null}::bigint`
}
