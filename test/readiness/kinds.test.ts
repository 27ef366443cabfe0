import { describe, expect, test } from 'vitest'
import { readiness } from '../../src/domain/readiness/index.ts'

type Row = readonly [name: string, object: object, readiness: string, reason?: string | null]

const check = (rows: readonly Row[]) =>
  test.each(rows)('%s', (_, object, expected, reason) => {
    const said = readiness(object)
    expect(said.readiness).toBe(expected)
    if (reason !== undefined) expect(said.reason).toBe(reason)
  })

const says = (type: string, status: string, reason?: string, message?: string) => ({ type, status, reason, message })
const of = (apiVersion: string, kind: string) => (status?: object, spec?: object) => ({
  apiVersion,
  kind,
  metadata: { name: 'x' },
  spec,
  status,
})

describe('a Job', () => {
  const job = (...conditions: object[]) => of('batch/v1', 'Job')({ startTime: '2026-01-01T00:00:00Z', conditions })
  check([
    ['is pending while it runs', job(), 'PENDING', 'JobRunning'],
    ['is pending before it starts', of('batch/v1', 'Job')(), 'PENDING', 'JobNotStarted'],
    ['is ready when complete', job(says('Complete', 'True')), 'READY'],
    ['has failed when failed', job(says('Failed', 'True', 'BackoffLimitExceeded')), 'FAILED', 'BackoffLimitExceeded'],
    ['denying both still runs', job(says('Failed', 'False'), says('Complete', 'False')), 'PENDING', 'JobRunning'],
    ['is pending while suspended', job(says('Suspended', 'True')), 'PENDING', 'Suspended'],
    ['about to be suspended is, too', of('batch/v1', 'Job')({}, { suspend: true }), 'PENDING', 'Suspended'],
    ['resumed runs again', job(says('Suspended', 'False', 'JobResumed')), 'PENDING', 'JobRunning'],
    ['complete after a suspension is ready', job(says('Suspended', 'False'), says('Complete', 'True')), 'READY'],
  ])
})

describe('what waits for an address', () => {
  const address = { loadBalancer: { ingress: [{}] } }
  const none = { loadBalancer: {} }
  const service = of('v1', 'Service')
  check([
    ['a LoadBalancer Service with one is ready', service(address, { type: 'LoadBalancer' }), 'READY'],
    [
      'a LoadBalancer Service without one waits',
      service(none, { type: 'LoadBalancer', clusterIP: '10.0.0.1' }),
      'PENDING',
      'NoAddress',
    ],
    ...[[], {}, null].map(
      (ingress) =>
        [
          `an Ingress with ${JSON.stringify(ingress)} as addresses waits`,
          of('networking.k8s.io/v1', 'Ingress')({ loadBalancer: { ingress } }),
          'PENDING',
          'NoAddress',
        ] as const,
    ),
    ['any other Service has nothing to wait for', service(none, { type: 'NodePort' }), 'READY'],
    ["a Service's bare status is ready", { apiVersion: 'v1', kind: 'Service', status: none }, 'READY'],
    ['an Ingress with one is ready', of('networking.k8s.io/v1', 'Ingress')(address), 'READY'],
    ['an Ingress without one waits', of('networking.k8s.io/v1', 'Ingress')(none), 'PENDING', 'NoAddress'],
    ['an Ingress of the old group waits, too', of('extensions/v1beta1', 'Ingress')(), 'PENDING', 'NoAddress'],
  ])
})

describe('a PersistentVolumeClaim', () => {
  const claim = (phase?: string) => of('v1', 'PersistentVolumeClaim')({ phase })
  check([
    ['is ready when bound', claim('Bound'), 'READY'],
    ['waits to be bound', claim('Pending'), 'PENDING', 'NotBound'],
    ['has failed when its volume is lost', claim('Lost'), 'FAILED', 'ClaimLost'],
    ['without a phase waits', claim(), 'PENDING', 'NotBound'],
  ])
})

