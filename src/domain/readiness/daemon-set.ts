import type { Assessment } from '../orchestration/resource.ts'
import { pending, ready } from './assessment.ts'
import { outdatedStatus } from './generation.ts'
import { count, fields, type KubernetesObject, optionalNumber } from './kubernetes-object.ts'

export const daemonSetReadiness = (object: KubernetesObject): Assessment => {
  const stale = outdatedStatus(object)
  if (stale) return stale
  // With OnDelete the user replaces the Pods, so there is nothing to wait for.
  if (fields(object.spec.updateStrategy).type === 'OnDelete') return ready()
  return counts(object) ?? ready()
}

const counts = ({ status }: KubernetesObject): Assessment | null => {
  const desired = optionalNumber(status.desiredNumberScheduled)
  // The controller always writes this field, even as 0.
  if (desired === undefined) return pending('NoDesiredNumber', 'the controller has not counted the nodes yet')
  const rows = [
    // Only kstatus checks the first and the last field. They count only if they are present.
    ['LessCurrent', 'scheduled', optionalNumber(status.currentNumberScheduled) ?? desired],
    ['LessUpdated', 'updated', count(status.updatedNumberScheduled)],
    ['LessAvailable', 'available', count(status.numberAvailable)],
    ['LessReady', 'ready', optionalNumber(status.numberReady) ?? desired],
  ] as const
  const short = rows.find(([, , have]) => have < desired)
  return short ? pending(short[0], `${short[2]} of ${desired} pods are ${short[1]}`) : null
}
