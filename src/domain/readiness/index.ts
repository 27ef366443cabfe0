/**
 * A Kubernetes object → READY | PENDING | FAILED | UNKNOWN. The first rule that applies decides:
 *
 *   being deleted → observed generation is old → Stalled, Reconciling → the kind's rule → its Ready condition → READY
 *
 * The rules follow two established engines: Argo's gitops-engine (pkg/health) and kstatus (cli-utils). A condition that makes either of
 * them wait is PENDING here. If they contradict each other, gitops-engine decides; if one does not know, the other decides.
 * Pure and total: every value has a readiness, also a bare `{kind, status}` block.
 */
import type { Assessment } from '../orchestration/resource.ts'
import { failed, pending, ready, unknown } from './assessment.ts'
import { observedGeneration, outdatedGeneration } from './generation.ts'
import { ruleOf } from './kinds.ts'
import { conditionOf, type KubernetesObject, parseKubernetesObject, trueCondition } from './kubernetes-object.ts'

export const readiness = (value: unknown): Assessment => {
  const object = parseKubernetesObject(value)
  if (object === null) return unknown('Malformed', 'not a Kubernetes object')
  if (object.metadata.deletionTimestamp) return pending('Terminating', 'the object is being deleted')
  if (object.malformed !== null) return unknown('Malformed', object.malformed)
  return (
    outdatedGeneration(object, observedGeneration(object)) ??
    standardConditions(object) ??
    ruleOf(object)?.(object) ??
    readyCondition(object) ??
    defaultReadiness(object)
  )
}

/** kstatus' conventions for all controllers. */
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

/** An object of a kind without a rule is ready because it exists. An object without a kind is UNKNOWN. */
const defaultReadiness = (object: KubernetesObject): Assessment =>
  object.kind === '' ? unknown('KindUnknown', 'the object names no kind') : ready()
