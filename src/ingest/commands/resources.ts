/** Resources as an orchestrator applies them, and as a cluster shows them: one model, two sources (WIRE §2.3). */
import { DomainError } from '../../domain/errors.ts'
import type { Instance } from '../../domain/instance.ts'
import type { Verdict } from '../../domain/report.ts'
import type { Resource, ResourceDetail, SyncStatus } from '../../domain/resource.ts'
import type { Rollout } from '../../domain/rollout.ts'
import type { Connectivity } from '../../domain/target.ts'
import type { Assessment } from '../../readiness/assessment.ts'
import type { Command, TargetName } from '../command.ts'
import { followDeployment, followInstance } from '../instances.ts'
import { assess, blankResource, matchResource, putResource, withAssessment } from '../resources.ts'
import type { World } from '../world.ts'
import type { LifecycleRolloutName } from './act.ts'

/** A resource as the orchestrator applied it. */
export interface AppliedResource {
  readonly component: string
  readonly target: TargetName
  readonly group: string
  readonly version: string
  readonly kind: string
  readonly name: string
  readonly namespace: string | null
  readonly sync: SyncStatus
  /** Whether the source that watches the cluster can show objects of this kind. */
  readonly showable: boolean
  /** Undefined: says nothing about it. */
  readonly detail?: ResourceDetail | null
}

/** An object as the cluster shows it. */
export interface ObservedObject {
  readonly group: string
  readonly version: string
  readonly kind: string
  readonly name: string
  readonly namespace: string | null
  readonly assessment: Assessment
  readonly detail: ResourceDetail | null
}

/** The whole present picture of a component on a cluster: what it does not list is not there. */
export interface Picture {
  /** The status context that the resources' labels carry, or an instance's own. */
  readonly context: string
  readonly component: string
  readonly target: TargetName
  /** Of the custom resource; an older version of the same one is STALE. Null: unknown, so it is the newest. */
  readonly uid: string | null
  readonly resourceVersion: string | null
  readonly objects: readonly ObservedObject[]
  /** Whether the source can show objects of that kind, also when it lists none. */
  readonly canShow: (group: string, kind: string) => boolean
}

export interface ResourcesReported {
  readonly revision: number
  readonly verdicts: readonly Verdict[]
}

/** By rollout and AppContext; what they are all together follows at the end of the call. */
export function reportResources(
  name: LifecycleRolloutName,
  instanceId: string,
  items: readonly AppliedResource[],
): Command<ResourcesReported> {
  const places = new Map<string, { target: TargetName; component: string; names: Set<string> }>()
  for (const { target, component, name: resource } of items) {
    const id = JSON.stringify([target, component])
    const place = places.get(id) ?? { target, component, names: new Set<string>() }
    places.set(id, place)
    place.names.add(resource)
  }
  const components = [...places.values()].map((place) => ({ ...place, names: [...place.names] }))
  return {
    needs: {
      rollouts: [name],
      targets: components.map(({ target }) => target),
      orchestrated: [{ rollout: name, contexts: [instanceId], components }],
    },
    decide(world) {
      const { rollout, instances } = requireInstances(world, name, instanceId, 'own')
      const [instance] = instances
      if (!instance) throw notYet(`it has no instance ${instanceId} yet`)
      const touched = new Map<number, number>()
      const verdicts = items.map((item) => applyItem(world, rollout, instance, item, touched))
      followAll(world, rollout, instance, touched)
      return { revision: world.revision(), verdicts }
    },
  }
}

/** A cluster's picture of a component: it goes to the newest instance of its context, and to those that it updated. */
export function reportPicture(
  name: LifecycleRolloutName,
  picture: Picture,
): Command<{ readonly revision: number; readonly verdict: Verdict }> {
  const { context, target, component } = picture
  return {
    needs: {
      rollouts: [name],
      targets: [target],
      orchestrated: [{ rollout: name, contexts: [context], components: [{ target, component, names: 'all' }] }],
    },
    decide(world) {
      const { rollout, instances } = requireInstances(world, name, context, 'shared')
      const targetKey = world.ensureTarget(target.kind, target.provider, target.name).key
      const verdicts = instances.map((instance) => applyPicture(world, rollout, instance, targetKey, picture))
      return { revision: world.revision(), verdict: strongest(verdicts) }
    },
  }
}

/** What a cluster's watcher says of its connection; the cluster is made if it is not known yet. */
export function setConnectivity(
  target: TargetName,
  to: Connectivity,
): Command<{ readonly revision: number; readonly verdict: Verdict; readonly targetKey: number }> {
  return {
    needs: { targets: [target] },
    decide(world) {
      const known = world.ensureTarget(target.kind, target.provider, target.name)
      const before = world.revision()
      const heard = { ...known, lastHeardAt: to === 'ONLINE' ? world.now : known.lastHeardAt }
      if (known.connectivity === to) world.putTarget(heard, 'heard')
      else {
        const change = { kind: 'CONNECTIVITY_CHANGED', from: known.connectivity, to } as const
        world.recordTarget({ ...heard, connectivity: to }, change, null)
      }
      const verdict = world.revision() > before ? 'APPLIED' : 'UNCHANGED'
      return { revision: world.revision(), verdict, targetKey: known.key }
    },
  }
}

