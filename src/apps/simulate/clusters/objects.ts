/** An application's objects as a cluster has them, and the ResourceBundleState that lists them, each with its expected readiness. */
import type { Readiness } from '../../../domain/values.ts'
import type { App } from './plan.ts'

export interface SimulatedObject {
  readonly list: 'podStatuses' | 'deploymentStatuses' | 'serviceStatuses' | 'configMapStatuses'
  readonly group: string
  readonly kind: string
  readonly name: string
  readonly readiness: Readiness
  readonly object: object
}

/** The complete list of an app's objects that a cluster shows at one time. */
export interface ObjectList {
  /** The status context. */
  readonly context: string
  readonly app: App
  readonly cluster: string
  /** Of the custom resource. */
  readonly version: number
  readonly objects: readonly SimulatedObject[]
}

export type PodState = 'pending' | 'running' | 'stuck'

export interface PodPlan {
  readonly name: string
  readonly state: PodState
}

const namespace = 'default'
export const replicas = 2

export function objectsOf(app: App, generation: number, pods: readonly PodPlan[]): readonly SimulatedObject[] {
  const serving = pods.filter(({ state }) => state === 'running').length
  const deployment = {
    metadata: { name: app, namespace, generation },
    spec: { replicas },
    status: {
      observedGeneration: generation,
      replicas: pods.length,
      updatedReplicas: pods.length,
      readyReplicas: serving,
      availableReplicas: serving,
    },
  }
  const service = { metadata: { name: `${app}-service`, namespace }, spec: { type: 'ClusterIP' }, status: {} }
  const settings = { metadata: { name: `${app}-settings`, namespace } }
  return [
    {
      list: 'deploymentStatuses',
      group: 'apps',
      kind: 'Deployment',
      name: app,
      readiness: serving === replicas ? 'READY' : 'PENDING',
      object: deployment,
    },
    {
      list: 'serviceStatuses',
      group: '',
      kind: 'Service',
      name: `${app}-service`,
      readiness: 'READY',
      object: service,
    },
    {
      list: 'configMapStatuses',
      group: '',
      kind: 'ConfigMap',
      name: `${app}-settings`,
      readiness: 'READY',
      object: settings,
    },
    ...pods.map((pod) => podOf(app, pod)),
  ]
}

const podReadiness: Readonly<Record<PodState, Readiness>> = { pending: 'PENDING', running: 'READY', stuck: 'FAILED' }

function podOf(app: App, { name, state }: PodPlan): SimulatedObject {
  const waiting = { reason: 'ImagePullBackOff', message: `Back-off pulling image "registry.plant/${app}:2"` }
  const containers = {
    pending: [],
    running: [{ name: app, ready: true, state: { running: {} } }],
    stuck: [{ name: app, ready: false, state: { waiting } }],
  }
  const status = { phase: state === 'running' ? 'Running' : 'Pending', containerStatuses: containers[state] }
  const object = { metadata: { name, namespace, labels: { app } }, status }
  return { list: 'podStatuses', group: '', kind: 'Pod', name, readiness: podReadiness[state], object }
}

export function bundleOf({ context, app, cluster, version, objects }: ObjectList): object {
  const status = Object.fromEntries(
    [...Map.groupBy(objects, ({ list }) => list)].map(([list, shown]) => [list, shown.map(({ object }) => object)]),
  )
  return {
    apiVersion: 'k8splugin.io/v1alpha1',
    kind: 'ResourceBundleState',
    metadata: {
      name: `${app}-${context}`,
      uid: `${context}/${app}/${cluster}`,
      resourceVersion: String(version),
      labels: { 'emco/deployment-id': `${context}-${app}` },
    },
    status,
  }
}
