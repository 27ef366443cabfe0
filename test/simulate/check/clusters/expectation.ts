/**
 * What the server must make of an orchestrator's facts. This is a second implementation of the documented rules
 * (docs/orchestrators.md), so that an error in the server's own rules shows as a difference.
 */

import type { ObjectList, SimulatedObject } from '../../../../src/apps/simulate/clusters/objects.ts'
import type { App, PlannedResource } from '../../../../src/apps/simulate/clusters/plan.ts'
import type { AppliedItem } from '../../../../src/apps/simulate/clusters/script.ts'
import type { Verdict } from '../../../../src/apps/simulate/records.ts'
import type { InstanceStatus } from '../../../../src/domain/orchestration/instance.ts'
import type { Presence, SyncStatus } from '../../../../src/domain/orchestration/resource.ts'
import type { DeploymentState, Readiness } from '../../../../src/domain/values.ts'

export interface ExpectedResource {
  readonly app: App
  /** Null: only the cluster reported it. */
  readonly sync: SyncStatus | null
  readonly presence: Presence
  readonly readiness: Readiness
  readonly showable: boolean
}

export interface ExpectedInstance {
  readonly instanceId: string
  readonly context: string
  readonly revisionNumber: number
  goal: 'NOTHING' | 'INSTANTIATE' | 'TERMINATE' | 'GIVE_WAY'
  status: InstanceStatus
  /** A resource was reported FAILED since the goal was set. */
  hasFailed: boolean
  /** By cluster, then by resource. */
  readonly resources: Map<string, Map<string, ExpectedResource>>
  /** The newest accepted version of each custom resource. */
  readonly versions: Map<string, number>
}

/** Oldest first. */
export type ExpectedInstances = ExpectedInstance[]

export function takeAction(instances: ExpectedInstances, state: string, instanceId: string | null): void {
  const last = instances.at(-1)
  const known = instances.find((instance) => instance.instanceId === instanceId)
  const isUpdate = state === 'Updated'
  if (instanceId !== null && !known)
    instances.push({
      instanceId,
      context: isUpdate && last ? last.context : instanceId,
      revisionNumber: isUpdate && last ? last.revisionNumber + 1 : 1,
      goal: 'NOTHING',
      status: 'CREATED',
      hasFailed: false,
      resources: new Map(),
      versions: new Map(),
    })
  if (isUpdate && last) last.goal = 'GIVE_WAY'
  const instance = instances.find((one) => one.instanceId === instanceId)
  const goal = state === 'Instantiated' ? 'INSTANTIATE' : state === 'Terminated' ? 'TERMINATE' : null
  if (instance && goal) {
    if (instance.goal !== 'NOTHING' && instance.goal !== goal) instance.hasFailed = false
    instance.goal = goal
  }
  follow(instances)
}

/** The verdict on each. */
export function takeItems(
  instances: ExpectedInstances,
  instanceId: string,
  items: readonly AppliedItem[],
): readonly Verdict[] {
  const instance = instances.find((one) => one.instanceId === instanceId)
  if (!instance) throw new Error(`instance ${instanceId} was never created`)
  const verdicts = items.map(({ app, cluster, resource, sync }): Verdict => {
    const { showable } = resource
    const known = resourcesOn(instance, cluster).get(idOf(app, resource))
    const wasSeen = instance.versions.has(placeOf(cluster, app))
    const presence = known && known.presence !== 'UNKNOWN' ? known.presence : absence(wasSeen && showable)
    const next = assess({ app, sync, presence, showable }, known?.presence === 'PRESENT' ? known.readiness : 'UNKNOWN')
    resourcesOn(instance, cluster).set(idOf(app, resource), next)
    return JSON.stringify(known) === JSON.stringify(next) ? 'UNCHANGED' : 'APPLIED'
  })
  instance.hasFailed ||= items.some(({ sync }) => sync === 'FAILED')
  follow(instances)
  return verdicts
}

/** More than one where the text of the reason may differ. */
export function takeObjectList(instances: ExpectedInstances, list: ObjectList): readonly Verdict[] {
  const { context, cluster, app, version, objects } = list
  const place = placeOf(cluster, app)
  const concerned = instances.filter((one) => one.context === context)
  const takers = concerned.filter((instance) => version >= (instance.versions.get(place) ?? 0))
  if (takers.length === 0) return ['STALE']
  const isRepeat = takers.every((instance) => instance.versions.get(place) === version)
  let isChange = false
  for (const instance of takers) {
    const before = resourcesOn(instance, cluster)
    const after = showOn(before, app, objects)
    isChange ||= contentOf(before) !== contentOf(after)
    instance.resources.set(cluster, after)
    instance.versions.set(place, version)
  }
  follow(instances)
  if (isChange) return ['APPLIED']
  return isRepeat ? ['UNCHANGED'] : ['APPLIED', 'UNCHANGED']
}

