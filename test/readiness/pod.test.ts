import { describe, expect, test } from 'vitest'
import { readiness } from '../../src/domain/readiness/index.ts'

const pod = (status: object, spec: object = { restartPolicy: 'Always' }, annotations: object = {}) => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'mixer-0', annotations },
  spec,
  status,
})

const served = { conditions: [{ type: 'Ready', status: 'True' }], containerStatuses: [{ name: 'a', ready: true }] }
const unready = [{ type: 'Ready', status: 'False', reason: 'ContainersNotReady', message: 'unready: [a]' }]
const never = { restartPolicy: 'Never' }
const ignore = { 'argocd.argoproj.io/ignore-restart-policy': 'true' }
const waiting = (reason: string, message = '') => ({ name: 'a', ready: false, state: { waiting: { reason, message } } })

describe('a running Pod', () => {
  test('is ready when the kubelet and every container say so', () => {
    expect(readiness(pod({ phase: 'Running', ...served }))).toEqual({ readiness: 'READY', reason: null, message: null })
  })

  test('without a Ready condition is ready when every container is', () => {
    const block = (...ready: boolean[]) => ({
      kind: 'Pod',
      status: { containerStatuses: ready.map((r) => ({ ready: r })) },
    })
    expect(readiness(block(true, true)).readiness).toBe('READY')
    expect(readiness(block(true, false)).readiness).toBe('PENDING')
  })

  test('with neither a Ready condition nor containers is not ready', () => {
    expect(readiness(pod({ phase: 'Running' }))).toMatchObject({ readiness: 'PENDING', reason: 'PodRunningNotReady' })
  })

  test('is not ready while a readiness gate is closed', () => {
    const said = readiness(pod({ phase: 'Running', ...served, conditions: unready }))
    expect(said).toEqual({ readiness: 'PENDING', reason: 'ContainersNotReady', message: 'unready: [a]' })
  })

  test('is not ready while one container is not', () => {
    const status = { phase: 'Running', ...served, containerStatuses: [{ ready: true }, { ready: false }] }
    expect(readiness(pod(status)).readiness).toBe('PENDING')
  })

  test('has failed when a container fell over and is not back', () => {
    const containerStatuses = [{ name: 'a', ready: false, lastState: { terminated: { reason: 'OOMKilled' } } }]
    const said = readiness(pod({ phase: 'Running', conditions: unready, containerStatuses }))
    expect(said).toMatchObject({ readiness: 'FAILED', reason: 'OOMKilled' })
  })

  test('says what is known of a container that fell over', () => {
    const fell = (lastState: object) =>
      readiness(pod({ phase: 'Running', conditions: unready, containerStatuses: [{ ready: false, lastState }] }))
    expect(fell({ terminated: {} })).toMatchObject({ readiness: 'FAILED', reason: 'ContainerTerminated' })
    expect(fell({ terminated: null })).toMatchObject({ readiness: 'PENDING', reason: 'ContainersNotReady' })
    const containerStatuses = [null, { reason: 'Error' }].map((terminated) => ({
      ready: false,
      lastState: { terminated },
    }))
    expect(readiness(pod({ phase: 'Running', containerStatuses })).reason).toBe('Error')
  })

  test('is not ready although its Ready condition has no reason', () => {
    const conditions = [{ type: 'Ready', status: 'False' }]
    expect(readiness(pod({ phase: 'Running', conditions })).reason).toBe('PodRunningNotReady')
  })

  test('gives the messages of the containers that have one', () => {
    const containerStatuses = [waiting('ErrImagePull'), waiting('ErrImagePull', 'two')]
    expect(readiness(pod({ phase: 'Running', containerStatuses })).message).toBe('two')
  })

  test.each(['ErrImagePull', 'CreateContainerConfigError', 'CrashLoopBackOff'])('has failed in %s', (reason) => {
    const said = readiness(
      pod({ phase: 'Running', containerStatuses: [waiting(reason, 'one'), waiting(reason, 'two')] }),
    )
    expect(said).toEqual({ readiness: 'FAILED', reason, message: 'one, two' })
  })
})

