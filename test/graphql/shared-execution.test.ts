import { parse } from 'graphql'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import type { ReportOutcome } from '../../src/domain/report.ts'
import { isOfEvent } from '../../src/graphql/operation.ts'
import { createSharedExecution } from '../../src/graphql/shared-execution.ts'
import { stores } from '../support/stores.ts'
import { transports } from './clients.ts'
import { type Api, startApi } from './harness.ts'

const crowd = 40

describe.each(stores)('a crowd that watches the same on $name', (store) => {
  let api: Api
  beforeAll(async () => {
    api = await startApi({ store })
  })
  afterAll(() => api.close())

  it.each(transports)('costs the database what one would, over $name', async ({ watch }) => {
    const deploymentId = `crowded-${Math.random()}`
    await api.report({ deploymentId, state: 'PENDING' })
    const document = `subscription ($id: String!) {
      deployment(deploymentId: $id) { cursor coalesced deployment { state device { deviceId } rollout { name } } changes { revision kind } }
    }`
    const streams = Array.from({ length: crowd }, () => watch(api.url, document, { id: deploymentId }))
    const first = await Promise.all(streams.map((stream) => stream.data()))
    expect(first[0]).toMatchObject({ deployment: { deployment: { state: 'PENDING' }, changes: [] } })
    api.statements()
    const { revision } = (await api.report({ deploymentId, state: 'INSTALLED' })) as ReportOutcome
    const told = await Promise.all(streams.map((stream) => stream.data()))
    for (const one of told) expect(one).toEqual(told[0])
    expect(told[0].deployment).toMatchObject({
      cursor: String(revision),
      coalesced: 0,
      deployment: { state: 'INSTALLED' },
      changes: [{ revision: String(revision), kind: 'DEPLOYMENT_STATE_CHANGED' }],
    })
    // Two rounds at most: who was a moment late is told in the second.
    expect(api.statements()).toBeLessThanOrEqual(8)
    await Promise.all(streams.map((stream) => stream.close()))
  })

  it.each([null, 'edge-1'])('costs few statements when each watches his own, of device %s', async (device) => {
    const [{ watch } = expect.unreachable()] = transports
    const ids = Array.from({ length: crowd }, (_, index) => `own-${device}-${index}`)
    const reportAll = (state: 'PENDING' | 'INSTALLED') =>
      Promise.all(ids.map((deploymentId) => api.report({ reporter: 'edge-1', deploymentId, state })))
    await reportAll('PENDING')
    const document = `subscription ($id: String!, $device: String) {
      deployment(deploymentId: $id, deviceId: $device) { deployment { deploymentId state device { deviceId } } }
    }`
    const streams = ids.map((id) => watch(api.url, document, { id, device }))
    await Promise.all(streams.map((stream) => stream.data()))
    api.statements()
    await reportAll('INSTALLED')
    for (const [index, stream] of streams.entries())
      expect(await stream.data()).toEqual({
        deployment: { deployment: { deploymentId: ids[index], state: 'INSTALLED', device: { deviceId: 'edge-1' } } },
      })
    expect(api.statements()).toBeLessThan(crowd / 2)
    await Promise.all(streams.map((stream) => stream.close()))
  })

  it('is told of a change with what it links to by few reads', async () => {
    const [{ watch } = expect.unreachable()] = transports
    const document =
      'subscription { changes { cursor change { ... on DeploymentStateChanged { to deployment { state } } } } }'
    const streams = Array.from({ length: crowd }, () => watch(api.url, document))
    const first = streams.map((stream) => stream.data())
    await expect.poll(() => api.road.feed.subscribers.changes).toBe(crowd)
    await expect.poll(() => api.road.feed.hub.size).toBe(crowd + 1)
    api.statements()
    await api.report({ deploymentId: 'linked', state: 'FAILED' })
    const told = await Promise.all(first)
    for (const one of told) expect(one).toEqual(told[0])
    expect(told[0].changes.change).toEqual({ to: 'FAILED', deployment: { state: 'FAILED' } })
    expect(api.statements()).toBeLessThan(crowd)
    await Promise.all(streams.map((stream) => stream.close()))
  })

  it('shares nothing between other variables, or other documents', async () => {
    const [{ watch } = expect.unreachable()] = transports
    for (const deploymentId of ['one', 'two']) await api.report({ deploymentId, state: 'PENDING' })
    const document = 'subscription ($id: String!) { deployment(deploymentId: $id) { deployment { deploymentId } } }'
    const other = 'subscription ($id: String!) { deployment(deploymentId: $id) { deployment { state } } }'
    const streams = [
      watch(api.url, document, { id: 'one' }),
      watch(api.url, document, { id: 'two' }),
      watch(api.url, other, { id: 'two' }),
    ]
    const answers = await Promise.all(streams.map(async (stream) => (await stream.data()).deployment.deployment))
    expect(answers).toEqual([{ deploymentId: 'one' }, { deploymentId: 'two' }, { state: 'PENDING' }])
    await Promise.all(streams.map((stream) => stream.close()))
  })
})

describe('the result of a change', () => {
  const event = (change: object | null) => ({
    payload: { cursor: 7, change, reset: null },
    resumeFrom: 7,
    snapshot: null,
    release: () => {},
  })
  const turn = () => new Promise<void>((resolve) => setImmediate(() => setImmediate(resolve)))
  const [document, change] = [parse('{ a }'), {}]

  it.each([
    { isItsOwn: true, later: change, executions: 1 },
    { isItsOwn: false, later: change, executions: 2 },
    { isItsOwn: true, later: {}, executions: 2 },
  ])(
    'made of it alone ($isItsOwn) costs those who are told later $executions',
    async ({ isItsOwn, later, executions }) => {
      const shared = createSharedExecution()
      const execute = vi.fn(async () => ({ data: {}, [isOfEvent]: isItsOwn }))
      const tell = (about: object) => shared.execute({ document, operation: '' }, event(about), execute)
      const first = await Promise.all([tell(change), tell(change)])
      expect(first[1]).toBe(first[0])
      expect(execute).toHaveBeenCalledTimes(1)
      await turn()
      await tell(later)
      expect(execute).toHaveBeenCalledTimes(executions)
    },
  )
})
