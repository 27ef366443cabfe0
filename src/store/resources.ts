/**
 * Resources: lists, counts and details. Counts come from the tallies that the writer keeps (resource_tallies), so that an instance of
 * 50,000 resources is counted without reading one; only a filter that tallies do not know (kind, name, namespace), and the past, are
 * counted from the rows.
 */
import { type SQL, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/pg-core'
import type { Readiness, Revision } from '../domain/deployment.ts'
import type { Presence, Resource, SyncStatus } from '../domain/resource.ts'
import type { Session } from './database.ts'
import { presentFields } from './deployment-filter.ts'
import { type Order, type Page, type PageRequest, pageOf, sorted, within } from './page.ts'
import { all, isAnyOf, isStorable, listParameter } from './parameters.ts'
import { type ResourceRecord, toResource } from './rows.ts'
import {
  changeLog,
  deployments,
  instances,
  resourceDetails,
  resources,
  resourceTallies,
  rollouts,
  targets,
} from './schema.ts'
import { seesPlace } from './sight.ts'

/** `asOf` null: as it is now; else as it was at that revision. */
export type ResourceRow = Resource & { readonly asOf: Revision | null }

/** Any of these within a field, all fields together; an absent field asks nothing, an empty list matches nothing. */
export interface ResourceFilter {
  readonly rolloutKeys?: readonly number[]
  /** Without it, of a rollout and of the fleet only those of the current instances. */
  readonly instanceIds?: readonly string[]
  readonly deploymentIds?: readonly string[]
  /** Names of components. */
  readonly apps?: readonly string[]
  /** `provider+name`; of a cloud-region its name. */
  readonly clusters?: readonly string[]
  readonly names?: readonly string[]
  readonly kinds?: readonly string[]
  readonly namespaces?: readonly string[]
  readonly sync?: readonly SyncStatus[]
  readonly presence?: readonly Presence[]
  readonly readiness?: readonly Readiness[]
  /** True: only what the orchestrator applied; false: only what the cluster alone has. */
  readonly isApplied?: boolean
  /** Whether the source that watches the cluster can show it. */
  readonly isShowable?: boolean
}

/** Answers are by key of the parent, 0 for the fleet, and for components by their index in `items`. */
export type ResourceScope =
  | { readonly of: 'fleet' }
  | { readonly of: 'rollout' | 'instance' | 'deployment'; readonly keys: readonly number[] }
  | { readonly of: 'component'; readonly items: readonly { readonly deploymentKey: number; readonly name: string }[] }

export interface ResourceCounts {
  readonly total: number
  readonly sync: Readonly<Record<SyncStatus, number>>
  readonly presence: Readonly<Record<Presence, number>>
  readonly readiness: Readonly<Record<Readiness, number>>
}

/** The row of resources that conditions speak of, whichever source it comes from. */
const r = alias(resources, 'r')
const present = alias(resources, 'present')
const later = alias(changeLog, 'later')

/** In the order in which they were first heard of. */
const oldestFirst: Order<Resource> = {
  name: 'RESOURCE',
  keys: [{ by: r.key, type: 'bigint', descending: false, of: (resource) => resource.key }],
}

/** Gone ones too; a key that names nothing (or nothing yet at `asOf`) is absent. */
export async function resourcesByKey(
  session: Session,
  keys: readonly number[],
  asOf: Revision | null,
): Promise<Map<number, ResourceRow>> {
  const rows = await session.rows<ResourceRecord>(
    sql`select ${r}.* ${fromRows(asOf, isAnyOf(present.key, keys, 'bigint'))} and ${all(seesPlace(session, r))}`,
  )
  return new Map(rows.map((row) => [row.key, { ...toResource(row), asOf }]))
}

export function pageResources(
  session: Session,
  scope: ResourceScope,
  filter: ResourceFilter,
  page: PageRequest,
  asOf: Revision | null,
): Promise<Map<number, Page<ResourceRow>>> {
  return pageOf<ResourceRow, ResourceRecord>(session, {
    parents: parentsOf(scope),
    order: oldestFirst,
    page,
    select: (stretch) =>
      sql`select ${r}.* ${fromListed(session, scope, filter, asOf, within(oldestFirst, stretch))} ${sorted(oldestFirst, stretch)}`,
    toNode: (row) => ({ ...toResource(row), asOf }),
  })
}

/** Zero-filled. */
export async function countResources(
  session: Session,
  scope: ResourceScope,
  filter: ResourceFilter,
  asOf: Revision | null,
): Promise<Map<number, ResourceCounts>> {
  // Tallies count everybody's.
  const isTallied = !session.sight && asOf === null && !filter.names && !filter.kinds && !filter.namespaces
  const counted = isTallied
    ? fromTallies(scope, filter)
    : sql`select coalesce(${r.sync}::text, 'NONE') as sync, ${r.presence},
      ${r.readiness}, count(*)::int as n ${fromListed(session, scope, filter, asOf, [])} group by 1, 2, 3`
  const rows = await session.rows<CountRecord>(
    sql`select parent.key as parent, counted.sync, counted.presence, counted.readiness, sum(counted.n)::int as n
      from unnest(${listParameter(parentsOf(scope), 'bigint')}) as parent(key)
      cross join lateral (${counted}) as counted group by 1, 2, 3, 4`,
  )
  const totals = new Map(parentsOf(scope).map((parent) => [parent, noCounts()]))
  for (const { parent, sync, presence, readiness, n } of rows) {
    const counts = totals.get(parent)
    if (!counts) continue
    counts.total += n
    if (sync !== 'NONE') counts.sync[sync] += n
    counts.presence[presence] += n
    counts.readiness[readiness] += n
  }
  return totals
}

/** The sum of those that take part in it (WIRE §5); UNKNOWN where there are none. */
export async function sumOfReadiness(
  session: Session,
  scope: ResourceScope,
  asOf: Revision | null,
): Promise<Map<number, Readiness>> {
  const takesPart = (row: typeof r | typeof resourceTallies, sync: SQL): SQL =>
    sql`${row.showable} and ${sync} <> 'DELETED' and not (${sync} = 'NONE' and ${row.presence} = 'NOT_PRESENT')`
  const counted =
    asOf === null && !session.sight
      ? sql`select ${resourceTallies.readiness} from ${resourceTallies}
          where ${tallyOwner(scope, {})} and ${resourceTallies.n} > 0 and ${takesPart(resourceTallies, sql`${resourceTallies.sync}`)}`
      : sql`select ${r.readiness} ${fromListed(session, scope, {}, asOf, [takesPart(r, sql`coalesce(${r.sync}::text, 'NONE')`)])}`
  const rows = await session.rows<{ parent: number; readiness: Readiness }>(
    sql`select distinct parent.key as parent, counted.readiness from unnest(${listParameter(parentsOf(scope), 'bigint')}) as parent(key)
      cross join lateral (${counted}) as counted`,
  )
  const byParent = Map.groupBy(rows, ({ parent }) => parent)
  const worst = (found: readonly { readiness: Readiness }[]): Readiness =>
    (['FAILED', 'PENDING', 'UNKNOWN', 'READY'] as const).find((one) =>
      found.some(({ readiness }) => readiness === one),
    ) ?? 'UNKNOWN'
  return new Map(parentsOf(scope).map((parent) => [parent, worst(byParent.get(parent) ?? [])]))
}

export interface ResourceDetailRow {
  readonly detail: unknown
  readonly detailCut: boolean
  readonly appliedDetail: unknown
  readonly appliedDetailCut: boolean
}

/** Of the present only. */
export async function detailsOf(session: Session, keys: readonly number[]): Promise<Map<number, ResourceDetailRow>> {
  const rows = await session.rows<{
    key: number
    detail: unknown
    detail_cut: boolean
    applied_detail: unknown
    applied_detail_cut: boolean
  }>(
    sql`select ${resourceDetails}.* from ${resourceDetails} where ${all([isAnyOf(resourceDetails.key, keys, 'bigint'), ...seesDetails(session)])}`,
  )
  return new Map(
    rows.map((row) => [
      row.key,
      {
        detail: row.detail,
        detailCut: row.detail_cut,
        appliedDetail: row.applied_detail,
        appliedDetailCut: row.applied_detail_cut,
      },
    ]),
  )
}

/** Details are their resource's. */
function seesDetails(reader: Session): SQL[] {
  if (!reader.sight) return []
  return [
    sql`${resourceDetails.key} in (select ${resources.key} from ${resources} where ${all(seesPlace(reader, resources))})`,
  ]
}

export interface ListedResource {
  readonly key: number
  readonly component: string
  readonly provider: string
  readonly target: string
  readonly connectivity: 'UNKNOWN' | 'ONLINE' | 'OFFLINE' | 'RETRYING'
  readonly group: string
  readonly version: string
  readonly kind: string
  readonly name: string
  readonly sync: SyncStatus | null
  readonly presence: Presence
  readonly readiness: Readiness
  /** Null when it was not asked for. */
  readonly detail: unknown
}

/**
 * The next `limit` resources of an instance after `after`, for answers that are grouped by component and cluster: components in the
 * order in which they were first heard of, within them clusters likewise, within those resources.
 */
export async function listResources(
  session: Session,
  instanceKey: number,
  filter: ResourceFilter,
  options: {
    readonly after: ListedResource | null
    readonly limit: number
    readonly detail?: 'detail' | 'appliedDetail' | null
  },
): Promise<ListedResource[]> {
  const scope: ResourceScope = { of: 'instance', keys: [instanceKey] }
  const { after, limit, detail } = options
  const column = detail === 'appliedDetail' ? resourceDetails.appliedDetail : resourceDetails.detail
  const beyond =
    after === null
      ? sql`true`
      : sql`(component_first, target_first, ordered.key) > (select a.component_first, a.target_first, a.key from ordered as a where a.key = ${after.key}::bigint)`
  return session.rows<ListedResource>(sql`with parent as (select ${instanceKey}::bigint as key),
    places as (select distinct ${resources.component}, ${resources.targetKey},
        min(${resources.key}) over (partition by ${resources.component}) as component_first,
        min(${resources.key}) over (partition by ${resources.component}, ${resources.targetKey}) as target_first
      from ${resources} where ${resources.instanceKey} = ${instanceKey}::bigint and ${resources.goneAt} is null),
    ordered as (select ${r}.*, places.component_first, places.target_first from parent cross join lateral (
        select ${r}.* ${fromListed(session, scope, filter, null, [])}) as ${r}
      join places on places.component = ${r.component} and places.target_key = ${r.targetKey})
    select ordered.key, ordered.component, t.provider, t.name as target, t.connectivity, ordered.api_group as "group", ordered.version,
      ordered.kind, ordered.name, ordered.sync, ordered.presence, ordered.readiness,
      ${detail ? sql`(select ${column} from ${resourceDetails} where ${resourceDetails.key} = ordered.key)` : sql`null`} as detail
    from ordered join ${targets} t on t.key = ordered.target_key
    where ${beyond} order by component_first, target_first, ordered.key limit ${limit}::int`)
}

interface CountRecord {
  readonly parent: number
  readonly sync: SyncStatus | 'NONE'
  readonly presence: Presence
  readonly readiness: Readiness
  readonly n: number
}

/** The rows `r` that `which` (of `present`) describes, as they are or as they were. */
function fromRows(asOf: Revision | null, which: SQL): SQL {
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

/** `from … where …` of the rows `r` of parent.key that the filter lists. */
function fromListed(
  reader: Session,
  scope: ResourceScope,
  filter: ResourceFilter,
  asOf: Revision | null,
  bounds: readonly SQL[],
): SQL {
  const conditions = [sql`${r.goneAt} is null`, ...seesPlace(reader, r), ...matchesResource(filter), ...bounds]
  if (asOf !== null) return sql`${fromRows(asOf, all(ownedBy(present, scope, filter, asOf)))} and ${all(conditions)}`
  return sql`from ${resources} ${r} where ${all([...ownedBy(r, scope, filter, null), ...conditions])}`
}

/** Whose it is: none of that ever changes. */
function ownedBy(
  row: typeof r | typeof present,
  scope: ResourceScope,
  filter: ResourceFilter,
  asOf: Revision | null,
): SQL[] {
  return [
    ...instancesMeant(sql`${row.instanceKey}`, scope, filter, asOf),
    ...(scope.of === 'deployment' ? [sql`${row.deploymentKey} = parent.key`] : []),
    ...(scope.of === 'component' ? [ofItem(scope, sql`${row.deploymentKey}`, sql`${row.component}`)] : []),
  ]
}

/** The condition that an instance is one that the scope and the filter mean; parent.key is the scope's. */
function instancesMeant(key: SQL, scope: ResourceScope, filter: ResourceFilter, asOf: Revision | null): SQL[] {
  const isCurrent =
    (scope.of === 'fleet' || scope.of === 'rollout') && !filter.instanceIds
      ? [sql`${key} in (${currentInstances(scope, asOf)})`]
      : []
  const named = (ids: readonly string[]): SQL =>
    sql`${key} in (select ${instances.key} from ${instances} where ${isAnyOf(instances.instanceId, ids, 'text')})`
  const ofRollouts = (condition: SQL): SQL =>
    sql`${key} in (select ${instances.key} from ${instances} where ${condition})`
  return [
    ...isCurrent,
    ...(scope.of === 'instance' ? [sql`${key} = parent.key`] : []),
    ...(scope.of === 'rollout' ? [ofRollouts(sql`${instances.rolloutKey} = parent.key`)] : []),
    ...(filter.instanceIds ? [named(filter.instanceIds)] : []),
    ...(filter.deploymentIds ? [named(filter.deploymentIds)] : []),
    ...(filter.rolloutKeys ? [ofRollouts(isAnyOf(instances.rolloutKey, filter.rolloutKeys, 'bigint'))] : []),
  ]
}

function currentInstances(scope: ResourceScope, asOf: Revision | null): SQL {
  const ofRollout = scope.of === 'rollout' ? sql`${instances.rolloutKey} = parent.key` : sql`true`
  if (asOf === null) return sql`select ${instances.key} from ${instances} where ${instances.isCurrent} and ${ofRollout}`
  // Of a resource bundle each of its instances is, on whichever cloud-region.
  const line = sql`case when ${rollouts.kind} = 'RESOURCE_BUNDLE' then ${instances.key} else ${instances.rolloutKey} end`
  return sql`select newest.key from (select distinct on (${line}) ${instances.key} from ${instances}
    join ${rollouts} on ${rollouts.key} = ${instances.rolloutKey}
    where ${instances.createdRevision} <= ${asOf}::bigint and ${ofRollout}
    order by ${line}, ${instances.createdRevision} desc, ${instances.key} desc) as newest`
}

function matchesResource(filter: ResourceFilter): SQL[] {
  const { apps, clusters, names, kinds, namespaces, sync, presence, readiness, isApplied, isShowable } = filter
  return [
    ...(apps ? [isAnyOf(r.component, apps, 'text')] : []),
    ...(clusters ? [sql`${r.targetKey} in (${targetsNamed(clusters)})`] : []),
    ...(names ? [isAnyOf(r.name, names, 'text')] : []),
    ...(kinds ? [isAnyOf(r.kind, kinds, 'text')] : []),
    ...(namespaces ? [isAnyOf(r.namespace, namespaces, 'text')] : []),
    ...(sync ? [isAnyOf(r.sync, sync, 'sync_status')] : []),
    ...(presence ? [isAnyOf(r.presence, presence, 'presence')] : []),
    ...(readiness ? [isAnyOf(r.readiness, readiness, 'readiness')] : []),
    ...(typeof isApplied === 'boolean' ? [isApplied ? sql`${r.sync} is not null` : sql`${r.sync} is null`] : []),
    ...(typeof isShowable === 'boolean' ? [sql`${r.showable} = ${isShowable}::boolean`] : []),
  ]
}

/** The same for tallies: of the instances, or of the deployments where clusters are asked for. */
function fromTallies(scope: ResourceScope, filter: ResourceFilter): SQL {
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

function tallyOwner(scope: ResourceScope, filter: ResourceFilter): SQL {
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

/** `provider+name`: a provider has no +; a name without one is a cloud-region's. */
function targetsNamed(names: readonly string[]): SQL {
  const wanted = names.filter(isStorable).map((name) => {
    const cut = name.indexOf('+')
    return cut < 0
      ? { kind: 'CLOUD_REGION', provider: '', name }
      : { kind: 'CLUSTER', provider: name.slice(0, cut), name: name.slice(cut + 1) }
  })
  return sql`select ${targets.key} from json_to_recordset(${JSON.stringify(wanted)}::text::json) as wanted(kind target_kind, provider text, name text)
    join ${targets} on ${targets.kind} = wanted.kind and ${targets.provider} = wanted.provider and ${targets.name} = wanted.name`
}

function ofItem({ items }: Extract<ResourceScope, { of: 'component' }>, deploymentKey: SQL, component: SQL): SQL {
  const list = items.flatMap(({ deploymentKey: key, name }, index) => (isStorable(name) ? [{ index, key, name }] : []))
  return sql`(parent.key, ${deploymentKey}, ${component}) in (
    select item.index, item.key, item.name from json_to_recordset(${JSON.stringify(list)}::text::json) as item(index bigint, key bigint, name text))`
}

function parentsOf(scope: ResourceScope): readonly number[] {
  switch (scope.of) {
    case 'fleet':
      return [0]
    case 'component':
      return scope.items.map((_, index) => index)
    default:
      return [...new Set(scope.keys)]
  }
}

function noCounts() {
  return {
    total: 0,
    sync: { PENDING: 0, APPLIED: 0, FAILED: 0, RETRYING: 0, DELETED: 0 },
    presence: { UNKNOWN: 0, NOT_PRESENT: 0, PRESENT: 0 },
    readiness: { READY: 0, PENDING: 0, FAILED: 0, UNKNOWN: 0 },
  }
}

/** Whether a filter asks anything. */
export function isUnfiltered(filter: ResourceFilter): boolean {
  return presentFields(filter).length === 0
}