function showOn(
  known: ReadonlyMap<string, ExpectedResource>,
  app: App,
  objects: readonly SimulatedObject[],
): Map<string, ExpectedResource> {
  const after = new Map<string, ExpectedResource>()
  for (const [id, resource] of known) {
    if (resource.app !== app) after.set(id, resource)
    // A resource that only the cluster reported has disappeared.
    else if (resource.sync !== null)
      after.set(id, assess({ ...resource, presence: absence(resource.showable) }, 'UNKNOWN'))
  }
  for (const { readiness, ...object } of objects) {
    const sync = known.get(idOf(app, object))?.sync ?? null
    after.set(idOf(app, object), { app, sync, presence: 'PRESENT', readiness, showable: true })
  }
  return after
}

function absence(isKnown: boolean): Presence {
  return isKnown ? 'NOT_PRESENT' : 'UNKNOWN'
}

function assess(resource: Omit<ExpectedResource, 'readiness'>, shown: Readiness): ExpectedResource {
  const { app, sync, presence, showable } = resource
  const isMissing = presence === 'NOT_PRESENT' && sync !== 'DELETED'
  const readiness = presence === 'PRESENT' ? shown : isMissing ? 'PENDING' : 'UNKNOWN'
  return { app, sync, presence, readiness, showable }
}

/** Newest first: an instance's status affects the instance that it updates. */
function follow(instances: ExpectedInstances): void {
  for (const [index, instance] of [...instances.entries()].toReversed())
    instance.status = statusOf(instance, instances[index + 1] ?? null)
}

function statusOf(instance: ExpectedInstance, successor: ExpectedInstance | null): InstanceStatus {
  const all = [...instance.resources.values()].flatMap((on) => [...on.values()]).filter(({ sync }) => sync !== null)
  const isAll = (...wanted: readonly SyncStatus[]): boolean =>
    all.length > 0 && all.every(({ sync }) => sync !== null && wanted.includes(sync))
  const isFailing = instance.hasFailed && all.some(({ sync }) => sync === 'FAILED')
  switch (instance.goal) {
    case 'NOTHING':
      return 'CREATED'
    case 'INSTANTIATE':
      if (isAll('APPLIED')) return 'INSTANTIATED'
      return isFailing ? 'INSTANTIATE_FAILED' : 'INSTANTIATING'
    case 'TERMINATE':
      if (isAll('DELETED')) return 'TERMINATED'
      return isFailing ? 'TERMINATE_FAILED' : 'TERMINATING'
    case 'GIVE_WAY':
      if (successor?.status === 'INSTANTIATED') return 'UPDATED'
      if (successor?.status === 'INSTANTIATE_FAILED') return 'UPDATE_FAILED'
      return successor?.status === 'CREATED' || successor?.status === 'INSTANTIATING' ? 'UPDATING' : instance.status
  }
}

/** An instance's deployment on a cluster. */
export function stateOn(instance: ExpectedInstance, cluster: string): DeploymentState {
  const syncs = [...resourcesOn(instance, cluster).values()].flatMap(({ sync }) => sync ?? [])
  if (syncs.includes('FAILED')) return 'FAILED'
  if (syncs.length > 0 && syncs.every((sync) => sync === 'DELETED')) return 'REMOVED'
  if (instance.goal === 'TERMINATE') return 'REMOVING'
  if (syncs.length > 0 && syncs.every((sync) => sync === 'APPLIED')) return 'INSTALLED'
  return syncs.some((sync) => sync === 'APPLIED' || sync === 'RETRYING') ? 'INSTALLING' : 'PENDING'
}

/** The worst readiness of the resources that count. */
export function readinessOf(resources: Iterable<ExpectedResource>): Readiness {
  const known = new Set([...resources].filter((one) => one.sync !== 'DELETED' && one.showable).map((r) => r.readiness))
  return (['FAILED', 'PENDING', 'UNKNOWN', 'READY'] as const).find((readiness) => known.has(readiness)) ?? 'UNKNOWN'
}

function resourcesOn(instance: ExpectedInstance, cluster: string): Map<string, ExpectedResource> {
  const known = instance.resources.get(cluster) ?? new Map<string, ExpectedResource>()
  instance.resources.set(cluster, known)
  return known
}

function contentOf(resources: ReadonlyMap<string, ExpectedResource>): string {
  return JSON.stringify([...resources].toSorted(([a], [b]) => (a < b ? -1 : 1)))
}

function idOf(app: App, { group, kind, name }: Pick<PlannedResource, 'group' | 'kind' | 'name'>): string {
  return `${app} ${group}/${kind} ${name}`
}

function placeOf(cluster: string, app: App): string {
  return `${cluster} ${app}`
}