function requireInstances(
  world: World,
  name: LifecycleRolloutName,
  context: string,
  how: 'own' | 'shared',
): { readonly rollout: Rollout; readonly instances: readonly Instance[] } {
  const rollout = world.rollout(name)
  if (!rollout) throw notYet('there is no such rollout yet: its first action, Created, makes it')
  const instances = world.orchestration
    .instancesOf(rollout.key)
    .filter((one) => one.instanceId === context || (how === 'shared' && one.statusContext === context))
  if (instances.length === 0) throw notYet(`it has no instance ${context} yet: an action that names it makes it`)
  return { rollout, instances }
}

/** Facts may overtake the action that names what they are about. */
function notYet(message: string): DomainError {
  return new DomainError('NOT_FOUND_YET', message)
}

/** `touched`: the deployments' keys by target, whose sums follow later. */
function applyItem(
  world: World,
  rollout: Rollout,
  instance: Instance,
  item: AppliedResource,
  touched: Map<number, number>,
): Verdict {
  const target = world.ensureTarget(item.target.kind, item.target.provider, item.target.name)
  const deploymentKey = touched.get(target.key) ?? deploymentKeyOf(world, instance, target.key)
  touched.set(target.key, deploymentKey)
  const known = matchResource(world.orchestration.resourcesNamed(deploymentKey, item.component, item.name), item)
  const seen = world.orchestration.bundle(instance.key, target.key, item.component) !== null
  const base = known ?? {
    ...blankResource(world.newKey(), rollout, instance, deploymentKey, target.key, item),
    showable: item.showable,
  }
  const presence = base.presence === 'UNKNOWN' && seen && base.showable ? 'NOT_PRESENT' : base.presence
  const next: Resource = {
    ...base,
    version: item.version || base.version,
    namespace: base.namespace ?? item.namespace,
    sync: item.sync,
    presence,
    goneAt: null,
    appliedDetailHash: item.detail === undefined ? base.appliedDetailHash : (item.detail?.hash ?? null),
  }
  return putResource(world, instance, known, assess(next, base), { appliedDetail: item.detail })
}

export function applyPicture(
  world: World,
  rollout: Rollout,
  instance: Instance,
  targetKey: number,
  picture: Picture,
): Verdict {
  const { component, uid, resourceVersion } = picture
  const { orchestration } = world
  const bundle = orchestration.bundle(instance.key, targetKey, component)
  if (bundle && bundle.uid === uid && isOlder(resourceVersion, bundle.resourceVersion)) return 'STALE'
  orchestration.putBundle({
    instanceKey: instance.key,
    targetKey,
    component,
    uid,
    resourceVersion,
    receivedAt: world.now,
  })

  const deploymentKey = deploymentKeyOf(world, instance, targetKey)
  const listed = new Set<number>()
  const shown = new Set<string>()
  const before = world.revision()
  for (const object of picture.objects) {
    shown.add(kindOf(object))
    const known = matchResource(orchestration.resourcesNamed(deploymentKey, component, object.name), object)
    const base =
      known ?? blankResource(world.newKey(), rollout, instance, deploymentKey, targetKey, { ...object, component })
    listed.add(base.key)
    const next: Resource = {
      ...base,
      version: object.version || base.version,
      namespace: base.namespace ?? object.namespace,
      presence: 'PRESENT',
      showable: true,
      goneAt: null,
      detailHash: object.detail?.hash ?? null,
    }
    putResource(world, instance, known, withAssessment(next, object.assessment), { detail: object.detail })
  }
  for (const known of orchestration.resourcesOf(deploymentKey, component)) {
    if (listed.has(known.key) || known.goneAt !== null) continue
    const showable = known.showable || shown.has(kindOf(known)) || picture.canShow(known.group, known.kind)
    const goneAt = known.sync === null ? world.moment().at : null
    const presence = showable ? 'NOT_PRESENT' : 'UNKNOWN'
    putResource(world, instance, known, assess({ ...known, presence, showable, goneAt, detailHash: null }, known), {
      detail: null,
    })
  }
  followAll(world, rollout, instance, new Map([[targetKey, deploymentKey]]))
  return world.revision() > before ? 'APPLIED' : 'UNCHANGED'
}

function followAll(world: World, rollout: Rollout, instance: Instance, touched: ReadonlyMap<number, number>): void {
  for (const [targetKey, deploymentKey] of touched) {
    const latest = world.rolloutByKey(rollout.key) ?? rollout
    followDeployment(world, latest, world.orchestration.instance(instance.key) ?? instance, targetKey, deploymentKey)
  }
  followInstance(world, rollout.key, instance.key)
}

function deploymentKeyOf(world: World, instance: Instance, targetKey: number): number {
  const known = world.deploymentsOfInstance(instance.key).find((deployment) => deployment.targetKey === targetKey)
  return known?.key ?? world.newKey()
}

function kindOf({ group, kind }: { readonly group: string; readonly kind: string }): string {
  return `${group}/${kind}`
}

function isOlder(version: string | null, known: string | null): boolean {
  if (version === null || known === null || !/^\d+$/.test(version) || !/^\d+$/.test(known)) return false
  return BigInt(version) < BigInt(known)
}

function strongest(verdicts: readonly Verdict[]): Verdict {
  if (verdicts.includes('APPLIED')) return 'APPLIED'
  return verdicts.includes('UNCHANGED') ? 'UNCHANGED' : 'STALE'
}
