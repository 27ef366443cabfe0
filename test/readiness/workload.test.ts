import { describe, expect, test } from 'vitest'
import { readiness } from '../../src/domain/readiness/index.ts'

type Row = readonly [name: string, object: object, readiness: string, reason?: string | null]

const apps =
  (kind: string) =>
  (status: object | undefined, spec: object = {}, generation = 1) => ({
    apiVersion: 'apps/v1',
    kind,
    metadata: { name: 'mixer', generation },
    spec,
    status,
  })

const check = (rows: readonly Row[]) =>
  test.each(rows)('%s', (_, object, expected, reason) => {
    const said = readiness(object)
    expect(said.readiness).toBe(expected)
    if (reason !== undefined) expect(said.reason).toBe(reason)
  })

const full = { observedGeneration: 1, replicas: 3, updatedReplicas: 3, readyReplicas: 3, availableReplicas: 3 }
const three = { replicas: 3 }
const condition = (type: string, status: string, reason?: string) => ({ type, status, reason })
const done = condition('Progressing', 'True', 'NewReplicaSetAvailable')
const available = condition('Available', 'True', 'MinimumReplicasAvailable')

const fresh = { observedGeneration: 1, replicas: 3 }

describe('a Deployment', () => {
  const deployment = apps('Deployment')
  check([
    ['is ready when every replica is updated and available', deployment(full, three), 'READY', null],
    ['waits while its newest generation is unobserved', deployment(full, three, 2), 'PENDING', 'GenerationNotObserved'],
    [
      'waits when no controller has observed it at all',
      deployment(undefined, three),
      'PENDING',
      'GenerationNotObserved',
    ],
    [
      'is ready after it was scaled down, if only its status was refreshed',
      deployment({ ...full, observedGeneration: 2 }, { replicas: 5 }),
      'READY',
    ],
    [
      'is ready after it was scaled up and continued, if only its status was refreshed',
      deployment({ ...full, observedGeneration: 2 }, { replicas: 1, paused: true }),
      'READY',
    ],
    [
      'waits for its replicas, if only its status was refreshed',
      deployment({ ...full, observedGeneration: 2, readyReplicas: 2, availableReplicas: 2 }, { replicas: 1 }),
      'PENDING',
      'LessAvailable',
    ],
    [
      'waits for replicas to exist',
      deployment({ observedGeneration: 1, replicas: 1 }, three),
      'PENDING',
      'LessReplicas',
    ],
    ['waits for replicas to be updated', deployment({ ...full, updatedReplicas: 2 }, three), 'PENDING', 'LessUpdated'],
    ['waits for old replicas to go', deployment({ ...full, replicas: 4 }, three), 'PENDING', 'ExtraPods'],
    [
      'waits for old replicas to go before new ones are available',
      deployment({ ...full, replicas: 4, availableReplicas: 2 }, three),
      'PENDING',
      'ExtraPods',
    ],
    ['whose replicas just exist waits for their update', deployment(fresh, three), 'PENDING', 'LessUpdated'],
    [
      'waits for replicas to be available',
      deployment({ ...full, availableReplicas: 2 }, three),
      'PENDING',
      'LessAvailable',
    ],
    ['waits for replicas to be ready', deployment({ ...full, readyReplicas: 2 }, three), 'PENDING', 'LessReady'],
    ['waits while it scales down', deployment(full, { replicas: 2 }), 'PENDING', 'ExtraPods'],
    ['is ready scaled to zero', deployment({ observedGeneration: 1 }, { replicas: 0 }), 'READY'],
    ['is suspended while paused', deployment(full, { ...three, paused: true }), 'PENDING', 'Suspended'],
    [
      'has failed past its deadline',
      deployment({ ...full, conditions: [condition('Progressing', 'False', 'ProgressDeadlineExceeded')] }, three),
      'FAILED',
      'ProgressDeadlineExceeded',
    ],
    [
      'has failed when its Pods are refused',
      deployment({ ...full, conditions: [condition('ReplicaFailure', 'True', 'FailedCreate')] }, three),
      'FAILED',
      'FailedCreate',
    ],
    [
      'has failed when its Pods are refused without a reason',
      deployment({ ...full, conditions: [condition('ReplicaFailure', 'True')] }, three),
      'FAILED',
      'ReplicaFailure',
    ],
    [
      'waits while it is not available, whatever the counts',
      deployment({ ...full, conditions: [condition('Available', 'False')] }, three),
      'PENDING',
      'DeploymentNotAvailable',
    ],
    [
      'with a deadline waits for its new ReplicaSet',
      deployment(
        { ...full, conditions: [condition('Progressing', 'True', 'ReplicaSetUpdated'), available] },
        { ...three, progressDeadlineSeconds: 600 },
      ),
      'PENDING',
      'ReplicaSetUpdated',
    ],
    [
      'with a deadline waits for its new ReplicaSet without a reason',
      deployment(
        { ...full, conditions: [condition('Progressing', 'Unknown'), available] },
        { ...three, progressDeadlineSeconds: 600 },
      ),
      'PENDING',
      'ReplicaSetNotAvailable',
    ],
    [
      'without a deadline waits for no condition of a new ReplicaSet',
      deployment({ ...full, conditions: [condition('Progressing', 'True', 'ReplicaSetUpdated'), available] }, three),
      'READY',
    ],
    [
      'with a deadline is ready once its new ReplicaSet is available',
      deployment({ ...full, conditions: [done, available] }, { ...three, progressDeadlineSeconds: 600 }),
      'READY',
    ],
  ])
})

