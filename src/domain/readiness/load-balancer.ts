import type { Assessment } from '../orchestration/resource.ts'
import { pending, ready } from './assessment.ts'
import { fields, type KubernetesObject } from './kubernetes-object.ts'

/** Any entry counts, even an empty one: some load balancers report neither an IP address nor a host name. */
const hasAddress = (object: KubernetesObject): boolean => {
  const { ingress } = fields(object.status.loadBalancer)
  return Array.isArray(ingress) && ingress.length > 0
}

const waiting = pending('NoAddress', 'the load balancer has no address yet')

export const ingressReadiness = (object: KubernetesObject): Assessment => (hasAddress(object) ? ready() : waiting)

/** Only a Service of type LoadBalancer waits for an address. */
export const serviceReadiness = (object: KubernetesObject): Assessment =>
  object.spec.type !== 'LoadBalancer' || hasAddress(object) ? ready() : waiting
