import { type SQL, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/pg-core'
import type { DeviationKind } from '../../../domain/deviation.ts'
import { notInMaintenance } from '../../../domain/maintenance.ts'
import type { deviceFilter } from '../../../domain/nouns/device.ts'
import type { ConditionOf, FilterOf } from '../../../domain/nouns/filter.ts'
import { mentions } from '../../../domain/selectors/selector.ts'
import { type Connectivity, inService, ownSite, type Target, type TargetKind } from '../../../domain/target.ts'
import { isStorable } from '../../../domain/text.ts'
import type { Revision } from '../../../domain/values.ts'
import type { Session } from '../../database.ts'
import { type Conditions, conditionsIn } from '../../sql/conditions.ts'
import type { Page, PageRequest } from '../../sql/order.ts'
import { pageOf, sorted, within } from '../../sql/page.ts'
import { all, asParents, containsText, isAnyOf, listParameter, selectorCondition } from '../../sql/parameters.ts'
import { type TargetRecord, toTarget } from '../../sql/rows.ts'
import { changeLog, deployments, deviceDeviations, targets } from '../../tables/schema.ts'
import { sawOrigin, visiblePlace, visibleTarget } from '../access-scope.ts'
import { fromPresent, fromThen, isListed, type Scope } from '../deployment-scope.ts'
import { type DeploymentFilter, d, matchesDeployment } from '../filters/deployment-filter.ts'
import { readingOf } from '../filters/past-candidates.ts'
import { type SourceLimits, sourceLimits } from '../filters/source.ts'
import { parentRow, type TargetRow, targetConditions } from '../filters/target-filter.ts'
import { byName, type TargetOrder, targetOrder } from '../orders/target-order.ts'
import { openPast, type Past } from '../past.ts'
import { targetsAt } from './past-targets.ts'

const moved = alias(deployments, 'moved')

export type DeviceFilter = FilterOf<typeof deviceFilter>
export type DeviceCondition = ConditionOf<typeof deviceFilter.conditions>

/** Results are by the key of the parent, 0 for the fleet. */
export type DeviceScope =
  | { readonly of: 'fleet' }
  /** `rollout`: devices with a deployment of it. */
  | { readonly of: 'parent' | 'rollout'; readonly keys: readonly number[] }

/** `asOf`: the state at that revision, also of targets that then had a deployment which the reader sees. Of targets that it does not see now, it gets the name. */
export async function targetsByKey(
  session: Session,
  keys: readonly number[],
  asOf: Revision | null = null,
): Promise<Map<number, Target>> {
  const rows = await session.rows<TargetRecord & { readonly is_seen: boolean }>(
    sql`select ${targets}.*, ${all(visibleTarget(session, targets))} as is_seen from ${targetsAt(asOf)}
      where ${all([isAnyOf(targets.key, keys, 'bigint'), ...visibleTarget(session, targets, asOf === null ? 'now' : 'ever')])}`,
  )
  return new Map(rows.map((row) => [row.key, row.is_seen ? toTarget(row) : nameOnly(toTarget(row))]))
}

function nameOnly({ key, kind, provider, name, siteKey }: Target): Target {
  return {
    ...{
      key,
      kind,
      provider,
      name,
      siteKey,
      foldedName: null,
      displayName: null,
      labels: [],
      registered: false,
      expectedInterval: null,
    },
    ...{ parentKey: null, connectivity: 'UNKNOWN', lastHeardAt: null, connectionOrder: null },
    ...{ revokedAt: null, ...inService, ...notInMaintenance, maintenanceEndedAt: null },
    createdRevision: 0,
  }
}

export async function targetByName(
  session: Session,
  kind: TargetKind,
  provider: string,
  name: string,
  asOf: Revision | null = null,
  siteKey = ownSite,
): Promise<Target | null> {
  if (!isStorable(provider) || !isStorable(name)) return null
  const [row] = await session.rows<TargetRecord>(
    sql`select ${targets}.* from ${targetsAt(asOf)}
      where ${targets.kind} = ${kind}::target_kind and ${targets.provider} = ${provider} and ${targets.name} = ${name} and ${targets.siteKey} = ${siteKey} and ${all(visibleTarget(session, targets))}`,
  )
  return row ? toTarget(row) : null
}

/** By their indexes. */
export async function devicesNamed(session: Session, names: readonly string[]): Promise<Map<number, Target>> {
  const rows = await session.rows<TargetRecord>(
    sql`select ${targets}.* from ${targets}
      where ${targets.kind} = 'DEVICE' and ${targets.provider} = '' and ${isAnyOf(targets.name, names.filter(isStorable), 'text')} and ${targets.siteKey} = ${ownSite} and ${all(visibleTarget(session, targets))}`,
  )
  const byName = new Map(rows.map((row) => [row.name, toTarget(row)]))
  return new Map(
    names.flatMap((name, index) => {
      const found = byName.get(name)
      return found ? [[index, found] as const] : []
    }),
  )
}

export async function pageDevices(
  session: Session,
  scope: DeviceScope,
  filter: DeviceFilter,
  page: PageRequest,
  orderBy: TargetOrder = byName,
  asOf: Revision | null = null,
  limits: SourceLimits = sourceLimits,
): Promise<Map<number, Page<Target>>> {
  const order = targetOrder('DEVICE', orderBy)
  const past = await pastOf(session, asOf, filter, limits)
  return pageOf<Target, TargetRecord>(session, {
    parents: parentsOf(scope),
    order,
    page,
    select: (stretch) =>
      sql`select ${targets}.* ${fromDevices(session, scope, filter, past, within(order, stretch))} ${sorted(order, stretch)}`,
    toNode: toTarget,
  })
}

/** Zero-filled. */
export async function countDevices(
  session: Session,
  scope: DeviceScope,
  filter: DeviceFilter,
  asOf: Revision | null = null,
  limits: SourceLimits = sourceLimits,
): Promise<Map<number, number>> {
  const parents = parentsOf(scope)
  const past = await pastOf(session, asOf, filter, limits)
  const rows = await session.rows<{ parent: number; n: number }>(
    sql`select parent.key as parent, counted.n from ${asParents(parents)}
      cross join lateral (select count(*)::int as n ${fromDevices(session, scope, filter, past, [])}) as counted`,
  )
  return new Map(rows.map(({ parent, n }) => [parent, n]))
}

/** A connectivity without devices is absent. Of the fleet at present, without a filter, one pass over an index. */
export async function countByConnectivity(
  session: Session,
  scope: DeviceScope,
  filter: DeviceFilter,
  asOf: Revision | null = null,
  limits: SourceLimits = sourceLimits,
): Promise<Map<number, Readonly<Partial<Record<Connectivity, number>>>>> {
  const past = await pastOf(session, asOf, filter, limits)
  const rows = await session.rows<{ parent: number; connectivity: Connectivity; n: number }>(
    sql`select parent.key as parent, counted.connectivity, counted.n from ${asParents(parentsOf(scope))}
      cross join lateral (select ${targets.connectivity}, count(*)::int as n ${fromDevices(session, scope, filter, past, [])} group by 1) as counted`,
  )
  const byParent = Map.groupBy(rows, ({ parent }) => parent)
  return new Map(
    [...byParent].map(([parent, counts]) => [
      parent,
      Object.fromEntries(counts.map(({ connectivity, n }) => [connectivity, n])),
    ]),
  )
}

function parentsOf(scope: DeviceScope): readonly number[] {
  return scope.of === 'fleet' ? [0] : [...new Set(scope.keys)]
}

/** The past of a list or a count of devices. `failed`: the same, to find the deployments that were FAILED. Null: not asked for. */
interface DevicesThen {
  readonly past: Past
  readonly failed: Past | null
}

async function pastOf(
  session: Session,
  asOf: Revision | null,
  filter: DeviceFilter,
  limits: SourceLimits,
): Promise<DevicesThen | null> {
  if (asOf === null) return null
  const past = await openPast(session, asOf)
  const isAsked = mentions<DeviceCondition>(filter, ['failing'])
  return { past, failed: isAsked ? await readingOf(session, past, { of: 'fleet' }, hasFailed, limits) : null }
}

const hasFailed: DeploymentFilter = { states: ['FAILED'] }

/** In the past, a reader with an access scope gets the targets at that time that it sees now. */
export function fromDevices(
  reader: Session,
  scope: DeviceScope,
  filter: DeviceFilter,
  then: DevicesThen | null,
  bounds: readonly SQL[],
): SQL {
  const past = then?.past ?? null
  const isOwn = {
    fleet: () => [],
    parent: () => [sql`${targets.parentKey} = parent.key`],
    rollout: () => [hasDeployment(reader, past, { of: 'rollout', keys: parentsOf(scope) }, {})],
  }[scope.of]()
  const isDevice = sql`${targets.kind} = 'DEVICE' and ${targets.provider} = ''`
  return sql`from ${targetsAt(past?.revision ?? null)}
    where ${all([isDevice, ...isOwn, ...visibleTarget(reader, targets), ...matchesDevice(reader, filter, then), ...bounds])}`
}

function matchesDevice(reader: Session, { retired = false, ...filter }: DeviceFilter, then: DevicesThen | null): SQL[] {
  return conditionsIn(conditionsFor(reader, then), { retired, ...filter })
}

function conditionsFor(reader: Session, then: DevicesThen | null): Conditions<DeviceFilter> {
  const past = then?.past ?? null
  const has = (filter: DeploymentFilter, narrowed = past): SQL =>
    hasDeployment(reader, narrowed, { of: 'fleet' }, filter)
  const { clusters: _, ...onTarget } = targetConditions(
    targets as unknown as TargetRow,
    visibleTarget(reader, parentRow),
  )
  const conditions: Conditions<DeviceFilter> = {
    ...onTarget,
    retired: (wanted) => (wanted ? sql`${targets.retiredAt} is not null` : sql`${targets.retiredAt} is null`),
    registered: (wanted) => sql`${targets.registered} = ${wanted}::boolean`,
    deviations: hasDeviated,
    text: (text) => containsText([targets.name, targets.displayName], text),
    rolloutKeys: (rolloutKeys) => has({ rolloutKeys }),
    failing: (wanted) => sql`(${has(hasFailed, then?.failed ?? past)}) = ${wanted}::boolean`,
    where: (selector) => selectorCondition<DeviceCondition>(selector, (leaf) => conditionsIn(conditions, leaf)),
  }
  return conditions
}

/** It has a listed deployment of the scope, at that revision. */
function hasDeployment(reader: Session, past: Past | null, scope: Scope, filter: DeploymentFilter): SQL {
  const conditions = [matchesDeployment(filter), ...isListed(reader, scope, filter)]
  if (past) return sql`${targets.key} in (select ${d.targetKey} ${fromThen(past, scope, filter, conditions)})`
  return sql`exists (select 1 ${fromPresent(scope, [sql`${d.targetKey} = ${targets.key}`, ...conditions])})`
}

function hasDeviated(kinds: readonly DeviationKind[]): SQL {
  return sql`exists (select 1 from ${deviceDeviations}
    where ${deviceDeviations.targetKey} = ${targets.key} and ${isAnyOf(deviceDeviations.kind, kinds, 'text')})`
}

/** Those of the targets of which an own value, or a deployment that the reader sees, has changed after a revision. */
export async function withChangedDeployments(
  session: Session,
  keys: readonly number[],
  after: Revision,
): Promise<ReadonlySet<number>> {
  if (keys.length === 0) return new Set()
  const since = sql`${after}::bigint`
  const rows = await session.rows<{ readonly key: number }>(
    sql`select listed.key from unnest(${listParameter(keys, 'bigint')}) as listed(key) where exists (
        select 1 from ${changeLog} where ${changeLog.targetKey} = listed.key and ${changeLog.deploymentKey} is null
          and ${changeLog.firstRevision} > ${since} offset 0)
      or exists (select 1 from ${deployments} ${moved} where ${moved.targetKey} = listed.key and ${moved.revision} > ${since}
          and ${all(visiblePlace(session, moved))} offset 0)
      or exists (select 1 from ${changeLog} where ${changeLog.fromTargetKey} = listed.key
          and ${changeLog.firstRevision} > ${since} and ${all(sawOrigin(session, changeLog))} offset 0)`,
  )
  return new Set(rows.map(({ key }) => key))
}
