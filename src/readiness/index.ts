/**
 * A Kubernetes object → READY | PENDING | FAILED | UNKNOWN. The first that has something to say wins:
 *
 *   being deleted → observed generation is old → Stalled, Reconciling → the kind's rule → its Ready condition → READY
 *
 * The rules follow the two engines the field trusts, Argo's gitops-engine (pkg/health) and kstatus (cli-utils): what either waits for is waited
 * for; where they contradict each other gitops-engine wins; where one only says that it does not know, the other is heard.
 * Pure and total: any value has an answer, a bare `{kind, status}` block too.
 */
import { type Assessment, failed, pending, ready, unknown } from './assessment.ts'
import { observedGeneration, staleGeneration } from './generation.ts'
import { ruleOf } from './kinds.ts'
import { conditionOf, type KubernetesObject, parseKubernetesObject, trueCondition } from './kubernetes-object.ts'

export const readiness = (value: unknown): Assessment => {
  const object = parseKubernetesObject(value)
  if (object === null) return unknown('Malformed', 'not a Kubernetes object')
  if (object.metadata.deletionTimestamp) return pending('Terminating', 'the object is being deleted')
  if (object.malformed !== null) return unknown('Malformed', object.malformed)
  return (
    staleGeneration(object, observedGeneration(object)) ??
    standardConditions(object) ??
    ruleOf(object)?.(object) ??
    readyCondition(object) ??
    withoutAnySign(object)
  )
}

/** kstatus' conventions for controllers of any kind. */
const standardConditions = (object: KubernetesObject): Assessment | null => {
  const stalled = trueCondition(object, 'Stalled')
  if (stalled) return failed(stalled.reason || 'Stalled', stalled.message)
  const reconciling = trueCondition(object, 'Reconciling')
  return reconciling ? pending(reconciling.reason || 'Reconciling', reconciling.message) : null
}

const readyCondition = (object: KubernetesObject): Assessment | null => {
  const condition = conditionOf(object, 'Ready')
  if (condition === undefined) return null
  return condition.status === 'True'
    ? ready(condition.message)
    : pending(condition.reason || 'NotReady', condition.message)
}

/** A kind that nobody has a rule for is taken as ready by being there; of an object that names no kind not even that is known. */
const withoutAnySign = (object: KubernetesObject): Assessment =>
  object.kind === '' ? unknown('KindUnknown', 'the object names no kind') : ready()
