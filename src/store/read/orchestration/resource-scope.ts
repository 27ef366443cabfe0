/** The parents and filters of a list or a count of resources, and the source of rows: the present, the past or the tallies. */
import { type SQL, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/pg-core'
import { isStorable, storableJson } from '../../../domain/text.ts'
import type { Revision } from '../../../domain/values.ts'
import type { Session } from '../../database.ts'
import { all, isAnyOf } from '../../sql/parameters.ts'
import {
  changeLog,
  deployments,
  instances,
  resources,
  resourceTallies,
  rollouts,
  targets,
} from '../../tables/schema.ts'
import { visiblePlace } from '../access-scope.ts'
import { instancesIn } from '../filters/instance-rollouts.ts'
import { matchesResource, type ResourceFilter, r } from '../filters/resource-filter.ts'

/** Results are by the key of the parent, 0 for the fleet, and for components by the index in `items`. */
export type ResourceScope =
  | { readonly of: 'fleet' }
  | { readonly of: 'rollout' | 'instance' | 'deployment'; readonly keys: readonly number[] }
  | { readonly of: 'component'; readonly items: readonly { readonly deploymentKey: number; readonly name: string }[] }

export const present = alias(resources, 'present')
const later = alias(changeLog, 'later')

/** The rows `r` whose `present` rows match `which`, at present or in the past. */
export function fromRows(asOf: Revision | null, which: SQL): SQL {
  if (asOf === null)
    return sql`from (select ${present}.* from ${resources} ${present} where ${which}) as ${r} where true`
  const revision = sql`${asOf}::bigint`
  return sql`from ${resources} ${present}
    left join lateral (
      select ${later.before} from ${changeLog} ${later}
      where ${later.resourceKey} = ${present.key} and ${later.firstRevision} > ${revision} and ${present.revision} > ${revision}
      order by ${later.firstRevision} limit 1
    ) as undone on true
    cross join lateral json_populate_record(${present}, case when ${present.revision} > ${revision} then undone.before end) as ${r}
    where (${present.revision} <= ${revision} or json_typeof(undone.before) = 'object') and (${which})`
}

/** `from … where …` of the rows `r` of parent.key that match the filter. */
export function fromListed(
  reader: Session,
  scope: ResourceScope,
  filter: ResourceFilter,
  asOf: Revision | null,
  bounds: readonly SQL[],
): SQL {
  if (asOf === null) return sql`from ${resources} ${r} where ${all(isListed(reader, scope, filter, bounds))}`
  const conditions = [sql`${r.goneAt} is null`, ...visiblePlace(reader, r), ...matchesResource(filter, asOf), ...bounds]
  return sql`${fromRows(asOf, all(ownedBy(present, scope, filter, asOf)))} and ${all(conditions)}`
}

/** The conditions of a present row `r` of parent.key, or of the fleet, that matches the filter. */
export function isListed(
  reader: Session,
  scope: ResourceScope,
  filter: ResourceFilter,
  bounds: readonly SQL[],
): readonly SQL[] {
  const conditions = [sql`${r.goneAt} is null`, ...visiblePlace(reader, r), ...matchesResource(filter, null), ...bounds]
  return [...ownedBy(r, scope, filter, null), ...conditions]
}

/** The conditions on the resource itself and on its parent. They never change for a resource. */
function ownedBy(
  row: typeof r | typeof present,
  scope: ResourceScope,
  filter: ResourceFilter,
  asOf: Revision | null,
): SQL[] {
  return [
    ...(filter.keys ? [isAnyOf(row.key, filter.keys, 'bigint')] : []),
    ...instancesMeant(sql`${row.instanceKey}`, scope, filter, asOf),
    ...(scope.of === 'deployment' ? [sql`${row.deploymentKey} = parent.key`] : []),
    ...(scope.of === 'component' ? [ofItem(scope, sql`${row.deploymentKey}`, sql`${row.component}`)] : []),
  ]
}

/** The condition that an instance matches the scope and the filter. parent.key belongs to the scope. */
function instancesMeant(key: SQL, scope: ResourceScope, filter: ResourceFilter, asOf: Revision | null): SQL[] {
  const { rolloutKeys } = filter
  const isCurrent =
    (scope.of === 'fleet' || scope.of === 'rollout') && !filter.instanceIds
      ? [sql`${key} in (${currentInstances(scope, asOf)})`]
      : []
  const named = (ids: readonly string[]): SQL =>
    sql`${key} in (select ${instances.key} from ${instances} where ${isAnyOf(instances.instanceId, ids, 'text')})`
  const ofRollouts = (isWanted: (rolloutKey: SQL) => SQL): SQL => sql`${key} in (${instancesIn(isWanted, asOf)})`
  return [
    ...isCurrent,
    ...(scope.of === 'instance' ? [sql`${key} = parent.key`] : []),
    ...(scope.of === 'rollout' ? [ofRollouts(isParent)] : []),
    ...(filter.instanceIds ? [named(filter.instanceIds)] : []),
    ...(filter.deploymentIds ? [named(filter.deploymentIds)] : []),
    ...(rolloutKeys ? [ofRollouts((one) => isAnyOf(one, rolloutKeys, 'bigint'))] : []),
  ]
}

function isParent(rolloutKey: SQL): SQL {
  return sql`${rolloutKey} = parent.key`
}

function currentInstances(scope: ResourceScope, asOf: Revision | null): SQL {
  if (asOf === null) {
    const ofRollout = scope.of === 'rollout' ? isParent(sql`${instances.rolloutKey}`) : sql`true`
    return sql`select ${instances.key} from ${instances} where ${instances.isCurrent} and ${ofRollout}`
  }
  const ofRollout = scope.of === 'rollout' ? sql`${instances.key} in (${instancesIn(isParent, asOf)})` : sql`true`
  // All instances of a resource bundle are current, one per cloud region.
  const line = sql`case when ${rollouts.kind} = 'RESOURCE_BUNDLE' then ${instances.key} else ${instances.rolloutKey} end`
  return sql`select newest.key from (select distinct on (${line}) ${instances.key} from ${instances}
    join ${rollouts} on ${rollouts.key} = ${instances.rolloutKey}
    where ${instances.createdRevision} <= ${asOf}::bigint and ${ofRollout}
    order by ${line}, ${instances.createdRevision} desc, ${instances.key} desc) as newest`
}

/** The same for tallies: of instances, or of deployments if the filter has clusters. */
export function fromTallies(scope: ResourceScope, filter: ResourceFilter): SQL {
  const { apps, sync, presence, readiness, isApplied, isShowable } = filter
  const t = resourceTallies
  const conditions = [
    sql`${t.n} > 0`,
    tallyOwner(scope, filter),
    ...(apps ? [isAnyOf(t.component, apps, 'text')] : []),
    ...(sync ? [isAnyOf(t.sync, sync, 'text')] : []),
    ...(presence ? [isAnyOf(t.presence, presence, 'presence')] : []),
    ...(readiness ? [isAnyOf(t.readiness, readiness, 'readiness')] : []),
    ...(typeof isApplied === 'boolean' ? [isApplied ? sql`${t.sync} <> 'NONE'` : sql`${t.sync} = 'NONE'`] : []),
    ...(typeof isShowable === 'boolean' ? [sql`${t.showable} = ${isShowable}::boolean`] : []),
  ]
  return sql`select ${t.sync}, ${t.presence}, ${t.readiness}, ${t.n} from ${t} where ${all(conditions)}`
}

export function tallyOwner(scope: ResourceScope, filter: ResourceFilter): SQL {
  const owner = sql`${resourceTallies.ownerKey}`
  const { clusters, instanceIds, deploymentIds, rolloutKeys } = filter
  const isNarrowed = Boolean(clusters ?? instanceIds ?? deploymentIds ?? rolloutKeys)
  if (scope.of === 'component' || scope.of === 'deployment') {
    const own =
      scope.of === 'component' ? ofItem(scope, owner, sql`${resourceTallies.component}`) : sql`${owner} = parent.key`
    return isNarrowed ? sql`${own} and ${owner} in (${deploymentsMeant(scope, filter)})` : own
  }
  if (clusters) return sql`${owner} in (${deploymentsMeant(scope, filter)})`
  return all(instancesMeant(owner, scope, filter, null))
}

function deploymentsMeant(scope: ResourceScope, filter: ResourceFilter): SQL {
  const onClusters = filter.clusters ? [sql`${deployments.targetKey} in (${targetsNamed(filter.clusters)})`] : []
  const instancesOf = instancesMeant(sql`${deployments.instanceKey}`, scope, filter, null)
  const isOrchestrated = sql`${deployments.instanceKey} is not null`
  return sql`select ${deployments.key} from ${deployments} where ${all([isOrchestrated, ...instancesOf, ...onClusters])}`
}

/** `provider+name`. A provider contains no `+`, and an empty one matches any. A name without `+` is a cloud region. */
function targetsNamed(names: readonly string[]): SQL {
  const wanted = names.filter(isStorable).map((name) => {
    const cut = name.indexOf('+')
    return cut < 0
      ? { kind: 'CLOUD_REGION', provider: '', name }
      : { kind: 'CLUSTER', provider: cut === 0 ? null : name.slice(0, cut), name: name.slice(cut + 1) }
  })
  return sql`select ${targets.key} from json_to_recordset(${storableJson(wanted)}::text::json) as wanted(kind target_kind, provider text, name text)
    join ${targets} on ${targets.kind} = wanted.kind and ${targets.name} = wanted.name
      and (wanted.provider is null or ${targets.provider} = wanted.provider)`
}

function ofItem({ items }: Extract<ResourceScope, { of: 'component' }>, deploymentKey: SQL, component: SQL): SQL {
  const list = items.flatMap(({ deploymentKey: key, name }, index) => (isStorable(name) ? [{ index, key, name }] : []))
  return sql`(parent.key, ${deploymentKey}, ${component}) in (
    select item.index, item.key, item.name from json_to_recordset(${storableJson(list)}::text::json) as item(index bigint, key bigint, name text))`
}

export function parentsOf(scope: ResourceScope): readonly number[] {
  switch (scope.of) {
    case 'fleet':
      return [0]
    case 'component':
      return scope.items.map((_, index) => index)
    default:
      return [...new Set(scope.keys)]
  }
}
