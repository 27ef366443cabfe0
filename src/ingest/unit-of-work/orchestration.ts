/**
 * The orchestrators' part of a batch's unit of work: rollouts with a lifecycle, their instances, resources and tallies. Pure
 * bookkeeping: unit-of-work.ts owns it and numbers its changes.
 */
import { presentGroup } from '../../domain/orchestration/api-group.ts'
import { type Instance, type SyncCounts, stateOfSync } from '../../domain/orchestration/instance.ts'
import type { LifecycleAction } from '../../domain/orchestration/lifecycle.ts'
import type { DerivedDeployment } from '../../domain/orchestration/orchestrated.ts'
import type { Resource } from '../../domain/orchestration/resource.ts'
import { isCounted, sumReadiness } from '../../domain/readiness/sum.ts'
import type { Readiness } from '../../domain/values.ts'
import type {
  Bundle,
  DetailWrite,
  LoadedOrchestration,
  OrchestrationEffects,
  Tally,
} from '../../store/write/contract.ts'

export const nothingOrchestrated: LoadedOrchestration = {
  instances: [],
  actions: [],
  resources: [],
  tallies: [],
  bundles: [],
}

interface ObjectName {
  readonly group: string
  readonly kind: string
  readonly name: string
  readonly namespace: string | null
}

export interface Orchestration {
  instance(key: number): Instance | null
  instanceById(instanceId: string): Instance | null
  /** Oldest first. */
  instancesOf(rolloutKey: number): readonly Instance[]
  actionsOf(rolloutKey: number): readonly LifecycleAction[]
  /** Of a component, or of all. Gone ones too. */
  resourcesOf(deploymentKey: number, component: string | null): readonly Resource[]
  /** Resources that may be the same object. By namespace, because a cluster may have thousands with one name. */
  resourcesLike(deploymentKey: number, component: string, wanted: ObjectName): readonly Resource[]
  bundle(instanceKey: number, targetKey: number, component: string): Bundle | null
  syncCounts(instanceKey: number): SyncCounts
  /** The sum of a deployment's resources. Null: it has none. */
  standing(deploymentKey: number, instance: Instance): DerivedDeployment | null
  putInstance(instance: Instance): void
  putAction(action: LifecycleAction): void
  putResource(resource: Resource, before: Resource | null): void
  putDetail(write: DetailWrite): void
  putBundle(bundle: Bundle): void
  effects(): OrchestrationEffects
}

