import { type SQL, sql } from 'drizzle-orm'
import type { DeviationKind } from '../../domain/deviation.ts'
import type { Selector } from '../../domain/selectors/selector.ts'
import { type Connectivity, inService, type Target, type TargetKind } from '../../domain/target.ts'
import { isStorable } from '../../domain/text.ts'
import type { Revision } from '../../domain/values.ts'
import type { Session } from '../database.ts'
import type { Page, PageRequest } from '../sql/order.ts'
import { pageOf, sorted, within } from '../sql/page.ts'
import { all, asParents, containsText, isAnyOf, selectorCondition } from '../sql/parameters.ts'
import { type TargetRecord, toTarget } from '../sql/rows.ts'
import { deployments, deviceDeviations, targets } from '../tables/schema.ts'
import { visiblePlace, visibleTarget } from './access-scope.ts'
import { presentFields } from './deployment-filter.ts'
import { parentRow, type TargetCondition, type TargetRow, targetConditions } from './filters/target-filter.ts'
import { byName, type TargetOrder, targetOrder } from './orders/target-order.ts'

/** Any value within a field, and all fields together. An absent field matches everything, an empty list nothing. */
export interface DeviceFilter extends DeviceCondition {
  /** True: only retired devices. Absent or false: only devices in service. */
  readonly retired?: boolean
  readonly where?: Selector<DeviceCondition>
}

export interface DeviceCondition extends Omit<TargetCondition, 'clusters'> {
  readonly registered?: boolean
  /** Kinds of deviations that its reports ever had. */
  readonly deviations?: readonly DeviationKind[]
  /** Part of the deviceId or name. Case is ignored. */
  readonly text?: string
  /** It has a deployment of one of these rollouts. */
  readonly rolloutKeys?: readonly number[]
  /** It has a deployment that failed. */
  readonly failing?: boolean
}

/** Results are by the key of the parent, 0 for the fleet. */
export type DeviceScope = { readonly of: 'fleet' } | { readonly of: 'parent'; readonly keys: readonly number[] }

/** `asOf`: also targets that had a deployment at that time which the reader sees. Of targets that it does not see now, it gets the name. */
export async function targetsByKey(
  session: Session,
  keys: readonly number[],
  asOf: Revision | null = null,
): Promise<Map<number, Target>> {
  const rows = await session.rows<TargetRecord & { readonly is_seen: boolean }>(
    sql`select ${targets}.*, ${all(visibleTarget(session, targets))} as is_seen from ${targets}
      where ${all([isAnyOf(targets.key, keys, 'bigint'), ...visibleTarget(session, targets, asOf === null ? 'now' : 'ever')])}`,
  )
  return new Map(rows.map((row) => [row.key, row.is_seen ? toTarget(row) : nameOnly(toTarget(row))]))
}

function nameOnly({ key, kind, provider, name }: Target): Target {
  return {
    ...{ key, kind, provider, name, displayName: null, labels: [], registered: false, expectedInterval: null },
    ...{ parentKey: null, connectivity: 'UNKNOWN', lastHeardAt: null, revokedAt: null, ...inService },
  }
}

export async function targetByName(
  session: Session,
  kind: TargetKind,
  provider: string,
  name: string,
): Promise<Target | null> {
  if (!isStorable(provider) || !isStorable(name)) return null
  const [row] = await session.rows<TargetRecord>(
    sql`select ${targets}.* from ${targets}
      where ${targets.kind} = ${kind}::target_kind and ${targets.provider} = ${provider} and ${targets.name} = ${name} and ${all(visibleTarget(session, targets))}`,
  )
  return row ? toTarget(row) : null
}

export function pageDevices(
  session: Session,
  scope: DeviceScope,
  filter: DeviceFilter,
  page: PageRequest,
  orderBy: TargetOrder = byName,
): Promise<Map<number, Page<Target>>> {
  const order = targetOrder('DEVICE', orderBy)
  return pageOf<Target, TargetRecord>(session, {
    parents: parentsOf(scope),
    order,
    page,
    select: (stretch) =>
      sql`select ${targets}.* ${fromDevices(session, scope, filter, within(order, stretch))} ${sorted(order, stretch)}`,
    toNode: toTarget,
  })
}

