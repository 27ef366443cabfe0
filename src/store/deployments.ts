import { type SQL, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/pg-core'
import { type Deployment, deploymentStates, type Revision } from '../domain/deployment.ts'
import type { Session } from './database.ts'
import { type DeploymentFilter, d, matchesDeployment } from './deployment-filter.ts'
import { type DeploymentOrder, orders, selectByState } from './deployment-order.ts'
import { fromPresent, fromUnwound, isListed, parentsOf, type Scope } from './deployment-scope.ts'
import { type Page, type PageRequest, pageOf, type Select, sorted, within } from './page.ts'
import { all, isAnyOf, isStorable, listParameter, nothing } from './parameters.ts'
import { fromPast, openPast, type Past, present } from './past.ts'
import { type DeploymentRecord, toDeployment } from './rows.ts'
import { deployments, targets } from './schema.ts'
import { seesPlace } from './sight.ts'

export {
  type ConvergenceCounts,
  countConvergence,
  countDeployments,
  countsOfCounters,
  type StateCounts,
} from './deployment-counts.ts'
export { type DeploymentOrder, deploymentOrders } from './deployment-order.ts'
export type { Scope } from './deployment-scope.ts'

/** `asOf` null: as it is now; else as it was at that revision. */
export type DeploymentRow = Deployment & { readonly asOf: Revision | null }

/** Forgotten ones too; a key that names nothing (or nothing yet at `asOf`) is absent. */
export async function deploymentsByKey(
  session: Session,
  keys: readonly number[],
  asOf: Revision | null,
): Promise<Map<number, DeploymentRow>> {
  const past = asOf === null ? null : await openPast(session, asOf)
  const rows = past
    ? fromPast(past, isAnyOf(present.key, keys, 'bigint'))
    : sql`from ${deployments} ${d} where ${isAnyOf(d.key, keys, 'bigint')}`
  const records = await session.rows<DeploymentRecord>(sql`select ${d}.* ${rows} and ${all(seesPlace(session, d))}`)
  return new Map(records.map((record) => [record.key, toRow(record, past)]))
}

const runningOn = alias(targets, 'running_on')

/** By id, and by the device it runs on or its reporter if one is given; forgotten ones not. */
export async function findDeployments(
  session: Session,
  deploymentId: string,
  deviceId: string | null,
  asOf: Revision | null,
): Promise<DeploymentRow[]> {
  const past = asOf === null ? null : await openPast(session, asOf)
  const isNamed = (row: typeof d | typeof present): SQL =>
    isStorable(deploymentId) ? sql`${row.deploymentId} = ${deploymentId}` : nothing
  const rows = past ? fromPast(past, isNamed(present)) : sql`from ${deployments} ${d} where ${isNamed(d)}`
  const records = await session.rows<DeploymentRecord>(
    sql`select ${d}.* ${rows} and ${d.forgottenAt} is null and ${all([...seesPlace(session, d), ...(deviceId === null ? [] : [concerns(deviceId)])])} order by ${d.key}`,
  )
  return records.map((record) => toRow(record, past))
}

function concerns(device: string): SQL {
  if (!isStorable(device)) return nothing
  return sql`(${d.reporter} = ${device} or ${d.targetKey} in (
    select ${runningOn.key} from ${targets} ${runningOn}
    where ${runningOn.kind} = 'DEVICE' and ${runningOn.provider} = '' and ${runningOn.name} = ${device}))`
}

/** What findDeployments is asked for. */
export interface DeploymentName {
  readonly deploymentId: string
  readonly deviceId: string | null
}

/** As findDeployments in the present, for many at once: those of `names[n]` are at `n`. */
export async function findManyDeployments(
  session: Session,
  names: readonly DeploymentName[],
): Promise<Map<number, DeploymentRow[]>> {
  const [only] = names
  if (only && names.length === 1)
    return new Map([[0, await findDeployments(session, only.deploymentId, only.deviceId, null)]])
  const found = new Map<number, DeploymentRow[]>(names.map((_, index) => [index, []]))
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
            join ${deployments} ${d} on ${d.deploymentId} = asked.id where true`
        : sql`from unnest(${listParameter(ids, 'text')}, ${listParameter(devices, 'text')}, ${listParameter(indexes, 'bigint')}) as asked (id, device, index)
            left join ${targets} ${runningOn}
              on ${runningOn.kind} = 'DEVICE' and ${runningOn.provider} = '' and ${runningOn.name} = asked.device
            join ${deployments} ${d} on ${d.deploymentId} = asked.id
            where (${d.reporter} = asked.device or ${d.targetKey} = ${runningOn.key})`
    const records = await session.rows<DeploymentRecord & { readonly asked: number }>(
      sql`select asked.index as asked, ${d}.* ${rows} and ${d.forgottenAt} is null and ${all(seesPlace(session, d))} order by ${d.key}`,
    )
    for (const { asked: index, ...record } of records) found.get(index)?.push(toRow(record, null))
  }
  return found
}

export async function pageDeployments(
  session: Session,
  scope: Scope,
  filter: DeploymentFilter,
  order: DeploymentOrder,
  page: PageRequest,
  asOf: Revision | null,
): Promise<Map<number, Page<DeploymentRow>>> {
  const past = asOf === null ? null : await openPast(session, asOf)
  return pageOf<DeploymentRow, DeploymentRecord>(session, {
    parents: parentsOf(scope),
    order: orders[order],
    page,
    select: selectFor(session, scope, filter, order, past),
    toNode: (record) => toRow(record, past),
  })
}

function selectFor(
  reader: Session,
  scope: Scope,
  filter: DeploymentFilter,
  order: DeploymentOrder,
  past: Past | null,
): Select {
  if (!past) return selectPresent(reader, scope, filter, order, [])
  // Both halves are cut to a page, so that what has not changed since still comes by its index.
  const unchanged = selectPresent(reader, scope, filter, order, [sql`${d.revision} <= ${past.revision}::bigint`])
  const matches = all([matchesDeployment(filter), ...isListed(reader, scope, filter)])
  return (stretch) => sql`select ${d}.* from (
      (${unchanged(stretch)})
      union all (select ${d}.* ${fromUnwound(past, scope, [matches, ...within(orders[order], stretch)])})
    ) as ${d} ${sorted(orders[order], stretch)}`
}

function selectPresent(
  reader: Session,
  scope: Scope,
  filter: DeploymentFilter,
  order: DeploymentOrder,
  conditions: readonly SQL[],
): Select {
  const { states, ...others } = filter
  const listed = isListed(reader, scope, filter)
  if (scope.of === 'fleet' && order !== 'NAME' && (states || order === 'STATE'))
    return selectByState(order, states ?? deploymentStates, [matchesDeployment(others), ...listed, ...conditions])
  const matches = all([matchesDeployment(filter), ...listed])
  return (stretch) =>
    sql`select ${d}.* ${fromPresent(scope, [matches, ...conditions, ...within(orders[order], stretch)])}
      ${sorted(orders[order], stretch)}`
}

function toRow(record: DeploymentRecord, past: Past | null): DeploymentRow {
  return { ...toDeployment(record), asOf: past?.revision ?? null }
}
