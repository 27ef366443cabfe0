import type { Assessment } from '../orchestration/resource.ts'
import { failed, pending, ready } from './assessment.ts'
import { outdatedStatus } from './generation.ts'
import {
  conditionOf,
  count,
  type Fields,
  type KubernetesObject,
  optionalNumber,
  trueCondition,
} from './kubernetes-object.ts'

/** The controller's value for "no deadline". It then writes no Progressing condition. */
const noDeadline = 2 ** 31 - 1

export const deploymentReadiness = (object: KubernetesObject): Assessment => {
  if (object.spec.paused === true) return pending('Suspended', 'the Deployment is paused')
  return outdatedStatus(object) ?? failure(object) ?? rollout(object) ?? contradiction(object) ?? ready()
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
  const limit = optionalNumber(spec.replicas) ?? Number.POSITIVE_INFINITY
  const replicas = count(status.replicas)
  const readyReplicas = count(status.readyReplicas)
  if (replicas < desired) return pending('LessReplicas', `${replicas} of ${desired} replicas exist`)
  if (!isAbbreviated(status)) {
    const updated = count(status.updatedReplicas)
    const available = count(status.availableReplicas)
    if (updated < desired) return pending('LessUpdated', `${updated} of ${desired} replicas are updated`)
    if (replicas > updated) return pending('ExtraPods', `${replicas - updated} old replicas still exist`)
    if (available < updated) return pending('LessAvailable', `${available} of ${updated} replicas are available`)
  }
  if (replicas > limit) return pending('ExtraPods', `${replicas - limit} extra replicas still exist`)
  // As many replicas exist as are desired.
  if (readyReplicas < replicas) return pending('LessReady', `${readyReplicas} of ${replicas} replicas are ready`)
  return null
}

/**
 * Without a spec (a bare status block), status.replicas is the desired number. If that is absent too, an
 * Available condition means that the Deployment is scaled to zero; otherwise the default of one replica is desired.
 */
const desiredReplicas = (object: KubernetesObject): number =>
  optionalNumber(object.spec.replicas) ??
  optionalNumber(object.status.replicas) ??
  (trueCondition(object, 'Available') === undefined ? 1 : 0)

/** A summary, not Kubernetes' own status: that never has ready replicas without one of these fields. Only one rule applies: replicas equals readyReplicas. */
const isAbbreviated = (status: Fields): boolean =>
  count(status.readyReplicas) > 0 &&
  [status.updatedReplicas, status.availableReplicas, status.unavailableReplicas, status.conditions].every(
    (value) => value === undefined || value === null,
  )

/** The counts are complete, but a condition contradicts them (kstatus). An absent condition contradicts nothing (gitops-engine). */
const contradiction = (object: KubernetesObject): Assessment | null => {
  const progressing = conditionOf(object, 'Progressing')
  const hasDeadline = (optionalNumber(object.spec.progressDeadlineSeconds) ?? noDeadline) !== noDeadline
  const done = progressing?.status === 'True' && progressing.reason === 'NewReplicaSetAvailable'
  if (hasDeadline && progressing && !done)
    return pending(progressing.reason || 'ReplicaSetNotAvailable', progressing.message)
  const available = conditionOf(object, 'Available')
  if (available && available.status !== 'True')
    return pending(available.reason || 'DeploymentNotAvailable', available.message)
  return null
}
