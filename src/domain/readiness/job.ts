import type { Assessment } from '../orchestration/resource.ts'
import { failed, pending, ready } from './assessment.ts'
import { type KubernetesObject, text, trueCondition } from './kubernetes-object.ts'

/** Only True conditions count: a resumed Job keeps `Suspended: False`, and some controllers write `Failed: False` from the start. */
export const jobReadiness = (object: KubernetesObject): Assessment => {
  const failure = trueCondition(object, 'Failed')
  if (failure) return failed(failure.reason || 'JobFailed', failure.message)
  const complete = trueCondition(object, 'Complete')
  if (complete) return ready(complete.message)
  const suspended = trueCondition(object, 'Suspended')
  if (suspended || object.spec.suspend === true) return pending('Suspended', suspended?.message)
  return text(object.status.startTime) === ''
    ? pending('JobNotStarted', 'the Job has not started')
    : pending('JobRunning', 'the Job is running')
}
