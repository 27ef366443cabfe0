/** Conditions on resources. */
import { type SQL, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/pg-core'
import type { ConditionOf, FilterOf } from '../../../domain/nouns/filter.ts'
import type { resourceFilter } from '../../../domain/nouns/resource.ts'
import type { Revision } from '../../../domain/values.ts'
import { type Conditions, conditionsIn } from '../../sql/conditions.ts'
import { containsText, isAnyOf, selectorCondition, timeParameter } from '../../sql/parameters.ts'
import { instances, resources, targets } from '../../tables/schema.ts'
import { instancesIn } from './instance-rollouts.ts'
import { targetConditions, targetRow } from './target-filter.ts'

export interface ResourceFilter extends FilterOf<typeof resourceFilter> {
  /** True: only resources that the orchestrator applied. False: only those that exist in the cluster alone. */
  readonly isApplied?: boolean
  /** Whether the source that watches the cluster can show resources of this kind. */
  readonly isShowable?: boolean
}

/** The target is the present one, also in the past. */
export type ResourceCondition = ConditionOf<typeof resourceFilter.conditions>

/** The row of resources that conditions use, from any source. */
export const r = alias(resources, 'r')

const onTarget = targetRow('resource_target')
const there = targetConditions(onTarget, [])
const isOn = (condition: SQL): SQL =>
  sql`${r.targetKey} in (select ${onTarget.key} from ${targets} ${onTarget} where ${condition})`

const ownConditions: Conditions<Omit<ResourceFilter, 'rolloutKeys' | 'instanceIds' | 'where'>> = {
  keys: (keys) => isAnyOf(r.key, keys, 'bigint'),
  deploymentIds: (ids) =>
    sql`${r.instanceKey} in (select ${instances.key} from ${instances} where ${isAnyOf(instances.instanceId, ids, 'text')})`,
  apps: (names) => isAnyOf(r.component, names, 'text'),
  clusters: (names) => isOn(there.clusters(names)),
  labels: (labels) => isOn(there.labels(labels)),
  label: (label) => isOn(there.label(label)),
  connectivity: (values) => isOn(there.connectivity(values)),
  names: (names) => isAnyOf(r.name, names, 'text'),
  groups: (groups) => isAnyOf(r.group, groups, 'text'),
  kinds: (kinds) => isAnyOf(r.kind, kinds, 'text'),
  namespaces: (namespaces) => isAnyOf(r.namespace, namespaces, 'text'),
  sync: (values) => isAnyOf(r.sync, values, 'sync_status'),
  presence: (values) => isAnyOf(r.presence, values, 'presence'),
  readiness: (values) => isAnyOf(r.readiness, values, 'readiness'),
  reasons: (reasons) => isAnyOf(r.reason, reasons, 'text'),
  text: (text) =>
    sql`(${containsText([r.name, r.namespace, r.kind, r.component, r.reason, r.message], text)} or ${isOn(containsText([onTarget.name], text))})`,
  changedAfter: (time) => sql`${r.changedAt} > ${timeParameter(time)}`,
  changedBefore: (time) => sql`${r.changedAt} < ${timeParameter(time)}`,
  isApplied: (wanted) => (wanted ? sql`${r.sync} is not null` : sql`${r.sync} is null`),
  isShowable: (wanted) => sql`${r.showable} = ${wanted}::boolean`,
}

/** Without `instanceIds`, which orchestration/resource-scope.ts applies to instances. */
export function matchesResource({ instanceIds: _, ...filter }: ResourceFilter, asOf: Revision | null): SQL[] {
  const conditions: Conditions<Omit<ResourceFilter, 'instanceIds'>> = {
    ...ownConditions,
    rolloutKeys: (keys) => sql`${r.instanceKey} in (${instancesIn((key) => isAnyOf(key, keys, 'bigint'), asOf)})`,
    where: (selector) => selectorCondition<ResourceCondition>(selector, (leaf) => conditionsIn(conditions, leaf)),
  }
  return conditionsIn(conditions, filter)
}

const inTallies: ReadonlySet<keyof ResourceFilter> = new Set<keyof ResourceFilter>([
  ...(['rolloutKeys', 'instanceIds', 'deploymentIds', 'apps', 'clusters'] as const),
  ...(['sync', 'presence', 'readiness', 'isApplied', 'isShowable'] as const),
])

/** Whether the tallies have all that the filter asks for. */
export function isTallied(filter: ResourceFilter): boolean {
  return Object.entries(filter).every(
    ([field, value]) => value === undefined || inTallies.has(field as keyof ResourceFilter),
  )
}
