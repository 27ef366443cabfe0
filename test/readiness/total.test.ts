import fc from 'fast-check'
import { expect, test } from 'vitest'
import { readiness } from '../../src/domain/readiness/index.ts'
import { readinesses } from '../../src/domain/values.ts'

const kinds = [
  ...[
    'Deployment',
    'ReplicaSet',
    'StatefulSet',
    'DaemonSet',
    'Pod',
    'Job',
    'CronJob',
    'Service',
    'PersistentVolumeClaim',
  ],
  ...['Ingress', 'HorizontalPodAutoscaler', 'PodDisruptionBudget', 'APIService', 'CustomResourceDefinition'],
  ...['ConfigMap', 'Secret', 'Thing', '__proto__', 'constructor', ''],
]
const versions = [undefined, '', '/', 'v1', 'apps/v1', 'batch/v1', 'autoscaling/v1', 'networking.k8s.io/v1', 'a/b/c']

/** A field of the right shape, or anything at all. */
const or = (arbitrary: fc.Arbitrary<unknown>) =>
  fc.oneof({ weight: 3, arbitrary }, { weight: 1, arbitrary: fc.jsonValue() })
const pick = (...values: string[]) => or(fc.constantFrom(...values))
const record = (model: Record<string, fc.Arbitrary<unknown>>) => or(fc.record(model, { requiredKeys: [] }))
const list = (element: fc.Arbitrary<unknown>) => or(fc.array(element, { maxLength: 4 }))
const number = or(fc.integer({ min: -1, max: 3 }))

const types = ['Ready', 'Stalled', 'Reconciling', 'Available', 'Progressing', 'Failed', 'AbleToScale', 'Established']
const condition = record({
  type: pick(...types),
  status: pick('True', 'False', 'Unknown'),
  reason: fc.jsonValue(),
  message: fc.jsonValue(),
})
const state = record({ waiting: record({ reason: pick('ErrX', 'BackOff') }), terminated: record({ exitCode: number }) })
const container = record({ ready: or(fc.boolean()), state, lastState: state })
const replicas = ['replicas', 'readyReplicas', 'updatedReplicas', 'availableReplicas', 'desiredNumberScheduled']

const object = record({
  kind: fc.constantFrom(...kinds),
  apiVersion: or(fc.constantFrom(...versions)),
  metadata: record({
    generation: number,
    deletionTimestamp: fc.option(fc.jsonValue()),
    annotations: record({ 'autoscaling.alpha.kubernetes.io/conditions': or(fc.json()) }),
  }),
  spec: record({
    replicas: number,
    type: pick('LoadBalancer'),
    restartPolicy: pick('Never'),
    updateStrategy: record({ type: pick('RollingUpdate'), rollingUpdate: record({ partition: number }) }),
  }),
  status: record({
    ...Object.fromEntries(replicas.map((name) => [name, number])),
    observedGeneration: number,
    conditions: list(condition),
    containerStatuses: list(container),
    loadBalancer: record({ ingress: list(fc.jsonValue()) }),
    phase: pick('Pending', 'Running', 'Succeeded', 'Failed'),
  }),
})

const deepFreeze = (value: unknown): void => {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return
  Object.freeze(value)
  for (const inner of Object.values(value)) deepFreeze(inner)
}

const isSaid = (value: unknown) => value === null || (typeof value === 'string' && value !== '')

test('answers for every object, and leaves it as it was', () => {
  fc.assert(
    fc.property(object, (value) => {
      const before = structuredClone(value)
      deepFreeze(value)
      const said = readiness(value)
      expect(readinesses).toContain(said.readiness)
      expect(isSaid(said.reason) && isSaid(said.message)).toBe(true)
      expect(said.readiness === 'READY' && said.reason !== null).toBe(false)
      expect(readiness(value)).toEqual(said)
      expect(value).toEqual(before)
    }),
    { numRuns: 2_000 },
  )
})

test('answers for any value whatever', () => {
  const anything = fc.anything({
    withBigInt: true,
    withDate: true,
    withMap: true,
    withNullPrototype: true,
    withSparseArray: true,
  })
  fc.assert(
    fc.property(anything, fc.constantFrom(...kinds), (value, kind) => {
      for (const candidate of [value, { kind, status: value, spec: value, metadata: value }])
        expect(readinesses).toContain(readiness(candidate).readiness)
    }),
  )
})

test('answers for the huge', () => {
  const many = Array.from({ length: 50_000 }, (_, i) => ({ name: `c${i}`, ready: true, type: 'X', status: 'True' }))
  const status = { phase: 'Running', containerStatuses: many, initContainerStatuses: many, conditions: many }
  for (const kind of kinds) expect(readinesses).toContain(readiness({ kind, status }).readiness)
  expect(readiness({ kind: 'Pod', status: { ...status, phase: 'Failed' } }).readiness).toBe('FAILED')
})
