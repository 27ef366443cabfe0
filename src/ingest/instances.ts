/** What follows from a fact about an instance: its deployments' states, its own status, and that of the one it updates. */
import type { Deployment } from '../domain/deployment.ts'
import { type Instance, instanceStatus } from '../domain/instance.ts'
import { applyCurrency, applyStanding } from '../domain/orchestrated.ts'
import type { Rollout } from '../domain/rollout.ts'
import type { Target } from '../domain/target.ts'
import type { World } from './world.ts'

/** What an orchestrator calls the target, and so the reporter of its deployments. */
export function reporterOf({ kind, provider, name }: Pick<Target, 'kind' | 'provider' | 'name'>): string {
  return kind === 'CLUSTER' ? `${provider}+${name}` : name
}

/** The deployment of an instance on a target after its resources or its instance's goal have changed; made if it is new. */
export function followDeployment(
  world: World,
  rollout: Rollout,
  instance: Instance,
  targetKey: number,
  key: number,
): void {
  const known = world.deploymentByKey(key)
  const standing = world.orchestration.standing(key, instance)
  if (!standing && !known && instance.told === null) return
  const place = {
    key,
    targetKey,
    rolloutKey: rollout.key,
    instanceKey: instance.key,
    deploymentId: instance.instanceId,
    reporter: reporterOf(world.targetByKey(targetKey)),
    application: rollout.compositeApp,
    applicationVersion: rollout.compositeAppVersion,
  }
  const { isCurrent } = instance
  const state = instance.told ?? known?.state ?? 'PENDING'
  const empty = { state, readiness: 'UNKNOWN', components: [], isCurrent } as const
  world.commit(known, applyStanding(known, standing ?? empty, place, world.moment()), null)
}

/** All deployments of an instance, after its goal has changed. */
export function followDeployments(world: World, rollout: Rollout, instance: Instance): void {
  for (const { key, targetKey, forgottenAt } of world.deploymentsOfInstance(instance.key))
    if (forgottenAt === null) followDeployment(world, rollout, instance, targetKey, key)
}

/** The instance's status, and after it that of the instance it updates, and its rollout's. */
export function followInstance(world: World, rolloutKey: number, instanceKey: number): void {
  const instance = world.orchestration.instance(instanceKey)
  if (!instance) throw new Error(`instance ${instanceKey} was not loaded`)
  const successor = instance.successorKey === null ? null : world.orchestration.instance(instance.successorKey)
  const status = instanceStatus(instance, world.orchestration.syncCounts(instance.key), successor?.status ?? null)
  setStatus(world, instance, status)
  for (const earlier of world.orchestration.instancesOf(rolloutKey))
    if (earlier.successorKey === instanceKey && earlier.goal === 'GIVE_WAY')
      followInstance(world, rolloutKey, earlier.key)
  const rollout = world.rolloutByKey(rolloutKey)
  if (rollout?.currentInstanceKey === instanceKey && rollout.status !== status) world.putRollout({ ...rollout, status })
}

function setStatus(world: World, instance: Instance, status: Instance['status']): void {
  if (instance.status === status) return
  const change = { kind: 'INSTANCE_STATUS_CHANGED', fromStatus: instance.status, toStatus: status } as const
  world.recordInstance({ ...instance, status }, change)
}

/** From now on the rollout shows that instance as its own, and not the one before. */
export function makeCurrent(world: World, rollout: Rollout, instance: Instance): Rollout {
  const current = { ...rollout, currentInstanceKey: instance.key, status: instance.status }
  world.putRollout(current)
  const before = rollout.currentInstanceKey
  const superseded = before === null || before === instance.key ? null : world.orchestration.instance(before)
  if (before === null || !superseded) return current
  world.orchestration.putInstance({ ...superseded, isCurrent: false })
  for (const known of world.deploymentsOfInstance(before)) supersede(world, known)
  return current
}

function supersede(world: World, known: Deployment): void {
  if (known.forgottenAt === null) world.commit(known, applyCurrency(known, false, world.moment()), null)
}
