/** Resources that an orchestrator applies and that a cluster shows: one model, two sources (docs/wire.md §2.3). */
import { DomainError } from '../../domain/errors.ts'
import type { Instance } from '../../domain/instance.ts'
import type { AppliedResource, ObservedObject } from '../../domain/orchestrated-facts.ts'
import type { Verdict } from '../../domain/report.ts'
import type { Resource } from '../../domain/resource.ts'
import type { LifecycleRolloutName, Rollout } from '../../domain/rollout.ts'
import type { Connectivity, TargetName } from '../../domain/target.ts'
import { eachPaced, type Paced } from '../../limits/pace.ts'
import type { Command } from '../command.ts'
import { followDeployment, followInstance } from '../instances.ts'
import { assess, blankResource, matchResource, putResource, withAssessment } from '../resources.ts'
import type { UnitOfWork } from '../unit-of-work.ts'

/** A complete snapshot of a component on a cluster. A resource that is not listed does not exist there. */
export interface Picture {
  /** The status context in the labels of the resources, or the id of an instance. */
  readonly context: string
  readonly component: string
  readonly target: TargetName
  /** The version of the custom resource. An older version of the same one is STALE. Null: unknown, so the snapshot is the newest. */
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

/** Applies resources by rollout and AppContext. Their sum is computed at the end of the call. */
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
    *decide(work) {
      const { rollout, instances } = requireInstances(work, name, instanceId, 'own')
      const [instance] = instances
      if (!instance) throw notYet(`it has no instance ${instanceId} yet`)
      const touched = new Map<number, number>()
      const verdicts = yield* eachPaced(items, (item) => applyItem(work, rollout, instance, item, touched))
      if (!instance.hasFailed && items.some(({ sync }) => sync === 'FAILED'))
        work.orchestration.putInstance({ ...instance, hasFailed: true })
      yield* followAll(work, rollout, instance, touched)
      return { revision: work.revision(), verdicts }
    },
  }
}

/** Applies a cluster's snapshot of a component to the newest instance of its context, and to the instances that it updated. */
export function reportStateSnapshot(
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
    *decide(work) {
      const { rollout, instances } = requireInstances(work, name, context, 'shared')
      const targetKey = work.ensureTarget(target.kind, target.provider, target.name).key
      const verdicts: Verdict[] = []
      for (const instance of instances) verdicts.push(yield* applyPicture(work, rollout, instance, targetKey, picture))
      return { revision: work.revision(), verdict: strongest(verdicts) }
    },
  }
}

/** Records the connectivity of a cluster. Creates the cluster if it is unknown. */
export function setConnectivity(
  target: TargetName,
  to: Connectivity,
): Command<{ readonly revision: number; readonly verdict: Verdict; readonly targetKey: number }> {
  return {
    needs: { targets: [target] },
    decide(work) {
      const known = work.ensureTarget(target.kind, target.provider, target.name)
      const before = work.revision()
      const heard = { ...known, lastHeardAt: to === 'ONLINE' ? work.now : known.lastHeardAt }
      if (known.connectivity === to) work.putTarget(heard, 'heard')
      else {
        const change = { kind: 'CONNECTIVITY_CHANGED', from: known.connectivity, to, source: 'ORCHESTRATOR' } as const
        work.recordTarget({ ...heard, connectivity: to }, change, null)
      }
      const verdict = work.revision() > before ? 'APPLIED' : 'UNCHANGED'
      return { revision: work.revision(), verdict, targetKey: known.key }
    },
  }
}

function requireInstances(
  work: UnitOfWork,
  name: LifecycleRolloutName,
  context: string,
  how: 'own' | 'shared',
): { readonly rollout: Rollout; readonly instances: readonly Instance[] } {
  const rollout = work.rollout(name)
  if (!rollout) throw notYet('there is no such rollout yet: its first action, Created, makes it')
  const instances = work.orchestration
    .instancesOf(rollout.key)
    .filter((one) => one.instanceId === context || (how === 'shared' && one.statusContext === context))
  if (instances.length === 0) throw notYet(`it has no instance ${context} yet: an action that names it makes it`)
  return { rollout, instances }
}

