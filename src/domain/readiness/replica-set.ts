import type { Assessment } from '../orchestration/resource.ts'
import { failed, pending, ready } from './assessment.ts'
import { outdatedStatus } from './generation.ts'
import { count, type KubernetesObject, optionalNumber, trueCondition } from './kubernetes-object.ts'

export const replicaSetReadiness = (object: KubernetesObject): Assessment =>
  outdatedStatus(object) ?? failure(object) ?? counts(object) ?? ready()

const failure = (object: KubernetesObject): Assessment | null => {
  const refused = trueCondition(object, 'ReplicaFailure')
  return refused ? failed(refused.reason || 'ReplicaFailure', refused.message) : null
}

const counts = ({ spec, status }: KubernetesObject): Assessment | null => {
  // The API always writes status.replicas, so `replicas: 0` without a spec means scaled down, not absent.
  const desired = optionalNumber(spec.replicas) ?? optionalNumber(status.replicas) ?? 1
  const available = count(status.availableReplicas)
  // Only kstatus checks these fields. They count only if they are present.
  const labelled = optionalNumber(status.fullyLabeledReplicas) ?? desired
  const readyReplicas = optionalNumber(status.readyReplicas) ?? desired
  const extra = count(status.replicas) - desired
  if (labelled < desired) return pending('LessLabelled', `${labelled} of ${desired} replicas carry the labels`)
  if (available < desired) return pending('LessAvailable', `${available} of ${desired} replicas are available`)
  if (readyReplicas < desired) return pending('LessReady', `${readyReplicas} of ${desired} replicas are ready`)
  return extra > 0 ? pending('ExtraPods', `${extra} extra replicas still exist`) : null
}
