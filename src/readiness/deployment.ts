import { type Assessment, failed, pending, ready } from './assessment.ts'
import { unobserved } from './generation.ts'
import { conditionOf, count, type Fields, given, type KubernetesObject, trueCondition } from './kubernetes-object.ts'

/** The controller's "no deadline": it then never writes a Progressing condition. */
const noDeadline = 2 ** 31 - 1

export const deploymentReadiness = (object: KubernetesObject): Assessment => {
  if (object.spec.paused === true) return pending('Suspended', 'the Deployment is paused')
  return unobserved(object) ?? failure(object) ?? rollout(object) ?? contradiction(object) ?? ready()
}

const failure = (object: KubernetesObject): Assessment | null => {
  const progressing = conditionOf(object, 'Progressing')
  if (progressing?.reason === 'ProgressDeadlineExceeded') return failed(progressing.reason, progressing.message)
  const refused = trueCondition(object, 'ReplicaFailure')
  return refused ? failed(refused.reason || 'ReplicaFailure', refused.message) : null
}

const rollout = (object: KubernetesObject): Assessment | null => {
  const { spec, status } = object
  const desired = desiredReplicas(object)
  const limit = given(spec.replicas) ?? Number.POSITIVE_INFINITY
  const replicas = count(status.replicas)
  const readyReplicas = count(status.readyReplicas)
  if (replicas < desired) return pending('LessReplicas', `${replicas} of ${desired} replicas exist`)
  if (!isAbbreviated(status)) {
    const updated = count(status.updatedReplicas)
    const available = count(status.availableReplicas)
    if (updated < desired) return pending('LessUpdated', `${updated} of ${desired} replicas are updated`)
    if (replicas > updated) return pending('ExtraPods', `${replicas - updated} old replicas are still there`)
    if (available < updated) return pending('LessAvailable', `${available} of ${updated} replicas are available`)
  }
  if (replicas > limit) return pending('ExtraPods', `${replicas - limit} replicas too many are still there`)
  if (readyReplicas < Math.max(desired, replicas))
    return pending('LessReady', `${readyReplicas} of ${Math.max(desired, replicas)} replicas are ready`)
  return null
}

/**
 * Without a spec (a bare status block) k8splugin's rule holds: replicas is what is wanted. Nothing there is wanted when the controller calls
 * nothing available (scaled to zero), and otherwise is the default of one that has not come yet.
 */
const desiredReplicas = (object: KubernetesObject): number =>
  given(object.spec.replicas) ??
  given(object.status.replicas) ??
  (trueCondition(object, 'Available') === undefined ? 1 : 0)

/** Somebody's summary rather than Kubernetes' own status, which never has ready replicas without one of these: judged by k8splugin's rule (replicas equals readyReplicas) alone. */
const isAbbreviated = (status: Fields): boolean =>
  count(status.readyReplicas) > 0 &&
  [status.updatedReplicas, status.availableReplicas, status.unavailableReplicas, status.conditions].every(
    (value) => value === undefined || value === null,
  )

/** The counts are complete, yet a condition that is there denies it (kstatus). One that is absent denies nothing (gitops-engine). */
const contradiction = (object: KubernetesObject): Assessment | null => {
  const progressing = conditionOf(object, 'Progressing')
  const hasDeadline = (given(object.spec.progressDeadlineSeconds) ?? noDeadline) !== noDeadline
  const done = progressing?.status === 'True' && progressing.reason === 'NewReplicaSetAvailable'
  if (hasDeadline && progressing && !done)
    return pending(progressing.reason || 'ReplicaSetNotAvailable', progressing.message)
  const available = conditionOf(object, 'Available')
  if (available && available.status !== 'True')
    return pending(available.reason || 'DeploymentNotAvailable', available.message)
  return null
}