/** Facts may overtake the action that creates their instance. */
function notYet(message: string): DomainError {
  return new DomainError('NOT_FOUND_YET', message)
}

/** `touched`: the deployments' keys by target. Their sums are computed later. */
function applyItem(
  work: UnitOfWork,
  rollout: Rollout,
  instance: Instance,
  item: AppliedResource,
  touched: Map<number, number>,
): Verdict {
  const target = work.ensureTarget(item.target.kind, item.target.provider, item.target.name)
  const deploymentKey = touched.get(target.key) ?? deploymentKeyOf(work, instance, target.key)
  touched.set(target.key, deploymentKey)
  const known = matchResource(work.orchestration.resourcesLike(deploymentKey, item.component, item), item)
  const seen = work.orchestration.bundle(instance.key, target.key, item.component) !== null
  const base = known ?? {
    ...blankResource(work.newKey(), rollout, instance, deploymentKey, target.key, item),
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
  return putResource(work, instance, known, assess(next, base), { appliedDetail: item.detail })
}

export function* applyPicture(
  work: UnitOfWork,
  rollout: Rollout,
  instance: Instance,
  targetKey: number,
  picture: Picture,
): Paced<Verdict> {
  const { component, uid, resourceVersion } = picture
  const { orchestration } = work
  const bundle = orchestration.bundle(instance.key, targetKey, component)
  if (bundle && bundle.uid === uid && isOlder(resourceVersion, bundle.resourceVersion)) return 'STALE'
  orchestration.putBundle({
    instanceKey: instance.key,
    targetKey,
    component,
    uid,
    resourceVersion,
    receivedAt: work.now,
  })

  const deploymentKey = deploymentKeyOf(work, instance, targetKey)
  const listed = new Set<number>()
  const shown = new Set<string>()
  const before = work.revision()
  for (const object of picture.objects) {
    shown.add(kindOf(object))
    const known = matchResource(orchestration.resourcesLike(deploymentKey, component, object), object)
    const base =
      known ?? blankResource(work.newKey(), rollout, instance, deploymentKey, targetKey, { ...object, component })
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
    putResource(work, instance, known, withAssessment(next, object.assessment), { detail: object.detail })
    yield
  }
  for (const known of orchestration.resourcesOf(deploymentKey, component)) {
    if (listed.has(known.key) || known.goneAt !== null) continue
    const showable = known.showable || shown.has(kindOf(known)) || picture.canShow(known.group, known.kind)
    const goneAt = known.sync === null ? work.moment().at : null
    const presence = showable ? 'NOT_PRESENT' : 'UNKNOWN'
    putResource(work, instance, known, assess({ ...known, presence, showable, goneAt, detailHash: null }, known), {
      detail: null,
    })
    yield
  }
  yield* followAll(work, rollout, instance, new Map([[targetKey, deploymentKey]]))
  return work.revision() > before ? 'APPLIED' : 'UNCHANGED'
}

function* followAll(
  work: UnitOfWork,
  rollout: Rollout,
  instance: Instance,
  touched: ReadonlyMap<number, number>,
): Paced<void> {
  for (const [targetKey, deploymentKey] of touched) {
    const latest = work.rolloutByKey(rollout.key) ?? rollout
    followDeployment(work, latest, work.orchestration.instance(instance.key) ?? instance, targetKey, deploymentKey)
    yield
  }
  followInstance(work, rollout.key, instance.key)
}

function deploymentKeyOf(work: UnitOfWork, instance: Instance, targetKey: number): number {
  // Its deployments on all targets may be thousands.
  const known = work
    .deploymentsOn(instance.instanceId, targetKey)
    .find(({ instanceKey }) => instanceKey === instance.key)
  return known?.key ?? work.newKey()
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
