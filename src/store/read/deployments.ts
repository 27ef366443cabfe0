import { type SQL, type SQLWrapper, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/pg-core'
import type { Component } from '../../domain/deployment.ts'
import { isStorable } from '../../domain/text.ts'
import type { Revision } from '../../domain/values.ts'
import type { Session } from '../database.ts'
import { presentFields } from '../sql/conditions.ts'
import type { Page, PageRequest } from '../sql/order.ts'
import { pageOf, stretchOf } from '../sql/page.ts'
import { all, asParents, fixed, isAnyOf, listParameter } from '../sql/parameters.ts'
import { bytesOf, inParts } from '../sql/parts.ts'
import { type ShownDeployment, type ShownRecord, shownColumns, toShown } from '../sql/rows.ts'
import { changeLog, deploymentNames, deployments, targets } from '../tables/schema.ts'
import { visiblePlace } from './access-scope.ts'
import { devicesNamed, leaversOf, parentsOf, type Scope } from './deployment-scope.ts'
import { type DeploymentFilter, d, filterAt } from './filters/deployment-filter.ts'
import { sourceOfPage, tooRare } from './filters/deployment-source.ts'
import { type SourceLimits, sourceLimits } from './filters/source.ts'
import { type DeploymentOrder, orders } from './orders/deployment-order.ts'
import { openPast, type Past } from './past.ts'
import { fromPast, present } from './past-rows.ts'
import { inPast, inPresent } from './walks/page-attempts.ts'
import type { DeploymentList, Walk } from './walks/walk.ts'

/** `asOf`: the revision that the row reflects. Null: the present. */
export type DeploymentRow = ShownDeployment & { readonly asOf: Revision | null }

const shown = shownColumns('d')
const shownOfPage = shownColumns('page_row')

/** Includes forgotten ones. Keys without a row (at `asOf`) are absent. */
export async function deploymentsByKey(
  session: Session,
  keys: readonly number[],
  asOf: Revision | null,
): Promise<Map<number, DeploymentRow>> {
  const past = asOf === null ? null : await openPast(session, asOf)
  const rows = past
    ? fromPast(past, isAnyOf(present.key, keys, 'bigint'))
    : sql`from ${deployments} ${d} where ${isAnyOf(d.key, keys, 'bigint')}`
  const records = await session.rows<ShownRecord>(sql`select ${shown} ${rows} and ${all(visiblePlace(session, d))}`)
  return new Map(records.map((record) => [record.key, toRow(record, past)]))
}

/** The last revision of the first entry of each deployment after a revision, in the same commit. Keys without such an entry are absent. */
export async function nextEntries(
  session: Session,
  keys: readonly number[],
  after: Revision,
): Promise<Map<number, Revision>> {
  const rows = await session.rows<{ readonly key: number; readonly revision: Revision }>(
    sql`select asked.key, entry.revision from unnest(${listParameter(keys, 'bigint')}) as asked (key) cross join lateral (
      select ${changeLog.lastRevision} as revision, ${changeLog.at} from ${changeLog}
      where ${changeLog.deploymentKey} = asked.key and ${changeLog.resourceKey} is null and ${changeLog.firstRevision} > ${after}::bigint
      order by ${changeLog.firstRevision} limit 1) as entry
    where entry.at = (select ${changeLog.at} from ${changeLog} where ${changeLog.firstRevision} <= ${after}::bigint order by ${changeLog.firstRevision} desc limit 1)`,
  )
  return new Map(rows.map(({ key, revision }) => [key, revision]))
}

/** Large components, which the rows lack. One statement reads those of several rows. */
export async function componentsByKey(
  session: Session,
  keys: readonly number[],
  asOf: Revision | null,
): Promise<Map<number, readonly Component[]>> {
  const past = asOf === null ? null : await openPast(session, asOf)
  const rowsOf = (some: readonly number[]): SQL =>
    past
      ? fromPast(past, isAnyOf(present.key, some, 'bigint'))
      : sql`from ${deployments} ${d} where ${isAnyOf(d.key, some, 'bigint')}`
  const sized = await session.rows<SizedKey>(
    sql`select ${d.key}, ${bytesOf(sql`${d.components}`)} as size ${rowsOf(keys)} and ${all(visiblePlace(session, d))}`,
  )
  const found = new Map<number, readonly Component[]>()
  for (const part of inParts(sized)) {
    const records = await session.rows<{ readonly key: number; readonly components: readonly Component[] }>(
      sql`select ${d.key}, ${d.components} ${rowsOf(part.map(({ key }) => key))}`,
    )
    for (const { key, components } of records) found.set(key, components)
  }
  return found
}

interface SizedKey {
  readonly key: number
  readonly size: number
}

/** The keys in parts of bounded bytes, for a reader that takes the rows of a part with all their texts. */
export async function deploymentParts(session: Session, keys: readonly number[]): Promise<(readonly number[])[]> {
  const sized = await session.rows<SizedKey>(
    sql`select ${d.key}, ${bytesOf(sql`${d.components}`, sql`${d.error}`)} as size from ${deployments} ${d}
      where ${isAnyOf(d.key, keys, 'bigint')}`,
  )
  const sizes = new Map(sized.map(({ key, size }) => [key, size]))
  const ordered = keys.map((key) => ({ key, size: sizes.get(key) ?? 0 }))
  return [...inParts(ordered)].map((part) => part.map(({ key }) => key))
}

const runningOn = alias(targets, 'running_on')

/** Deployments with one id that are read at most, and one more: a rollout may give the same id to all devices of the fleet. */
export const maxNamesakes = 100

/** By id, and by its target or its reporter if a device is given. Excludes forgotten ones. At most one more than maxNamesakes. */
export async function findDeployments(
  session: Session,
  deploymentId: string,
  deviceId: string | null,
  asOf: Revision | null,
): Promise<DeploymentRow[]> {
  if (asOf === null) return (await findManyDeployments(session, [{ deploymentId, deviceId }])).get(0) ?? []
  if (!isStorable(deploymentId) || !isStorable(deviceId ?? '')) return []
  const past = await openPast(session, asOf)
  const mayBe =
    deviceId === null
      ? sql`${present.key} in (select ${n.deploymentKey} from ${deploymentNames} ${n} where ${n.deploymentId} = ${deploymentId})`
      : sql`${present.key} = any(array(${keysOfPair(deploymentId, deviceId, past)}))`
  const matches = [...visiblePlace(session, d), ...(deviceId === null ? [] : [isOfPair(deploymentId, deviceId)])]
  const records = await session.rows<ShownRecord>(
    sql`select ${shown} ${fromPast(past, mayBe)} and ${isThere} and ${all(matches)} limit ${mostFound}`,
  )
  return records.map((record) => toRow(record, past)).sort((a, b) => a.key - b.key)
}

const onDevice = (column: SQLWrapper, device: string): SQL => sql`${column} = any(array(${devicesNamed([device])}))`

/** Those of the device at present, and all that have left it since: thousands of devices may share the id, and each would be unwound. */
function keysOfPair(deploymentId: string, device: string, past: Past): SQL {
  return sql`select ${d.key} from ${asPairs([deploymentId], [device], [0])} ${ofPair}
    union all ${leaversOf(past, onDevice(changeLog.fromTargetKey, device))}`
}

function isOfPair(deploymentId: string, device: string): SQL {
  return sql`${d.deploymentId} = ${deploymentId} and (${d.reporter} = ${device} or ${onDevice(d.targetKey, device)})`
}

const isDevice = sql`${runningOn.kind} = 'DEVICE' and ${runningOn.provider} = ''`

/** The arguments of findDeployments. */
export interface DeploymentName {
  readonly deploymentId: string
  readonly deviceId: string | null
}

const mostFound = sql.raw(String(maxNamesakes + 1))
const isThere = fixed(sql`${d.forgottenAt} is null`)
const n = alias(deploymentNames, 'n')
const isReported = sql`${n.deploymentId} = asked.id and ${n.reporter} = asked.device`

const place = sql`(${n.deploymentId}, ${n.deploymentKey})`
/**
 * Lookups for `asked`, which has ids, or pairs of an id and a device. The row comparisons force the planner to use the index of both columns: where most
 * deployments share an id, it expects that each id has many, and would read the table for the first of them.
 */
const ofId = (isVisible: SQL): SQL => sql`cross join lateral (
    select ${d}.* from (
      select ${n.deploymentKey} from ${deploymentNames} ${n}
      where ${place} > (asked.id, 0) and ${place} < (asked.id, ${sql.raw(String(Number.MAX_SAFE_INTEGER))}::bigint)
      order by ${n.deploymentId}, ${n.deploymentKey} limit (select null::bigint)) as ${n}
    cross join lateral (select ${d}.* from ${deployments} ${d} where ${d.key} = ${n.deploymentKey} and ${isThere} and ${isVisible} offset 0) as ${d}
    limit ${mostFound}) as ${d}`
const ofPair = fixed(sql`cross join lateral (
    (select ${n.deploymentKey} from ${deploymentNames} ${n} where ${isReported} and not ${n.isRemote} offset 0)
    union all
    (select ${n.deploymentKey} from ${deploymentNames} ${n} where ${isReported} and ${n.isRemote} offset 0)
    union all
    (select ${n.deploymentKey} from ${targets} ${runningOn} join ${deploymentNames} ${n} on ${n.targetKey} = ${runningOn.key}
      where ${isDevice} and ${runningOn.name} = asked.device and ${n.deploymentId} = asked.id and ${n.reporter} <> asked.device offset 0)
  ) as ${n} cross join lateral (select ${d}.* from ${deployments} ${d} where ${d.key} = ${n.deploymentKey} offset 0) as ${d}`)
const byKey = fixed(sql`order by ${d.key}`)

/**
 * Like findDeployments at present, for many names at once. The result has those of `names[n]` at `n`. Thousands of devices may share an
 * id, so each pair is looked up in an index of both columns; each kind of reporter has one. With a plain join, the planner reads the
 * whole table for every hundred pairs, including the dead rows that each change leaves.
 */
export async function findManyDeployments(
  session: Session,
  names: readonly DeploymentName[],
): Promise<Map<number, DeploymentRow[]>> {
  const found = new Map<number, DeploymentRow[]>(names.map((_, index) => [index, []]))
  const isVisible = all(visiblePlace(session, d))
  const asked = names
    .map((name, index) => ({ ...name, index }))
    .filter(({ deploymentId, deviceId }) => isStorable(deploymentId) && isStorable(deviceId ?? ''))
  for (const some of [
    asked.filter(({ deviceId }) => deviceId === null),
    asked.filter(({ deviceId }) => deviceId !== null),
  ]) {
    if (some.length === 0) continue
    const ids = some.map(({ deploymentId }) => deploymentId)
    const devices = some.flatMap(({ deviceId }) => deviceId ?? [])
    const indexes = some.map(({ index }) => index)
    const rows =
      devices.length === 0
        ? sql`from unnest(${listParameter(ids, 'text')}, ${listParameter(indexes, 'bigint')}) as asked (id, index)
            ${ofId(isVisible)}`
        : sql`from ${asPairs(ids, devices, indexes)} ${ofPair}`
    const records = await session.rows<ShownRecord & { readonly asked: number }>(
      sql`select asked.index as asked, ${shown} ${rows} where ${isThere} and ${isVisible} ${byKey}`,
    )
    for (const { asked: index, ...record } of records) found.get(index)?.push(toRow(record, null))
  }
  return found
}

/** A single pair becomes a single row: the planner assumes ten rows for any list, and would make a new plan each time. */
function asPairs(ids: readonly string[], devices: readonly string[], indexes: readonly number[]): SQL {
  return ids.length === 1
    ? sql`(select ${ids[0]}::text as id, ${devices[0]}::text as device, ${indexes[0]}::bigint as index) as asked`
    : sql`unnest(${listParameter(ids, 'text')}, ${listParameter(devices, 'text')}, ${listParameter(indexes, 'bigint')}) as asked (id, device, index)`
}

/** Throws BAD_USER_INPUT if it would have to read too many rows of the present. */
export async function pageDeployments(
  session: Session,
  scope: Scope,
  filter: DeploymentFilter,
  order: DeploymentOrder,
  page: PageRequest,
  asOf: Revision | null,
  limits: SourceLimits = sourceLimits,
): Promise<Map<number, Page<DeploymentRow>>> {
  const past = asOf === null ? null : await openPast(session, asOf)
  const list = { scope, filter: filterAt(filter, asOf), order }
  const source = await sourceOfPage(session, list, limits)
  const attempts = past ? await inPast(session, list, past, source, limits) : [inPresent(session, list, source)]
  const isAll = presentFields(filter).length === 0 && !session.accessScope
  for (const { walk, mayBeShort, isOrdered } of attempts) {
    const pages = await pageOf<DeploymentRow, ShownRecord>(session, {
      parents: parentsOf(scope),
      order: orders[order],
      page,
      isWhole: isAll && isOrdered,
      columns: shownOfPage,
      select: walk.select,
      toNode: (record) => toRow(record, past),
    })
    if (!mayBeShort || !(await isShort(session, walk, list, page, pages))) return pages
  }
  throw tooRare(source.of === 'walk' ? source.walked : limits.walked)
}

async function isShort(
  session: Session,
  walk: Walk,
  { scope, order }: DeploymentList,
  page: PageRequest,
  pages: ReadonlyMap<number, Page<DeploymentRow>>,
): Promise<boolean> {
  if (page.size === 0) return false
  const [parent = 0] = parentsOf(scope)
  const found = pages.get(parent)
  const hasMore = page.backward ? found?.hasPreviousPage : found?.hasNextPage
  const last = hasMore && found?.edges.length === page.size ? found.edges.at(page.backward ? 0 : -1)?.node : null
  const [row] = await session.rows<{ is_short: boolean }>(
    sql`select ${walk.isShort(stretchOf(orders[order], page), last ?? null)} as is_short from ${asParents([parent])}`,
  )
  return row?.is_short ?? false
}

function toRow(record: ShownRecord, past: Past | null): DeploymentRow {
  return { ...toShown(record), asOf: past?.revision ?? null }
}
