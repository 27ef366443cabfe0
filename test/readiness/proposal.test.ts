import { expect, test } from 'vitest'
import { readiness } from '../../src/domain/readiness/index.ts'

/** The two status blocks of the k8splugin proposal, as it prints them: no metadata, no spec, the kind told by the resource's GVK. */
const deployment = {
  availableReplicas: 1,
  conditions: [
    {
      type: 'Available',
      status: 'True',
      reason: 'MinimumReplicasAvailable',
      message: 'Deployment has minimum availability.',
    },
    {
      type: 'Progressing',
      status: 'True',
      reason: 'NewReplicaSetAvailable',
      message: 'It has successfully progressed.',
    },
  ],
  observedGeneration: 1,
  readyReplicas: 1,
  replicas: 1,
  updatedReplicas: 1,
}

const pod = {
  conditions: ['Initialized', 'Ready', 'ContainersReady', 'PodScheduled'].map((type) => ({
    lastProbeTime: null,
    lastTransitionTime: '2019-07-19T21:48:55Z',
    status: 'True',
    type,
  })),
  containerStatuses: [
    {
      name: 'edgex-mongo',
      image: 'edgexfoundry/docker-edgex-mongo:0.8.0',
      lastState: {},
      ready: true,
      restartCount: 0,
      state: { running: { startedAt: '2019-07-19T21:48:27Z' } },
    },
  ],
  hostIP: null,
  phase: 'Running',
  podIP: null,
  qosClass: 'BestEffort',
  startTime: '2019-07-19T21:47:51Z',
}

test.each([
  ['Deployment', 'apps/v1beta2', deployment],
  ['Pod', 'v1', pod],
])("the proposal's %s is ready", (kind, apiVersion, status) => {
  expect(readiness({ kind, apiVersion, status })).toMatchObject({ readiness: 'READY', reason: null })
})

test("the proposal's Deployment is not ready when fewer are ready than there are", () => {
  const status = { ...deployment, readyReplicas: undefined }
  expect(readiness({ kind: 'Deployment', apiVersion: 'apps/v1', status }).readiness).toBe('PENDING')
})

test("the proposal's Pod is not ready when one of its containers is not", () => {
  const status = { ...pod, containerStatuses: [...pod.containerStatuses, { name: 'sidecar', ready: false }] }
  expect(readiness({ kind: 'Pod', apiVersion: 'v1', status }).readiness).toBe('PENDING')
})
