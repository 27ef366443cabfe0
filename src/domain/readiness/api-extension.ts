import type { Assessment } from '../orchestration/resource.ts'
import { failed, pending, ready } from './assessment.ts'
import { conditionOf, type KubernetesObject } from './kubernetes-object.ts'

export const apiServiceReadiness = (object: KubernetesObject): Assessment => {
  const available = conditionOf(object, 'Available')
  if (available === undefined) return pending('NotObserved', 'the APIService is not processed yet')
  return available.status === 'True'
    ? ready(available.message)
    : pending(available.reason || 'NotAvailable', available.message)
}

export const definitionReadiness = (object: KubernetesObject): Assessment => {
  const names = conditionOf(object, 'NamesAccepted')
  if (names?.status === 'False') return failed(names.reason || 'NamesNotAccepted', names.message)
  const established = conditionOf(object, 'Established')
  if (established?.status === 'True') return ready(established.message)
  // Only `Installing` resolves by itself.
  if (established?.status === 'False' && established.reason !== 'Installing')
    return failed(established.reason || 'NotEstablished', established.message)
  return pending('Installing', established?.message)
}
