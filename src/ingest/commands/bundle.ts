/** An instance of a k8splugin. One request gives the instance with the list of its resources, another one the status of them (docs/wire.md §3). */

import { DomainError } from '../../domain/errors.ts'
import type { Instance } from '../../domain/instance.ts'
import { applyMoveToRollout } from '../../domain/orchestrated.ts'
import type { BundleInstance, ObservedObject } from '../../domain/orchestrated-facts.ts'
import type { Verdict } from '../../domain/report.ts'
import type { SyncStatus } from '../../domain/resource.ts'
import type { Rollout } from '../../domain/rollout.ts'
import type { DeploymentState } from '../../domain/values.ts'
import type { Paced } from '../../limits/pace.ts'
import { storeDocument } from '../../store/read/documents.ts'
import type { Command } from '../command.ts'
import { followDeployment, followInstance } from '../instances.ts'
import { assess, blankResource, matchResource, putResource } from '../resources.ts'
import type { UnitOfWork } from '../unit-of-work.ts'
import { applyPicture } from './resources.ts'

export interface BundleReported {
  readonly revision: number
  readonly instanceKey: number
  readonly verdict: Verdict
  readonly isNew: boolean
}

/** Applies a complete list of resources. A resource that is no longer listed may still exist in the cluster. */
export function reportInstance(fact: BundleInstance): Command<BundleReported> {
  const region = { kind: 'CLOUD_REGION', provider: '', name: fact.cloudRegion } as const
  return {
    needs: {
      rollouts: [fact.rollout],
      targets: [region],
      orchestrated: [{ rollout: fact.rollout, contexts: [fact.instanceId], whole: true }],
    },
    *decide(work) {
      const known = work.orchestration.instanceById(fact.instanceId)
      if (known) requireBundle(work, known, fact)
      const before = work.revision()
      const target = work.ensureTarget('CLOUD_REGION', '', fact.cloudRegion)
      const rollout = work.ensureRollout(fact.rollout)
      const goal = fact.isEnding ? 'TERMINATE' : 'INSTANTIATE'
      const updated: Instance = {
        ...(known ?? newInstance(work, rollout, fact)),
        rolloutKey: rollout.key,
        goal,
        reportedState: fact.reportedState,
      }
      const [deployment = null] = known ? work.deploymentsOfInstance(known.key) : []
      if (known) work.orchestration.putInstance(updated)
      else work.recordInstance(updated, { kind: 'INSTANCE_STATUS_CHANGED', fromStatus: null, toStatus: updated.status })
      if (deployment && deployment.rolloutKey !== rollout.key)
        work.apply(deployment, applyMoveToRollout(deployment, rollout, work.moment()), null)

      const deploymentKey = deployment?.key ?? work.newKey()
      yield* recordResources(work, rollout, updated, deploymentKey, target.key, fact)
      followDeployment(work, rollout, updated, target.key, deploymentKey)
      followInstance(work, rollout.key, updated.key)
      const verdict = work.revision() > before ? 'APPLIED' : 'UNCHANGED'
      return { revision: work.revision(), instanceKey: updated.key, verdict, isNew: !known }
    },
    also: ({ instanceKey }) => [storeDocument(instanceKey, fact.document)],
  }
}

/** Applies a complete snapshot of the status of all resources. */
export function reportInstanceStatus(
  instanceId: string,
  objects: readonly ObservedObject[],
): Command<{ readonly revision: number; readonly verdict: Verdict }> {
  return {
    needs: { orchestrated: [{ contexts: [instanceId], whole: true }] },
    *decide(work) {
      const { instance, rollout, deployment } = requireInstance(work, instanceId)
      const component = rollout.compositeApp ?? rollout.name
      const target = work.targetByKey(deployment.targetKey)
      const picture = { context: instanceId, component, target, uid: null, resourceVersion: null, objects }
      const verdict = yield* applyPicture(work, rollout, instance, target.key, { ...picture, canShow: () => true })
      return { revision: work.revision(), verdict }
    },
  }
}

/** The instance is gone with all its resources. Its history stays. */
export function removeInstance(instanceId: string): Command<{ readonly revision: number; readonly verdict: Verdict }> {
  return {
    needs: { orchestrated: [{ contexts: [instanceId], whole: true }] },
    *decide(work) {
      const { instance, rollout, deployment } = requireInstance(work, instanceId)
      const before = work.revision()
      const component = rollout.compositeApp ?? rollout.name
      const updated: Instance = { ...instance, goal: 'TERMINATE', reportedState: 'REMOVED' }
      work.orchestration.putInstance(updated)
      for (const known of work.orchestration.resourcesOf(deployment.key, component)) {
        if (known.goneAt !== null) continue
        const goneAt = known.sync === null ? work.moment().at : null
        const sync = known.sync === null ? null : 'DELETED'
        const next = { ...known, sync, presence: 'NOT_PRESENT', goneAt, detailHash: null } as const
        putResource(work, updated, known, assess(next, known), { detail: null })
        yield
      }
      followDeployment(work, rollout, updated, deployment.targetKey, deployment.key)
      followInstance(work, rollout.key, updated.key)
      return { revision: work.revision(), verdict: work.revision() > before ? 'APPLIED' : 'UNCHANGED' }
    },
  }
}

function* recordResources(
  work: UnitOfWork,
  rollout: Rollout,
  instance: Instance,
  deploymentKey: number,
  targetKey: number,
  { component, resources, reportedState }: BundleInstance,
): Paced<void> {
  const { orchestration } = work
  const isSeen = orchestration.bundle(instance.key, targetKey, component) !== null
  const listed = new Set<number>()
  for (const item of resources) {
    const known = matchResource(orchestration.resourcesLike(deploymentKey, component, item), item)
    const base =
      known ?? blankResource(work.newKey(), rollout, instance, deploymentKey, targetKey, { ...item, component })
    listed.add(base.key)
    const presence = base.presence === 'UNKNOWN' && isSeen ? 'NOT_PRESENT' : base.presence
    const next = {
      ...base,
      version: item.version || base.version,
      namespace: base.namespace ?? item.namespace,
      sync: syncOf(reportedState, base.sync),
      presence,
      goneAt: null,
    } as const
    putResource(work, instance, known, assess(next, base), {})
    yield
  }
  for (const known of orchestration.resourcesOf(deploymentKey, component)) {
    if (listed.has(known.key) || known.goneAt !== null || known.sync === null) continue
    const goneAt = known.presence === 'PRESENT' ? null : work.moment().at
    putResource(work, instance, known, assess({ ...known, sync: null, goneAt }, known), {})
    yield
  }
}

/** A k8splugin gives one status for all resources, an orchestrator one for each resource. */
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

function requireInstance(work: UnitOfWork, instanceId: string) {
  const instance = work.orchestration.instanceById(instanceId)
  const rollout = instance && work.rolloutByKey(instance.rolloutKey)
  const [deployment] = instance ? work.deploymentsOfInstance(instance.key) : []
  if (!instance || rollout?.kind !== 'RESOURCE_BUNDLE' || !deployment)
    throw new DomainError(
      'NOT_FOUND_YET',
      `there is no instance ${instanceId}: PUT /v1/instance/${instanceId} makes it`,
    )
  return { instance, rollout, deployment }
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
