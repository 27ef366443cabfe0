import { type Assessment, pending, ready } from './assessment.ts'
import { observedGeneration, unobserved } from './generation.ts'
import { count, type Fields, fields, given, type KubernetesObject, text } from './kubernetes-object.ts'

/** A StatefulSet sets no conditions: only its numbers and revisions speak, and there is no telling that one has failed. */
export const statefulSetReadiness = (object: KubernetesObject): Assessment => {
  if (!observedGeneration(object)) return pending('NotObserved', 'the controller has not looked at it yet')
  const stale = unobserved(object)
  if (stale) return stale
  const { spec, status } = object
  const strategy = fields(spec.updateStrategy)
  const desired = given(spec.replicas) ?? given(status.replicas) ?? 1
  const replicas = given(status.replicas) ?? desired
  const readyReplicas = count(status.readyReplicas)
  if (replicas < desired) return pending('LessReplicas', `${replicas} of ${desired} replicas exist`)
  if (readyReplicas < desired) return pending('LessReady', `${readyReplicas} of ${desired} replicas are ready`)
  // Under OnDelete the user replaces the Pods when it suits: an old revision is nothing to wait for.
  if (strategy.type === 'OnDelete') return ready()
  if (replicas > desired) return pending('ExtraPods', `${replicas - desired} replicas too many are still there`)
  return (isRolling(strategy) ? partition(object, desired) : revisions(object, desired)) ?? ready()
}

/** `RollingUpdate` is the API's default; with its parameters given the partition alone decides, and a partition keeps two revisions on purpose. */
const isRolling = (strategy: Fields): boolean =>
  ['', 'RollingUpdate'].includes(text(strategy.type)) &&
  typeof strategy.rollingUpdate === 'object' &&
  strategy.rollingUpdate !== null

const partition = ({ spec, status }: KubernetesObject, desired: number): Assessment | null => {
  const kept = given(fields(fields(spec.updateStrategy).rollingUpdate).partition)
  const updated = count(status.updatedReplicas)
  if (kept === undefined || updated >= desired - kept) return null
  return pending('PartitionRollout', `${updated} of ${desired - kept} replicas are updated`)
}

const revisions = ({ status }: KubernetesObject, desired: number): Assessment | null => {
  const current = given(status.currentReplicas) ?? desired
  if (current < desired) return pending('LessCurrent', `${current} of ${desired} replicas are current`)
  if (text(status.currentRevision) === text(status.updateRevision)) return null
  return pending('RevisionMismatch', `the rolling update to ${text(status.updateRevision)} is not complete`)
}
