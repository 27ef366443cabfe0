import type { Assessment } from '../orchestration/resource.ts'
import { pending, ready } from './assessment.ts'
import { observedGeneration } from './generation.ts'
import { count, type Fields, fields, type KubernetesObject, optionalNumber, text } from './kubernetes-object.ts'

/** A StatefulSet sets no conditions, so only its counts and revisions are known, and it is never FAILED. */
export const statefulSetReadiness = (object: KubernetesObject): Assessment => {
  if (!observedGeneration(object)) return pending('NotObserved', 'the controller has not observed it yet')
  const { spec, status } = object
  const strategy = fields(spec.updateStrategy)
  const desired = optionalNumber(spec.replicas) ?? optionalNumber(status.replicas) ?? 1
  const replicas = optionalNumber(status.replicas) ?? desired
  const readyReplicas = count(status.readyReplicas)
  if (replicas < desired) return pending('LessReplicas', `${replicas} of ${desired} replicas exist`)
  if (readyReplicas < desired) return pending('LessReady', `${readyReplicas} of ${desired} replicas are ready`)
  // With OnDelete the user replaces the Pods, so there is no update to wait for.
  if (strategy.type === 'OnDelete') return ready()
  if (replicas > desired) return pending('ExtraPods', `${replicas - desired} extra replicas still exist`)
  return (isRolling(strategy) ? partition(object, desired) : revisions(object, desired)) ?? ready()
}

/** `RollingUpdate` is the API's default. If its parameters are set, only the partition decides: a partition keeps two revisions on purpose. */
const isRolling = (strategy: Fields): boolean =>
  ['', 'RollingUpdate'].includes(text(strategy.type)) &&
  typeof strategy.rollingUpdate === 'object' &&
  strategy.rollingUpdate !== null

const partition = ({ spec, status }: KubernetesObject, desired: number): Assessment | null => {
  const kept = optionalNumber(fields(fields(spec.updateStrategy).rollingUpdate).partition)
  const updated = count(status.updatedReplicas)
  if (kept === undefined || updated >= desired - kept) return null
  return pending('PartitionRollout', `${updated} of ${desired - kept} replicas are updated`)
}

const revisions = ({ status }: KubernetesObject, desired: number): Assessment | null => {
  const current = optionalNumber(status.currentReplicas) ?? desired
  if (current < desired) return pending('LessCurrent', `${current} of ${desired} replicas are current`)
  if (text(status.currentRevision) === text(status.updateRevision)) return null
  return pending('RevisionMismatch', `the rolling update to ${text(status.updateRevision)} is not complete`)
}