describe('a HorizontalPodAutoscaler', () => {
  const v2 = (...conditions: object[]) => of('autoscaling/v2', 'HorizontalPodAutoscaler')({ conditions })
  const v1 = (annotation: string) => ({
    apiVersion: 'autoscaling/v1',
    kind: 'HorizontalPodAutoscaler',
    metadata: { annotations: { 'autoscaling.alpha.kubernetes.io/conditions': annotation } },
  })
  const able = says('AbleToScale', 'True', 'ReadyForNewScale')
  check([
    ['is ready when able to scale', v2(able), 'READY'],
    ['is ready at its limit', v2(says('ScalingLimited', 'True', 'TooManyReplicas')), 'READY'],
    [
      'has failed without metrics, able or not',
      v2(able, says('ScalingActive', 'False', 'FailedGetResourceMetric')),
      'FAILED',
      'FailedGetResourceMetric',
    ],
    ['has not failed by a reason of another type', v2(able, says('ScalingActive', 'False', 'FailedGetScale')), 'READY'],
    ['waits without conditions', v2(), 'PENDING', 'WaitingToAutoscale'],
    ['of v1 reads the annotation', v1(JSON.stringify([able])), 'READY'],
    ['of v1 without conditions waits', v1('[]'), 'PENDING', 'WaitingToAutoscale'],
    ['of v1 with a broken annotation is unknown', v1('[{'), 'UNKNOWN', 'Malformed'],
    ['of v1 with an annotation of another shape is unknown', v1('{}'), 'UNKNOWN', 'Malformed'],
  ])
})

describe('what extends the API', () => {
  const service = (...conditions: object[]) => of('apiregistration.k8s.io/v1', 'APIService')({ conditions })
  const definition = (...conditions: object[]) =>
    of('apiextensions.k8s.io/v1', 'CustomResourceDefinition')({ conditions })
  check([
    ['an APIService is ready when available', service(says('Available', 'True', 'Passed')), 'READY'],
    [
      'an APIService waits otherwise',
      service(says('Available', 'False', 'MissingEndpoints')),
      'PENDING',
      'MissingEndpoints',
    ],
    ['an APIService waits unobserved', service(), 'PENDING', 'NotObserved'],
    ['a definition is ready when established', definition(says('Established', 'True')), 'READY'],
    ['a definition waits to be established', definition(says('NamesAccepted', 'True')), 'PENDING', 'Installing'],
    [
      'a definition waits while installing',
      definition(says('Established', 'False', 'Installing')),
      'PENDING',
      'Installing',
    ],
    [
      'a definition has failed when not established',
      definition(says('Established', 'False', 'Broken')),
      'FAILED',
      'Broken',
    ],
    [
      'a definition has failed on its names',
      definition(says('NamesAccepted', 'False', 'Taken'), says('Established', 'True')),
      'FAILED',
      'Taken',
    ],
  ])
})

describe('what is ready by being there', () => {
  const unready = { conditions: [says('Ready', 'False')] }
  check([
    ['a ConfigMap', of('v1', 'ConfigMap')(), 'READY', null],
    ['a Secret', of('v1', 'Secret')(), 'READY'],
    ['a CronJob', of('batch/v1beta1', 'CronJob')(unready, { suspend: true }), 'READY'],
    ['a PodDisruptionBudget', of('policy/v1', 'PodDisruptionBudget')(unready), 'READY'],
  ])
})

describe('the group decides whose kind it is', () => {
  check([
    ["a foreign group's Ingress waits for no address", of('networking.example.com/v1', 'Ingress')(), 'READY'],
    [
      "a foreign group's Deployment is read by its Ready condition",
      of('example.com/v1', 'Deployment')({ conditions: [says('Ready', 'False', 'Soon')] }),
      'PENDING',
      'Soon',
    ],
    [
      'a Service of the Knative group is not the core one',
      of('serving.knative.dev/v1', 'Service')({}, { type: 'LoadBalancer' }),
      'READY',
    ],
    ['a Pod of a foreign group is not the core one', of('example.com/v1', 'Pod')({}), 'READY'],
    ['a Deployment of extensions is the old one of apps', of('extensions/v1beta1', 'Deployment')({}), 'PENDING'],
    ['a version never matters', of('apps/v1beta2', 'Deployment')({}), 'PENDING'],
    ['without an apiVersion the kind has to do', { kind: 'Deployment', status: {} }, 'PENDING'],
    ['a name from the prototype is no kind', of('v1', 'constructor')(), 'READY'],
  ])
})
