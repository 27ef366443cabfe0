import type { Assessment } from '../orchestration/resource.ts'
import { apiServiceReadiness, definitionReadiness } from './api-extension.ts'
import { ready } from './assessment.ts'
import { daemonSetReadiness } from './daemon-set.ts'
import { deploymentReadiness } from './deployment.ts'
import { autoscalerReadiness } from './horizontal-pod-autoscaler.ts'
import { jobReadiness } from './job.ts'
import type { KubernetesObject } from './kubernetes-object.ts'
import { ingressReadiness, serviceReadiness } from './load-balancer.ts'
import { claimReadiness } from './persistent-volume-claim.ts'
import { podReadiness } from './pod.ts'
import { replicaSetReadiness } from './replica-set.ts'
import { statefulSetReadiness } from './stateful-set.ts'

type Rule = (object: KubernetesObject) => Assessment

/** Ready as soon as it exists: no controller processes it, or (CronJob, PodDisruptionBudget) the controller's work does not affect its readiness. */
const alwaysReady: Rule = () => ready()

const core = ['']
const apps = ['apps', 'extensions']

/** The API groups of a kind, with its former ones. The version does not matter. */
const rules: ReadonlyMap<string, { readonly groups: readonly string[]; readonly rule: Rule }> = new Map([
  ['Deployment', { groups: apps, rule: deploymentReadiness }],
  ['ReplicaSet', { groups: apps, rule: replicaSetReadiness }],
  ['StatefulSet', { groups: apps, rule: statefulSetReadiness }],
  ['DaemonSet', { groups: apps, rule: daemonSetReadiness }],
  ['Pod', { groups: core, rule: podReadiness }],
  ['Job', { groups: ['batch', 'extensions'], rule: jobReadiness }],
  ['CronJob', { groups: ['batch'], rule: alwaysReady }],
  ['Service', { groups: core, rule: serviceReadiness }],
  ['PersistentVolumeClaim', { groups: core, rule: claimReadiness }],
  ['Ingress', { groups: ['networking.k8s.io', 'extensions'], rule: ingressReadiness }],
  ['HorizontalPodAutoscaler', { groups: ['autoscaling', 'extensions'], rule: autoscalerReadiness }],
  ['PodDisruptionBudget', { groups: ['policy'], rule: alwaysReady }],
  ['APIService', { groups: ['apiregistration.k8s.io'], rule: apiServiceReadiness }],
  ['CustomResourceDefinition', { groups: ['apiextensions.k8s.io'], rule: definitionReadiness }],
  ['ConfigMap', { groups: core, rule: alwaysReady }],
  ['Secret', { groups: core, rule: alwaysReady }],
])

/** The rule of the kind. A kind of the same name in another group has none. Without an apiVersion the name alone decides. */
export const ruleOf = ({ kind, group }: KubernetesObject): Rule | null => {
  const entry = rules.get(kind)
  return entry && (group === null || entry.groups.includes(group)) ? entry.rule : null
}
