import { type Assessment, failed, pending, ready } from './assessment.ts'
import { unobserved } from './generation.ts'
import { count, given, type KubernetesObject, trueCondition } from './kubernetes-object.ts'

export const replicaSetReadiness = (object: KubernetesObject): Assessment =>
  unobserved(object) ?? failure(object) ?? counts(object) ?? ready()

const failure = (object: KubernetesObject): Assessment | null => {
  const refused = trueCondition(object, 'ReplicaFailure')
  return refused ? failed(refused.reason || 'ReplicaFailure', refused.message) : null
}

const counts = ({ spec, status }: KubernetesObject): Assessment | null => {
  // The API always writes status.replicas, so an old ReplicaSet's bare `replicas: 0` is scaled down, not forgotten.
  const desired = given(spec.replicas) ?? given(status.replicas) ?? 1
  const available = count(status.availableReplicas)
  // Only kstatus looks at these: they count when they are there.
  const labelled = given(status.fullyLabeledReplicas) ?? desired
  const readyReplicas = given(status.readyReplicas) ?? desired
  const extra = count(status.replicas) - desired
  if (labelled < desired) return pending('LessLabelled', `${labelled} of ${desired} replicas carry the labels`)
  if (available < desired) return pending('LessAvailable', `${available} of ${desired} replicas are available`)
  if (readyReplicas < desired) return pending('LessReady', `${readyReplicas} of ${desired} replicas are ready`)
  return extra > 0 ? pending('ExtraPods', `${extra} replicas too many are still there`) : null
}