describe("a Deployment's bare status", () => {
  const bare = (status: object) => ({ apiVersion: 'apps/v1', kind: 'Deployment', status })
  const two = { replicas: 2, readyReplicas: 2 }
  check([
    ['is ready when replicas equals readyReplicas', bare({ replicas: 2, readyReplicas: 2 }), 'READY'],
    ['waits when fewer are ready', bare({ replicas: 2, readyReplicas: 1 }), 'PENDING', 'LessReady'],
    ['is ready when no replica is desired', bare({ replicas: 0 }), 'READY'],
    ['is a summary when its other fields are null', bare({ ...two, updatedReplicas: null, conditions: null }), 'READY'],
    ['that counts updates is no summary', bare({ ...two, updatedReplicas: 1 }), 'PENDING', 'LessUpdated'],
    ['that counts the available is no summary', bare({ ...two, availableReplicas: 1 }), 'PENDING', 'LessUpdated'],
    ['that counts the unavailable is no summary', bare({ ...two, unavailableReplicas: 1 }), 'PENDING', 'LessUpdated'],
    ['that has conditions is no summary', bare({ ...two, conditions: [available] }), 'PENDING', 'LessUpdated'],
    ['of a rollout just begun waits', bare({ ...full, updatedReplicas: undefined }), 'PENDING', 'LessUpdated'],
    ['that is empty waits', bare({}), 'PENDING', 'LessReplicas'],
    ['scaled to zero is ready', bare({ observedGeneration: 4, conditions: [available, done] }), 'READY'],
  ])
})

describe('a ReplicaSet', () => {
  const set = apps('ReplicaSet')
  const whole = { observedGeneration: 1, replicas: 3, fullyLabeledReplicas: 3, readyReplicas: 3, availableReplicas: 3 }
  check([
    ['is ready when every replica is available', set(whole, three), 'READY'],
    [
      'that was replaced is ready at zero',
      { kind: 'ReplicaSet', status: { observedGeneration: 9, replicas: 0 } },
      'READY',
    ],
    ['waits for labels', set({ ...whole, fullyLabeledReplicas: 1 }, three), 'PENDING', 'LessLabelled'],
    ['waits for replicas to be available', set({ ...whole, availableReplicas: 1 }, three), 'PENDING', 'LessAvailable'],
    ['waits for replicas to be ready', set({ ...whole, readyReplicas: 1 }, three), 'PENDING', 'LessReady'],
    ['waits while it scales down', set(whole, { replicas: 1 }), 'PENDING', 'ExtraPods'],
    ['waits when no controller has observed it', set(undefined), 'PENDING', 'GenerationNotObserved'],
    [
      'has failed when its Pods are refused',
      set({ ...whole, conditions: [condition('ReplicaFailure', 'True', 'FailedCreate')] }, three),
      'FAILED',
      'FailedCreate',
    ],
    [
      'with a denied failure has not failed',
      set({ ...whole, conditions: [condition('ReplicaFailure', 'False')] }, three),
      'READY',
    ],
  ])
})

