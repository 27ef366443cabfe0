/** The parents of a list or a count of deployments, and the source of their rows: the present, or the present unwound. */
import { type SQL, type SQLWrapper, sql } from 'drizzle-orm'
import type { Session } from '../database.ts'
import { all, fixed } from '../sql/parameters.ts'
import { changeLog, deployments } from '../tables/schema.ts'
import { visiblePlace } from './access-scope.ts'
import { type DeploymentFilter, d, stands } from './deployment-filter.ts'
import { fromPast, type Past, present } from './past.ts'

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
  const isMeant = scope.of === 'instance' || filter.instanceIds ? [] : [isCurrent]
  return [stands(filter), ...isMeant, ...visiblePlace(reader, d)]
}

/** The same in the past: unchanged rows come from the indexes of the present, and only changed rows are unwound. */
export function fromThen(past: Past, scope: Scope, conditions: readonly SQL[]): SQL {
  const unchanged = fromPresent(scope, [sql`${d.revision} <= ${past.revision}::bigint`, ...conditions])
  return sql`from (select ${d}.* ${unchanged} union all select ${d}.* ${fromUnwound(past, scope, conditions)}) as ${d}`
}

/** The rows `d` of parent.key at that time, of deployments that have changed since. */
export function fromUnwound(past: Past, scope: Scope, conditions: readonly SQL[]): SQL {
  return sql`${fromPast(past, hasChanged(past, scope))} and ${all([ownedBy(scope, d), ...conditions])}`
}

/** The present rows that have changed since and may have belonged to parent.key: its present ones, and those that left it. */
function hasChanged({ revision, spanned }: Past, scope: Scope): SQL {
  const since = sql`${present.revision} > ${revision}::bigint`
  const anywhere = sql`(${present.forgottenAt} is null and ${since}) or (${present.forgottenAt} is not null and ${since})`
  if (scope.of === 'fleet') return anywhere
  if (scope.of === 'instance') return sql`${since} and ${isParent(present.instanceKey)}`
  const [owner, left] =
    scope.of === 'rollout'
      ? [deployments.rolloutKey, changeLog.fromRolloutKey]
      : [deployments.targetKey, changeLog.fromTargetKey]
  const own = sql`select ${deployments.key} from ${deployments} where ${isParent(owner)}`
  const leavers = sql`select ${changeLog.deploymentKey} from ${changeLog}
    where ${isParent(left)} and ${changeLog.firstRevision} > ${revision}::bigint`
  // Each part has its own index: one for listed deployments, one for forgotten ones.
  return sql`${since} and ${present.key} in (
    ${own} and ${deployments.forgottenAt} is null and ${deployments.revision} > ${revision}::bigint
    union all ${own} and ${deployments.forgottenAt} is not null and ${deployments.revision} > ${revision}::bigint
    union all ${leavers}
    union all select ${spanned?.key ?? null}::bigint)`
}