describe('a Pod of finite life', () => {
  test('is pending while it runs, ready or not', () => {
    expect(readiness(pod({ phase: 'Running', ...served }, never))).toMatchObject({
      readiness: 'PENDING',
      reason: 'Running',
    })
    const looping = { phase: 'Running', containerStatuses: [waiting('CrashLoopBackOff')] }
    expect(readiness(pod(looping, { restartPolicy: 'OnFailure' })).readiness).toBe('PENDING')
  })

  test('is judged as a long-lived one when its owner asks so', () => {
    expect(readiness(pod({ phase: 'Running', ...served }, never, ignore)).readiness).toBe('READY')
  })

  test.each([
    [{ 'argocd.argoproj.io/hook': 'PreSync' }, 'PENDING'],
    [{ 'argocd.argoproj.io/hook': 'Skip' }, 'READY'],
    [{ 'helm.sh/hook': 'pre-install' }, 'PENDING'],
    [{ 'helm.sh/hook': 'crd-install' }, 'READY'],
  ])('cannot ask so as the hook %j: %s', (hook, expected) => {
    expect(readiness(pod({ phase: 'Running', ...served }, never, { ...ignore, ...hook })).readiness).toBe(expected)
  })
})

describe('a Pod that does not run', () => {
  test('and has succeeded is ready, though its containers are not', () => {
    expect(readiness(pod({ phase: 'Succeeded', conditions: unready }, never)).readiness).toBe('READY')
  })

  test('and has failed says why: its own message, else the first container that fell', () => {
    const said = readiness(pod({ phase: 'Failed', reason: 'Evicted', message: 'low on memory' }))
    expect(said).toEqual({ readiness: 'FAILED', reason: 'Evicted', message: 'low on memory' })
    const containerStatuses = [
      { name: 'a', state: { terminated: { exitCode: 0, reason: 'Completed' } } },
      { name: 'b', state: { terminated: { exitCode: 3, reason: 'Error' } } },
    ]
    expect(readiness(pod({ phase: 'Failed', containerStatuses }))).toEqual({
      readiness: 'FAILED',
      reason: 'Error',
      message: 'container b ended with exit code 3',
    })
    const silent = { state: { terminated: { exitCode: 1 } } }
    const failed = (status: object) => readiness(pod({ phase: 'Failed', ...status }))
    expect(failed({ containerStatuses: [silent, ...containerStatuses] })).toMatchObject({ reason: 'Error' })
    expect(failed({ containerStatuses: [{ state: { terminated: {} } }] })).toMatchObject({
      reason: 'PodFailed',
      message: null,
    })
    const initContainerStatuses = [{ name: 'init', state: { terminated: { exitCode: 2, reason: 'NotYet' } } }]
    expect(failed({ initContainerStatuses, containerStatuses })).toMatchObject({
      reason: 'NotYet',
      message: 'container init ended with exit code 2',
    })
    const killed = [{ name: 'a', state: { terminated: { exitCode: 137, reason: 'OOMKilled' } } }]
    expect(readiness(pod({ phase: 'Failed', containerStatuses: killed })).message).toBe('OOMKilled')
  })

  test('waits for a node, and says so', () => {
    const conditions = [{ type: 'PodScheduled', status: 'False', reason: 'Unschedulable', message: '0/3 nodes' }]
    const said = readiness(pod({ phase: 'Pending', conditions }))
    expect(said).toEqual({ readiness: 'PENDING', reason: 'Unschedulable', message: '0/3 nodes' })
  })

  test('waits for its containers to be made', () => {
    const said = readiness(pod({ phase: 'Pending', containerStatuses: [waiting('ContainerCreating')] }))
    expect(said).toMatchObject({ readiness: 'PENDING', reason: 'ContainerCreating' })
    const second = pod({ phase: 'Pending', containerStatuses: [{ name: 'a' }, waiting('ContainerCreating')] })
    expect(readiness(second).reason).toBe('ContainerCreating')
    expect(readiness(pod({ phase: 'Pending' })).reason).toBe('PodPending')
  })

  test('has failed when its image cannot be pulled', () => {
    const said = readiness(pod({ phase: 'Pending', containerStatuses: [waiting('ImagePullBackOff')] }))
    expect(said).toMatchObject({ readiness: 'FAILED', reason: 'ImagePullBackOff' })
  })

  test('waits while no controller has observed it', () => {
    expect(readiness(pod({}))).toMatchObject({ readiness: 'PENDING', reason: 'NotObserved' })
  })

  test('and whose node is lost is unknown', () => {
    expect(readiness(pod({ phase: 'Unknown', reason: 'NodeLost' }))).toMatchObject({
      readiness: 'UNKNOWN',
      reason: 'NodeLost',
    })
  })
})