export function createOrchestration(loaded: LoadedOrchestration): Orchestration {
  const instances = new Map(loaded.instances.map((instance) => [instance.key, instance]))
  const known = new Set(instances.keys())
  const touched = new Map<number, { row: Instance; isNew: boolean }>()
  const actions = new Map<string, LifecycleAction>()
  const newActions: LifecycleAction[] = []
  for (const action of loaded.actions) actions.set(`${action.rolloutKey}/${action.revision}`, action)

  const resources = new Map<number, Resource>()
  /** By component, then by kind and name, then by namespace. */
  const byComponent = new Map<string, Map<string, Map<string | null, Set<number>>>>()
  const touchedResources = new Map<number, { row: Resource; isNew: boolean }>()
  const details = new Map<number, DetailWrite>()
  const tallies = new Map<number, Map<string, Tally>>()
  const deltas = new Map<string, Tally>()
  const bundles = new Map<string, Bundle>()
  const newBundles = new Map<string, Bundle>()

  const index = (resource: Resource): void => {
    const component = `${resource.deploymentKey}/${resource.component}`
    const names = byComponent.get(component) ?? new Map<string, Map<string | null, Set<number>>>()
    byComponent.set(component, names)
    const namespaces = names.get(kindAndName(resource)) ?? new Map<string | null, Set<number>>()
    names.set(kindAndName(resource), namespaces)
    const keys = namespaces.get(resource.namespace) ?? new Set<number>()
    namespaces.set(resource.namespace, keys.add(resource.key))
    resources.set(resource.key, resource)
  }
  const found = (keys: Iterable<number>): Resource[] => [...keys].flatMap((key) => resources.get(key) ?? [])

  const addTally = (tally: Tally): void => {
    const ofOwner = tallies.get(tally.ownerKey) ?? new Map<string, Tally>()
    tallies.set(tally.ownerKey, ofOwner)
    const bucket = bucketOf(tally)
    ofOwner.set(bucket, { ...tally, n: (ofOwner.get(bucket)?.n ?? 0) + tally.n })
  }
  const countTally = (resource: Resource | null, by: 1 | -1): void => {
    if (!resource || resource.goneAt !== null) return
    for (const ownerKey of [resource.instanceKey, resource.deploymentKey]) {
      const { component, sync, presence, readiness, showable } = resource
      const tally = { ownerKey, component, sync, presence, readiness, showable, n: by }
      addTally(tally)
      const id = `${ownerKey}/${bucketOf(tally)}`
      deltas.set(id, { ...tally, n: (deltas.get(id)?.n ?? 0) + by })
    }
  }
  const talliesOf = (ownerKey: number): Tally[] => [...(tallies.get(ownerKey)?.values() ?? [])].filter(({ n }) => n > 0)

  for (const resource of loaded.resources) index(resource)
  for (const tally of loaded.tallies) addTally(tally)
  for (const bundle of loaded.bundles) bundles.set(placeOf(bundle), bundle)

  return {
    instance: (key) => instances.get(key) ?? null,
    instanceById: (instanceId) =>
      [...instances.values()].find((instance) => instance.instanceId === instanceId) ?? null,
    instancesOf: (rolloutKey) =>
      [...instances.values()]
        .filter((instance) => instance.rolloutKey === rolloutKey)
        .toSorted((a, b) => a.createdRevision - b.createdRevision || a.key - b.key),
    actionsOf: (rolloutKey) =>
      [...actions.values()]
        .filter((action) => action.rolloutKey === rolloutKey)
        .toSorted((a, b) => a.revision - b.revision),
    resourcesOf(deploymentKey, component) {
      if (component === null)
        return [...resources.values()].filter((resource) => resource.deploymentKey === deploymentKey)
      return found(
        new Set(
          [...(byComponent.get(`${deploymentKey}/${component}`)?.values() ?? [])].flatMap((namespaces) =>
            [...namespaces.values()].flatMap((keys) => [...keys]),
          ),
        ),
      )
    },
    resourcesLike(deploymentKey, component, wanted) {
      const namespaces = byComponent.get(`${deploymentKey}/${component}`)?.get(kindAndName(wanted))
      if (!namespaces) return []
      const { namespace } = wanted
      const without = namespaces.get(null) ?? []
      if (namespace !== null) return found(new Set([...(namespaces.get(namespace) ?? []), ...without]))
      const exact = found(without).filter((resource) => resource.namespace === null)
      return exact.length > 0 ? exact : found(new Set([...namespaces.values()].flatMap((keys) => [...keys])))
    },
    bundle: (instanceKey, targetKey, component) => bundles.get(placeOf({ instanceKey, targetKey, component })) ?? null,
    // Of what was loaded, only the sums by sync are known: a bucket of changes may be below zero.
    syncCounts: (instanceKey) => syncCountsOf([...(tallies.get(instanceKey)?.values() ?? [])]),
    standing(deploymentKey, instance) {
      const all = talliesOf(deploymentKey)
      if (all.length === 0) return null
      const components = [...Map.groupBy(all, ({ component }) => component)].map(([name, own]) => ({
        name,
        state: stateOfSync(instance, syncCountsOf(own)),
        readiness: readinessOf(own),
      }))
      return {
        state: stateOfSync(instance, syncCountsOf(all)),
        readiness: readinessOf(all),
        components,
        isCurrent: instance.isCurrent,
      }
    },
    putInstance(instance) {
      instances.set(instance.key, instance)
      touched.set(instance.key, { row: instance, isNew: !known.has(instance.key) })
    },
    putAction(action) {
      actions.set(`${action.rolloutKey}/${action.revision}`, action)
      newActions.push(action)
    },
    putResource(resource, before) {
      index(resource)
      const isNew = touchedResources.get(resource.key)?.isNew ?? before === null
      touchedResources.set(resource.key, { row: resource, isNew })
      countTally(before, -1)
      countTally(resource, 1)
    },
    putDetail: (write) => void details.set(write.key, { ...details.get(write.key), ...write }),
    putBundle(bundle) {
      bundles.set(placeOf(bundle), bundle)
      newBundles.set(placeOf(bundle), bundle)
    },
    effects() {
      return {
        instances: touched,
        actions: newActions,
        resources: touchedResources,
        details: [...details.values()],
        tallyDeltas: [...deltas.values()].filter(({ n }) => n !== 0),
        bundles: [...newBundles.values()],
      }
    },
  }
}

/** FAILED > PENDING > UNKNOWN > READY over the resources that count (docs/wire.md §5). */
function readinessOf(tallies: readonly Tally[]): Readiness {
  return sumReadiness(tallies.filter((tally) => tally.n > 0 && isCounted(tally)))
}

function syncCountsOf(tallies: readonly Tally[]): SyncCounts {
  const counts = { PENDING: 0, APPLIED: 0, FAILED: 0, RETRYING: 0, DELETED: 0 }
  for (const { sync, n } of tallies) if (sync !== null) counts[sync] += n
  return counts
}

function kindAndName({ group, kind, name }: Omit<ObjectName, 'namespace'>): string {
  return `${presentGroup(group, kind)}/${kind}/${name}`
}

function bucketOf({ component, sync, presence, readiness, showable }: Tally): string {
  return JSON.stringify([component, sync, presence, readiness, showable])
}

function placeOf({
  instanceKey,
  targetKey,
  component,
}: Pick<Bundle, 'instanceKey' | 'targetKey' | 'component'>): string {
  return `${instanceKey}/${targetKey}/${component}`
}
