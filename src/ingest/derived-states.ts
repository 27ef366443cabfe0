/** Derives states from facts about an instance: of its deployments, of itself, and of the instance that it updates. */
import type { Deployment } from '../domain/deployment.ts'
import { type Instance, instanceStatus } from '../domain/orchestration/instance.ts'
import { applyDerived, applyIsCurrent } from '../domain/orchestration/orchestrated.ts'
import type { Rollout } from '../domain/rollout.ts'
import type { Target } from '../domain/target.ts'
import type { UnitOfWork } from './unit-of-work/unit-of-work.ts'

/** The orchestrator's name for a target, which is the reporter of its deployments. */
function reporterOf({ kind, provider, name }: Pick<Target, 'kind' | 'provider' | 'name'>): string {
  return kind === 'CLUSTER' ? `${provider}+${name}` : name
}

/** An instance on a target. Its deployment there may not exist yet. */
export interface InstanceOnTarget {
  readonly rollout: Rollout
  readonly instance: Instance
  readonly targetKey: number
  readonly deploymentKey: number
}

/** With the changes of the batch so far. */
export function latestOf(work: UnitOfWork, place: InstanceOnTarget): InstanceOnTarget {
  const { rollout, instance } = place
  return {
    ...place,
    rollout: work.rolloutByKey(rollout.key) ?? rollout,
    instance: work.orchestration.instance(instance.key) ?? instance,
  }
}

/** Updates the deployment of an instance on a target after its resources or the instance's goal have changed. Creates it if it is new. */
export function deriveDeployment(
  work: UnitOfWork,
  { rollout, instance, targetKey, deploymentKey: key }: InstanceOnTarget,
): void {
  const known = work.deploymentByKey(key)
  const standing = work.orchestration.standing(key, instance)
  if (!standing && !known && instance.reportedState === null) return
  const place = {
    key,
    targetKey,
    rolloutKey: rollout.key,
    instanceKey: instance.key,
    deploymentId: instance.instanceId,
    reporter: reporterOf(work.targetByKey(targetKey)),
    application: rollout.compositeApp,
    applicationVersion: rollout.compositeAppVersion,
  }
  const { isCurrent } = instance
  const state = instance.reportedState ?? known?.state ?? 'PENDING'
  const empty = { state, readiness: 'UNKNOWN', components: [], isCurrent } as const
  work.apply(known, applyDerived(known, standing ?? empty, place, work.moment()), null)
}

/** Updates all deployments of an instance after its goal has changed. */
export function deriveDeployments(work: UnitOfWork, rollout: Rollout, instance: Instance): void {
  for (const { key, targetKey, forgottenAt } of work.deploymentsOfInstance(instance.key))
    if (forgottenAt === null) deriveDeployment(work, { rollout, instance, targetKey, deploymentKey: key })
}

/** Updates the status of the instance, then of the instance that it updates, then of the rollout. */
export function deriveInstance(work: UnitOfWork, rolloutKey: number, instanceKey: number): void {
  const instance = work.orchestration.instance(instanceKey)
  if (!instance) throw new Error(`instance ${instanceKey} was not loaded`)
  const successor = instance.successorKey === null ? null : work.orchestration.instance(instance.successorKey)
  const status = instanceStatus(instance, work.orchestration.syncCounts(instance.key), successor?.status ?? null)
  setStatus(work, instance, status)
  for (const earlier of work.orchestration.instancesOf(rolloutKey))
    if (earlier.successorKey === instanceKey && earlier.goal === 'GIVE_WAY')
      deriveInstance(work, rolloutKey, earlier.key)
  const rollout = work.rolloutByKey(rolloutKey)
  if (rollout?.currentInstanceKey === instanceKey && rollout.status !== status) work.putRollout({ ...rollout, status })
}

function setStatus(work: UnitOfWork, instance: Instance, status: Instance['status']): void {
  if (instance.status === status) return
  const change = { kind: 'INSTANCE_STATUS_CHANGED', fromStatus: instance.status, toStatus: status } as const
  work.recordInstance({ ...instance, status }, change)
}

/** Makes that instance the current one of the rollout. */
export function makeCurrent(work: UnitOfWork, rollout: Rollout, instance: Instance): Rollout {
  const current = { ...rollout, currentInstanceKey: instance.key, status: instance.status }
  work.putRollout(current)
  const before = rollout.currentInstanceKey
  const superseded = before === null || before === instance.key ? null : work.orchestration.instance(before)
  if (before === null || !superseded) return current
  work.orchestration.putInstance({ ...superseded, isCurrent: false })
  for (const known of work.deploymentsOfInstance(before)) supersede(work, known)
  return current
}

function supersede(work: UnitOfWork, known: Deployment): void {
  if (known.forgottenAt === null) work.apply(known, applyIsCurrent(known, false, work.moment()), null)
}
