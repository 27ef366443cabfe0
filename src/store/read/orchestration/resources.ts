/**
 * Resources: lists, counts and details. Counts come from the tallies that the writer maintains (resource_tallies), so an instance with
 * 50,000 resources is counted without reading them. Other filters (isTallied), and the past, are counted from rows.
 */
import { type SQL, sql } from 'drizzle-orm'
import type {
  ListedResource,
  Presence,
  Resource,
  ResourceCounts,
  SyncStatus,
} from '../../../domain/orchestration/resource.ts'
import type { Readiness, Revision } from '../../../domain/values.ts'
import type { Session } from '../../database.ts'
import { readCursor, writeCursor } from '../../sql/cursor.ts'
import type { Page, PageRequest } from '../../sql/order.ts'
import { pageOf, sorted, within } from '../../sql/page.ts'
import { all, asKeptParents, asParents, isAnyOf, listParameter } from '../../sql/parameters.ts'
import { bytesOf, inParts } from '../../sql/parts.ts'
import { fieldsBut, type RowOf, rowMapper } from '../../sql/row-mapping.ts'
import { type ResourceRecord, toResource } from '../../sql/rows-orchestration.ts'
import { resourceDetails, resources, resourceTallies, targets } from '../../tables/schema.ts'
import { visiblePlace } from '../access-scope.ts'
import { isTallied, type ResourceFilter, r } from '../filters/resource-filter.ts'
import { oldestFirst, type ResourceOrder, resourceOrder } from '../orders/resource-order.ts'
import {
  fromListed,
  fromRows,
  fromTallies,
  isListed,
  parentsOf,
  present,
  type ResourceScope,
  tallyOwner,
} from './resource-scope.ts'

/** `asOf`: the revision that the row reflects. Null: the present. */
export type ResourceRow = Resource & { readonly asOf: Revision | null }

/** Includes resources that no longer exist. Keys without a row (at `asOf`) are absent. */
export async function resourcesByKey(
  session: Session,
  keys: readonly number[],
  asOf: Revision | null,
): Promise<Map<number, ResourceRow>> {
  const rows = await session.rows<ResourceRecord>(
    sql`select ${r}.* ${fromRows(asOf, isAnyOf(present.key, keys, 'bigint'))} and ${all(visiblePlace(session, r))}`,
  )
  return new Map(rows.map((row) => [row.key, { ...toResource(row), asOf }]))
}

export function pageResources(
  session: Session,
  scope: ResourceScope,
  filter: ResourceFilter,
  page: PageRequest,
  asOf: Revision | null,
  orderBy: ResourceOrder = oldestFirst,
): Promise<Map<number, Page<ResourceRow>>> {
  const order = resourceOrder(orderBy)
  return pageOf<ResourceRow, ResourceRecord>(session, {
    parents: parentsOf(scope),
    order,
    page,
    select: (stretch) =>
      sql`select ${r}.* ${fromListed(session, scope, filter, asOf, within(order, stretch))} ${sorted(order, stretch)}`,
    toNode: (row) => ({ ...toResource(row), asOf }),
  })
}

/**
 * The listed ones of some resources of the fleet, in the order of the list, at most `limit`. `upTo`: the last place that counts; null: all
 * count. Each is looked up by its key: the planner cannot choose the index of the order instead.
 */
export async function resourcePlaces(
  session: Session,
  keys: readonly number[],
  filter: ResourceFilter,
  orderBy: ResourceOrder,
  upTo: string | null,
  limit: number,
): Promise<{ readonly key: number; readonly revision: Revision; readonly cursor: string }[]> {
  const order = resourceOrder(orderBy)
  const place = upTo === null ? null : readCursor(order, upTo, 'after')
  const stretch = {
    bounds: place ? [{ side: 'upTo', place } as const] : [],
    reversed: false,
    limit: sql`${limit}`,
  }
  const rows = await session.rows<ResourceRecord>(
    sql`select ${r}.* from (select distinct unnest(${listParameter(keys, 'bigint')}) as key offset 0) as place
      cross join lateral (select ${r}.* from ${resources} ${r} where ${r.key} = place.key offset 0) as ${r}
      where ${all(isListed(session, { of: 'fleet' }, filter, within(order, stretch)))} ${sorted(order, stretch)}`,
  )
  return rows.map((row) => {
    const resource = toResource(row)
    return { key: resource.key, revision: resource.revision, cursor: writeCursor(order, resource) }
  })
}

