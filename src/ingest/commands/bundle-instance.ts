/** An instance of a resource bundle. One request gives the instance with the list of its resources, another one the status of them (docs/wire.md §3). */
import { DomainError } from '../../domain/errors.ts'
import type { Instance } from '../../domain/orchestration/instance.ts'
import { applyMoveToRollout } from '../../domain/orchestration/orchestrated.ts'
import type {
  BundleInstance,
  ComponentSnapshot,
  ObjectName,
  ObservedObject,
  Outcomes,
} from '../../domain/orchestration/orchestrated-facts.ts'
import type { Resource, SyncStatus } from '../../domain/orchestration/resource.ts'
import type { Verdict } from '../../domain/report.ts'
import type { Rollout } from '../../domain/rollout.ts'
import type { DeploymentState } from '../../domain/values.ts'
import { eachPaced, type Paced } from '../../platform/limits/pace.ts'
import { saveDocument } from '../../store/write/save/save-document.ts'
import type { Command } from '../command.ts'
import { inParts, partSize } from '../command-parts.ts'
import type { InstanceOnTarget } from '../derived-states.ts'
import { assess, blankResource, matchListed, putResource } from '../resources.ts'
import type { UnitOfWork } from '../unit-of-work/unit-of-work.ts'
import { applySnapshot, deriveStates, partNeeds, writeResources, writeSnapshot } from './component-snapshot.ts'

/** Applies a complete list of resources. A resource that is no longer listed may still exist in the cluster. */
export function reportInstance(fact: BundleInstance): Command<Outcomes['instance']> {
  const { instanceId, component, resources } = fact
  const region = { kind: 'CLOUD_REGION', provider: '', name: fact.cloudRegion } as const
  const needs = { rollouts: [fact.rollout], targets: [region] }
  const own = { rollout: fact.rollout, contexts: [instanceId] }
  const statements = ({ instanceKey }: Outcomes['instance']) => [saveDocument(instanceKey, fact.document)]
  if (resources.length <= partSize)
    return {
      needs: { ...needs, orchestrated: [{ ...own, whole: 'with resources' }] },
      decide: (work) => applyList(work, fact),
      statements,
    }
  const partsNeed = partNeeds(needs, { ...own, whole: 'without resources' })
  return {
    ...inParts(async (write) => {
      const { instanceKey, deploymentKey, before, isNew } = await write({
        needs: partsNeed([]),
        decide(work) {
          const { place, before, isNew } = beginInstance(work, fact)
          return { instanceKey: place.instance.key, deploymentKey: place.deploymentKey, before, isNew }
        },
      })
      const revision = await writeResources(write, partsNeed, { deploymentKey, component, listedIn: null }, resources, {
        placeIn: (work) => placeIn(work, instanceKey, deploymentKey, fact.cloudRegion),
        put: (work, place, item) => putListed(work, place, fact, item),
        putMissing: endListed,
      })
      return { revision, instanceKey, verdict: revision > before ? 'APPLIED' : 'UNCHANGED', isNew }
    }),
    statements,
  }
}

function* applyList(work: UnitOfWork, fact: BundleInstance): Paced<Outcomes['instance']> {
  const { place, before, isNew } = beginInstance(work, fact)
  const listed = new Set(yield* eachPaced(fact.resources, (item) => putListed(work, place, fact, item)))
  // Also of another component: the bundle that the instance had before an upgrade.
  for (const known of work.orchestration.resourcesOf(place.deploymentKey, null)) {
    if (!listed.has(known.key)) endListed(work, place, known)
    yield
  }
  deriveStates(work, place)
  return reported(work, place, before, isNew)
}

/** Applies a complete snapshot of the status of all resources. */
export function reportInstanceStatus(
  instanceId: string,
  objects: readonly ObservedObject[],
): Command<{ readonly revision: number; readonly verdict: Verdict }> {
  const own = { contexts: [instanceId] }
  if (objects.length <= partSize)
    return {
      needs: { orchestrated: [{ ...own, whole: 'with resources' }] },
      decide: (work) => applyStatus(work, instanceId, objects),
    }
  return inParts(async (write) => {
    const partsNeed = partNeeds({}, { ...own, whole: 'without resources' })
    const snapshot = await write({
      needs: partsNeed([]),
      decide: (work) => snapshotOf(requirePresent(work, instanceId, objects), objects),
    })
    return writeSnapshot(write, partsNeed, (work) => requirePresent(work, instanceId, objects), snapshot)
  })
}