/** Zero-filled. */
export async function countDevices(
  session: Session,
  scope: DeviceScope,
  filter: DeviceFilter,
): Promise<Map<number, number>> {
  const parents = parentsOf(scope)
  const rows = await session.rows<{ parent: number; n: number }>(
    sql`select parent.key as parent, counted.n from ${asParents(parents)}
      cross join lateral (select count(*)::int as n ${fromDevices(session, scope, filter, [])}) as counted`,
  )
  return new Map(rows.map(({ parent, n }) => [parent, n]))
}

/** A connectivity without devices is absent. Without a filter, one pass over an index. */
export async function countByConnectivity(
  session: Session,
  filter: DeviceFilter,
): Promise<Readonly<Partial<Record<Connectivity, number>>>> {
  const rows = await session.rows<{ connectivity: Connectivity; n: number }>(
    sql`select ${targets.connectivity}, count(*)::int as n ${fromDevices(session, { of: 'fleet' }, filter, [])} group by 1`,
  )
  return Object.fromEntries(rows.map(({ connectivity, n }) => [connectivity, n]))
}

function parentsOf(scope: DeviceScope): readonly number[] {
  return scope.of === 'fleet' ? [0] : [...new Set(scope.keys)]
}

function fromDevices(reader: Session, scope: DeviceScope, filter: DeviceFilter, bounds: readonly SQL[]): SQL {
  const isChild = scope.of === 'parent' ? [sql`${targets.parentKey} = parent.key`] : []
  const isDevice = sql`${targets.kind} = 'DEVICE' and ${targets.provider} = ''`
  return sql`from ${targets} where ${all([isDevice, ...isChild, ...visibleTarget(reader, targets), ...matchesDevice(reader, filter), ...bounds])}`
}

function matchesDevice(reader: Session, { retired, where, ...flat }: DeviceFilter): SQL[] {
  return [
    retired ? sql`${targets.retiredAt} is not null` : sql`${targets.retiredAt} is null`,
    ...conditionsOf(reader, flat),
    ...(where ? [selectorCondition<DeviceCondition>(where, (leaf) => conditionsOf(reader, leaf))] : []),
  ]
}

function conditionsOf(reader: Session, condition: DeviceCondition): SQL[] {
  const { registered, deviations, text, rolloutKeys, failing, ...onTarget } = condition
  const known = targetConditions(targets as unknown as TargetRow, visibleTarget(reader, parentRow))
  const { state, rolloutKey } = deployments
  return [
    ...presentFields(onTarget).map((field) => (known[field] as (value: unknown) => SQL)(onTarget[field])),
    ...(typeof registered === 'boolean' ? [sql`${targets.registered} = ${registered}::boolean`] : []),
    ...(deviations ? [hasDeviated(deviations)] : []),
    ...(typeof text === 'string' ? [containsText([targets.name, targets.displayName], text)] : []),
    ...(rolloutKeys ? [hasDeployment(reader, isAnyOf(rolloutKey, rolloutKeys, 'bigint'))] : []),
    ...(failing === undefined ? [] : [sql`${hasDeployment(reader, sql`${state} = 'FAILED'`)} = ${failing}::boolean`]),
  ]
}

function hasDeployment(reader: Session, condition: SQL): SQL {
  const { targetKey, forgottenAt, isCurrent } = deployments
  return sql`exists (select 1 from ${deployments} where ${targetKey} = ${targets.key} and ${forgottenAt} is null and ${isCurrent}
    and ${all([condition, ...visiblePlace(reader, deployments)])})`
}

function hasDeviated(kinds: readonly DeviationKind[]): SQL {
  return sql`exists (select 1 from ${deviceDeviations}
    where ${deviceDeviations.targetKey} = ${targets.key} and ${isAnyOf(deviceDeviations.kind, kinds, 'text')})`
}
