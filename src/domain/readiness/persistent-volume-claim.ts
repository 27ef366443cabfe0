import type { Assessment } from '../orchestration/resource.ts'
import { failed, pending, ready } from './assessment.ts'
import { type KubernetesObject, text } from './kubernetes-object.ts'

export const claimReadiness = (object: KubernetesObject): Assessment => {
  const phase = text(object.status.phase)
  if (phase === 'Bound') return ready()
  if (phase === 'Lost') return failed('ClaimLost', 'the volume of the claim no longer exists')
  return pending('NotBound', `the claim is not bound${phase === '' ? '' : `: ${phase}`}`)
}