function* applyStatus(
  work: UnitOfWork,
  instanceId: string,
  objects: readonly ObservedObject[],
): Paced<{ readonly revision: number; readonly verdict: Verdict }> {
  const place = requirePresent(work, instanceId, objects)
  const verdict = yield* applySnapshot(work, place, snapshotOf(place, objects))
  return { revision: work.revision(), verdict }
}

function snapshotOf({ rollout }: InstanceOnTarget, objects: readonly ObservedObject[]): ComponentSnapshot {
  return {
    ...{ component: componentOf(rollout), uid: null, resourceVersion: null, objects, isOfAll: true },
    canShow: () => true,
  }
}

/** The instance is gone with all its resources, which may be more than one part. Its history stays. */
export function removeInstance(instanceId: string): Command<{ readonly revision: number; readonly verdict: Verdict }> {
  return inParts(async (write) => {
    const partsNeed = partNeeds({}, { contexts: [instanceId], whole: 'without resources' })
    const { before, deploymentKey, component } = await write({
      needs: partsNeed([]),
      decide(work) {
        const { instance, rollout, deploymentKey } = requireInstance(work, instanceId)
        work.orchestration.putInstance({ ...instance, goal: 'TERMINATE', reportedState: 'REMOVED' })
        return { before: work.revision(), deploymentKey, component: componentOf(rollout) }
      },
    })
    const revision = await writeResources(write, partsNeed, { deploymentKey, component, listedIn: null }, [], {
      placeIn: (work) => requireInstance(work, instanceId),
      put: () => 0,
      putMissing: removeResource,
    })
    return { revision, verdict: revision > before ? 'APPLIED' : 'UNCHANGED' }
  })
}

function removeResource(work: UnitOfWork, { instance }: InstanceOnTarget, known: Resource): void {
  const goneAt = known.sync === null ? work.moment().at : null
  const sync = known.sync === null ? null : 'DELETED'
  const next = { ...known, sync, presence: 'NOT_PRESENT', goneAt, detailHash: null } as const
  putResource(work, instance, known, assess(next, known), { detail: null })
}

/** Everything of an instance but its resources. */
function beginInstance(
  work: UnitOfWork,
  fact: BundleInstance,
): { readonly place: InstanceOnTarget; readonly before: number; readonly isNew: boolean } {
  const known = work.orchestration.instanceById(fact.instanceId)
  if (known) requireBundle(work, known, fact)
  const before = work.revision()
  const targetKey = work.ensureTarget('CLOUD_REGION', '', fact.cloudRegion).key
  const rollout = work.ensureRollout(fact.rollout)
  const instance: Instance = {
    ...(known ?? newInstance(work, rollout, fact)),
    rolloutKey: rollout.key,
    goal: fact.isEnding ? 'TERMINATE' : 'INSTANTIATE',
    reportedState: fact.reportedState,
  }
  const [deployment = null] = known ? work.deploymentsOfInstance(known.key) : []
  if (known) work.orchestration.putInstance(instance)
  else work.recordInstance(instance, { kind: 'INSTANCE_STATUS_CHANGED', fromStatus: null, toStatus: instance.status })
  if (deployment && deployment.rolloutKey !== rollout.key)
    work.apply(deployment, applyMoveToRollout(deployment, rollout, work.moment()), null)
  const deploymentKey = deployment?.key ?? work.newKey()
  return {
    place: { rollout, instance, targetKey, deploymentKey },
    before,
    isNew: !known || known.reportedState === 'REMOVED',
  }
}

function placeIn(work: UnitOfWork, instanceKey: number, deploymentKey: number, cloudRegion: string): InstanceOnTarget {
  const instance = work.orchestration.instance(instanceKey)
  const rollout = instance && work.rolloutByKey(instance.rolloutKey)
  if (!rollout) throw new Error(`instance ${instanceKey} was not loaded`)
  return { rollout, instance, targetKey: work.ensureTarget('CLOUD_REGION', '', cloudRegion).key, deploymentKey }
}

