import { type Assessment, pending, ready } from './assessment.ts'
import { fields, type KubernetesObject } from './kubernetes-object.ts'

/** Any address counts, even an empty entry: some balancers have neither an IP nor a host name to tell. */
const hasAddress = (object: KubernetesObject): boolean => {
  const { ingress } = fields(object.status.loadBalancer)
  return Array.isArray(ingress) && ingress.length > 0
}

const waiting = pending('NoAddress', 'the load balancer has no address yet')

export const ingressReadiness = (object: KubernetesObject): Assessment => (hasAddress(object) ? ready() : waiting)

/** Only a LoadBalancer has something to wait for. */
export const serviceReadiness = (object: KubernetesObject): Assessment =>
  object.spec.type !== 'LoadBalancer' || hasAddress(object) ? ready() : waiting
