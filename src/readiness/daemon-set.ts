import { type Assessment, pending, ready } from './assessment.ts'
import { unobserved } from './generation.ts'
import { count, fields, given, type KubernetesObject } from './kubernetes-object.ts'

export const daemonSetReadiness = (object: KubernetesObject): Assessment => {
  const stale = unobserved(object)
  if (stale) return stale
  // Under OnDelete the user replaces the Pods when it suits.
  if (fields(object.spec.updateStrategy).type === 'OnDelete') return ready()
  return counts(object) ?? ready()
}

const counts = ({ status }: KubernetesObject): Assessment | null => {
  const desired = given(status.desiredNumberScheduled)
  // The controller always writes it, even as 0.
  if (desired === undefined) return pending('NoDesiredNumber', 'the controller has not counted the nodes yet')
  const rows = [
    // Only kstatus looks at the first and last: they count when they are there.
    ['LessCurrent', 'scheduled', given(status.currentNumberScheduled) ?? desired],
    ['LessUpdated', 'updated', count(status.updatedNumberScheduled)],
    ['LessAvailable', 'available', count(status.numberAvailable)],
    ['LessReady', 'ready', given(status.numberReady) ?? desired],
  ] as const
  const short = rows.find(([, , have]) => have < desired)
  return short ? pending(short[0], `${short[2]} of ${desired} pods are ${short[1]}`) : null
}