function putListed(work: UnitOfWork, place: InstanceOnTarget, fact: BundleInstance, item: ObjectName): number {
  const { instance, targetKey, deploymentKey } = place
  const { component, reportedState } = fact
  const { orchestration } = work
  const known = matchListed(work, deploymentKey, component, item, true)
  const base = known ?? blankResource(work.newKey(), place, { ...item, component })
  const isSeen = orchestration.bundle(instance.key, targetKey, component) !== null
  const next = {
    ...base,
    version: item.version || base.version,
    namespace: base.namespace ?? item.namespace,
    sync: syncOf(reportedState, base.sync),
    presence: base.presence === 'UNKNOWN' && isSeen ? 'NOT_PRESENT' : base.presence,
    goneAt: null,
  } as const
  putResource(work, instance, known, assess(next, base), {})
  return base.key
}

/** The list of the instance does not have it any more. */
function endListed(work: UnitOfWork, { instance }: InstanceOnTarget, known: Resource): void {
  if (known.goneAt !== null || known.sync === null) return
  const goneAt = known.presence === 'PRESENT' ? null : work.moment().at
  putResource(work, instance, known, assess({ ...known, sync: null, goneAt }, known), {})
}

function reported(
  work: UnitOfWork,
  { instance }: InstanceOnTarget,
  before: number,
  isNew: boolean,
): Outcomes['instance'] {
  const verdict = work.revision() > before ? 'APPLIED' : 'UNCHANGED'
  return { revision: work.revision(), instanceKey: instance.key, verdict, isNew }
}

function componentOf(rollout: Rollout): string {
  return rollout.compositeApp ?? rollout.name
}

/** A resource bundle has one status for all resources, other rollouts one for each resource. */
function syncOf(reportedState: DeploymentState, known: SyncStatus | null): SyncStatus {
  switch (reportedState) {
    case 'INSTALLED':
      return 'APPLIED'
    case 'REMOVED':
      return 'DELETED'
    case 'FAILED':
      return 'FAILED'
    case 'REMOVING':
      return known ?? 'APPLIED'
    default:
      return known === 'APPLIED' ? known : 'PENDING'
  }
}

function requireBundle(work: UnitOfWork, known: Instance, fact: BundleInstance): void {
  const rollout = work.rolloutByKey(known.rolloutKey)
  if (rollout?.kind !== 'RESOURCE_BUNDLE')
    throw conflict('id', `${known.instanceId} is an instance of something that is not a resource bundle`)
  const [deployment] = work.deploymentsOfInstance(known.key)
  const region = deployment && work.targetByKey(deployment.targetKey).name
  if (region !== undefined && region !== fact.cloudRegion)
    throw conflict('request.cloud-region', `instance ${known.instanceId} runs on ${region}: it cannot move`)
}

function requireInstance(work: UnitOfWork, instanceId: string): InstanceOnTarget {
  const instance = work.orchestration.instanceById(instanceId)
  const rollout = instance && work.rolloutByKey(instance.rolloutKey)
  const [deployment] = instance ? work.deploymentsOfInstance(instance.key) : []
  if (!instance || rollout?.kind !== 'RESOURCE_BUNDLE' || !deployment)
    throw new DomainError(
      'NOT_FOUND_YET',
      `there is no instance ${instanceId}: PUT /v1/instance/${instanceId} makes it`,
    )
  return { instance, rollout, targetKey: deployment.targetKey, deploymentKey: deployment.key }
}

/** A status that was under way while its instance was removed must not bring the objects back: nothing would remove them again. */
function requirePresent(work: UnitOfWork, instanceId: string, objects: readonly ObservedObject[]): InstanceOnTarget {
  const place = requireInstance(work, instanceId)
  if (place.instance.reportedState !== 'REMOVED' || objects.length === 0) return place
  const message = `instance ${instanceId} was removed, so it has no objects: PUT /v1/instance/${instanceId} makes it again`
  throw new DomainError('NOT_FOUND_YET', message)
}

function newInstance(work: UnitOfWork, rollout: Rollout, { instanceId, reportedState }: BundleInstance): Instance {
  return {
    key: work.newKey(),
    rolloutKey: rollout.key,
    instanceId,
    revisionNumber: 1,
    status: 'CREATED',
    goal: 'INSTANTIATE',
    reportedState,
    isCurrent: true,
    successorKey: null,
    hasFailed: false,
    statusContext: instanceId,
    createdRevision: work.revision() + 1,
    revision: work.revision() + 1,
  }
}

function conflict(field: string, message: string): DomainError {
  return new DomainError('CONFLICT', message, { problems: [{ field, message }] })
}