/** Zero-filled. */
export async function countResources(
  session: Session,
  scope: ResourceScope,
  filter: ResourceFilter,
  asOf: Revision | null,
): Promise<Map<number, ResourceCounts>> {
  // Tallies ignore access scopes.
  const isStored = !session.accessScope && asOf === null && isTallied(filter)
  const counted = isStored
    ? fromTallies(scope, filter)
    : sql`select coalesce(${r.sync}::text, 'NONE') as sync, ${r.presence},
      ${r.readiness}, count(*)::int as n ${fromListed(session, scope, filter, asOf, [])} group by 1, 2, 3`
  const rows = await session.rows<CountRecord>(
    sql`select parent.key as parent, counted.sync, counted.presence, counted.readiness, sum(counted.n)::int as n
      from ${isStored ? asKeptParents(parentsOf(scope)) : asParents(parentsOf(scope))}
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

/** The worst readiness of the resources that count for it (docs/wire.md §5). UNKNOWN: there are none. */
export async function sumOfReadiness(
  session: Session,
  scope: ResourceScope,
  asOf: Revision | null,
): Promise<Map<number, Readiness>> {
  const takesPart = (row: typeof r | typeof resourceTallies, sync: SQL): SQL =>
    sql`${row.showable} and ${sync} <> 'DELETED' and not (${sync} = 'NONE' and ${row.presence} = 'NOT_PRESENT')`
  const counted =
    asOf === null && !session.accessScope
      ? sql`select ${resourceTallies.readiness} from ${resourceTallies}
          where ${tallyOwner(scope, {})} and ${resourceTallies.n} > 0 and ${takesPart(resourceTallies, sql`${resourceTallies.sync}`)}`
      : sql`select ${r.readiness} ${fromListed(session, scope, {}, asOf, [takesPart(r, sql`coalesce(${r.sync}::text, 'NONE')`)])}`
  const rows = await session.rows<{ parent: number; readiness: Readiness }>(
    sql`select distinct parent.key as parent, counted.readiness from ${asParents(parentsOf(scope))}
      cross join lateral (${counted}) as counted`,
  )
  const byParent = Map.groupBy(rows, ({ parent }) => parent)
  const worst = (found: readonly { readiness: Readiness }[]): Readiness =>
    (['FAILED', 'PENDING', 'UNKNOWN', 'READY'] as const).find((one) =>
      found.some(({ readiness }) => readiness === one),
    ) ?? 'UNKNOWN'
  return new Map(parentsOf(scope).map((parent) => [parent, worst(byParent.get(parent) ?? [])]))
}

/** The resources of an instance that match, in pages of `size`. */
export async function* resourcePages(
  session: Session,
  instanceKey: number,
  filter: ResourceFilter,
  size: number,
): AsyncGenerator<readonly ResourceRow[]> {
  const scope: ResourceScope = { of: 'instance', keys: [instanceKey] }
  for (let after: string | null = null; ; ) {
    const request: PageRequest = { size, after, before: null, backward: false }
    const page: Page<ResourceRow> | undefined = (await pageResources(session, scope, filter, request, null)).get(
      instanceKey,
    )
    yield (page?.edges ?? []).map(({ node }) => node)
    after = page?.edges.at(-1)?.cursor ?? null
    if (!page?.hasNextPage || after === null) return
  }
}

type DetailRecord = RowOf<typeof resourceDetails>
type ResourceDetailRow = ReturnType<typeof toDetail>
const toDetail = rowMapper(resourceDetails, fieldsBut(resourceDetails, 'key'))

/** Only at present: details have no history. */
export async function detailsOf(session: Session, keys: readonly number[]): Promise<Map<number, ResourceDetailRow>> {
  const asked = (some: readonly number[]): SQL =>
    sql`from ${resourceDetails} where ${all([isAnyOf(resourceDetails.key, some, 'bigint'), ...seesDetails(session)])}`
  const texts = bytesOf(sql`${resourceDetails.detail}`, sql`${resourceDetails.appliedDetail}`)
  const sized = await session.rows<{ readonly key: number; readonly size: number }>(
    sql`select ${resourceDetails.key}, ${texts} as size ${asked(keys)}`,
  )
  const found = new Map<number, ResourceDetailRow>()
  for (const part of inParts(sized)) {
    const rows = await session.rows<DetailRecord>(sql`select ${resourceDetails}.* ${asked(part.map(({ key }) => key))}`)
    for (const row of rows) found.set(row.key, toDetail(row))
  }
  return found
}

/** A reader sees the details of resources that it sees. */
function seesDetails(reader: Session): SQL[] {
  if (!reader.accessScope) return []
  return [
    sql`${resourceDetails.key} in (select ${resources.key} from ${resources} where ${all(visiblePlace(reader, resources))})`,
  ]
}

/**
 * The resources of an instance in pages of `size`, for answers that are grouped by component and cluster: by component, then by cluster, then by
 * resource, each in the order in which they were first reported. No index has that order, so the keys are sorted once for all pages. They stay text:
 * nothing here reads them. To sort for each page, or to keep all rows, was rejected: an instance with 50,000 resources took 23 s, or its memory.
 */
export async function* listResources(
  session: Session,
  instanceKey: number,
  filter: ResourceFilter,
  size: number,
): AsyncGenerator<ListedResource[]> {
  const scope: ResourceScope = { of: 'instance', keys: [instanceKey] }
  // In one pass. A join with the places would read them all for each resource, where the planner expects one of each.
  const pages = await session.rows<{ keys: string }>(sql`with parent as (select ${instanceKey}::bigint as key),
    placed as (select ${r.key}, row_number() over (order by component_first, target_first, ${r.key}) - 1 as place
      from parent cross join (select ${resources}.*,
          min(${resources.key}) over (partition by ${resources.component}) as component_first,
          min(${resources.key}) over (partition by ${resources.component}, ${resources.targetKey}) as target_first
        from ${resources} where ${resources.instanceKey} = ${instanceKey}::bigint and ${resources.goneAt} is null) as ${r}
      where ${all(isListed(session, scope, filter, []))})
    select '{' || string_agg(key::text, ',' order by place) || '}' as keys from placed group by place / ${size}::int order by min(place)`)
  for (const { keys } of pages)
    yield await session.rows<ListedResource>(sql`select ${r.key}, ${r.component}, t.provider, t.name as target, t.connectivity, ${r.group} as "group",
        ${r.version}, ${r.kind}, ${r.name}, ${r.sync}, ${r.presence}, ${r.readiness}, null as detail
      from unnest(${keys}::bigint[]) with ordinality as listed(key, place)
      cross join lateral (select ${r}.* from ${resources} ${r} where ${r.key} = listed.key offset 0) as ${r}
      cross join lateral (select t.provider, t.name, t.connectivity from ${targets} t where t.key = ${r.targetKey} offset 0) as t
      order by listed.place`)
}

interface CountRecord {
  readonly parent: number
  readonly sync: SyncStatus | 'NONE'
  readonly presence: Presence
  readonly readiness: Readiness
  readonly n: number
}

function noCounts() {
  return {
    total: 0,
    sync: { PENDING: 0, APPLIED: 0, FAILED: 0, RETRYING: 0, DELETED: 0 },
    presence: { UNKNOWN: 0, NOT_PRESENT: 0, PRESENT: 0 },
    readiness: { READY: 0, PENDING: 0, FAILED: 0, UNKNOWN: 0 },
  }
}