describe('a StatefulSet', () => {
  const set = apps('StatefulSet')
  const whole = { ...full, currentReplicas: 3, currentRevision: 'a', updateRevision: 'a' }
  const rolling = (partition?: number) => ({ type: 'RollingUpdate', rollingUpdate: { partition } })
  check([
    ['is ready when all are ready at one revision', set(whole, three), 'READY'],
    [
      'waits until it is observed, even without a generation',
      { kind: 'StatefulSet', status: { replicas: 0 } },
      'PENDING',
      'NotObserved',
    ],
    ['waits while its newest generation is unobserved', set(whole, three, 2), 'PENDING', 'GenerationNotObserved'],
    ['waits for replicas to exist', set({ ...whole, replicas: 1 }, three), 'PENDING', 'LessReplicas'],
    ['waits for replicas to be ready', set({ ...whole, readyReplicas: 1 }, three), 'PENDING', 'LessReady'],
    ['waits while it scales down', set(whole, { replicas: 1 }), 'PENDING', 'ExtraPods'],
    ['waits for current replicas', set({ ...whole, currentReplicas: 1 }, three), 'PENDING', 'LessCurrent'],
    ['waits for the new revision', set({ ...whole, updateRevision: 'b' }, three), 'PENDING', 'RevisionMismatch'],
    [
      'under OnDelete does not wait for the new revision',
      set({ ...whole, updateRevision: 'b' }, { ...three, updateStrategy: { type: 'OnDelete' } }),
      'READY',
    ],
    [
      'under OnDelete still waits for ready replicas',
      set({ ...whole, readyReplicas: 1 }, { ...three, updateStrategy: { type: 'OnDelete' } }),
      'PENDING',
      'LessReady',
    ],
    [
      'waits for the replicas above its partition',
      set({ ...whole, updatedReplicas: 1 }, { ...three, updateStrategy: rolling(1) }),
      'PENDING',
      'PartitionRollout',
    ],
    [
      'keeps two revisions on purpose under a partition',
      set({ ...whole, updatedReplicas: 2, updateRevision: 'b' }, { ...three, updateStrategy: rolling(1) }),
      'READY',
    ],
    ['rolling without a partition is ready', set(whole, { ...three, updateStrategy: rolling() }), 'READY'],
    [
      'keeps two revisions on purpose under a partition of the default strategy',
      set({ ...whole, updateRevision: 'b' }, { ...three, updateStrategy: { rollingUpdate: { partition: 1 } } }),
      'READY',
    ],
    [
      'rolling without parameters waits for the new revision',
      set(
        { ...whole, updateRevision: 'b' },
        { ...three, updateStrategy: { type: 'RollingUpdate', rollingUpdate: null } },
      ),
      'PENDING',
      'RevisionMismatch',
    ],
    [
      'of another strategy waits for the new revision, whatever the partition',
      set({ ...whole, updateRevision: 'b' }, { ...three, updateStrategy: { ...rolling(1), type: 'Other' } }),
      'PENDING',
      'RevisionMismatch',
    ],
    ['that counts only the ready is ready', set({ observedGeneration: 1, readyReplicas: 3 }, three), 'READY'],
    [
      'in a bare status block desires as many as there are',
      { kind: 'StatefulSet', status: { ...whole, replicas: 4 } },
      'PENDING',
      'LessReady',
    ],
    ['that counts nothing desires one', set({ observedGeneration: 1 }), 'PENDING', 'LessReady'],
  ])
})

describe('a DaemonSet', () => {
  const set = apps('DaemonSet')
  const whole = {
    observedGeneration: 1,
    desiredNumberScheduled: 3,
    currentNumberScheduled: 3,
    updatedNumberScheduled: 3,
    numberAvailable: 3,
    numberReady: 3,
  }
  check([
    ['is ready when every node has its pod', set(whole), 'READY'],
    ['is ready where no node wants it', set({ observedGeneration: 1, desiredNumberScheduled: 0 }), 'READY'],
    ['waits when no controller has observed it', set(undefined), 'PENDING', 'GenerationNotObserved'],
    ['waits until the nodes are counted', set({ observedGeneration: 1 }), 'PENDING', 'NoDesiredNumber'],
    ['waits for pods to be scheduled', set({ ...whole, currentNumberScheduled: 1 }), 'PENDING', 'LessCurrent'],
    ['waits for pods to be updated', set({ ...whole, updatedNumberScheduled: 1 }), 'PENDING', 'LessUpdated'],
    ['waits for pods to be available', set({ ...whole, numberAvailable: undefined }), 'PENDING', 'LessAvailable'],
    ['waits for pods to be ready', set({ ...whole, numberReady: 1 }), 'PENDING', 'LessReady'],
    [
      'under OnDelete waits for nothing',
      set({ observedGeneration: 1 }, { updateStrategy: { type: 'OnDelete' } }),
      'READY',
    ],
    ['in a bare status block is judged by its counts', { kind: 'DaemonSet', status: whole }, 'READY'],
  ])
})
