import { afterAll, afterEach, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest'
import { WebSocket } from 'ws'
import { createEventResult } from '../../../src/api/graphql/execution/event-result.ts'
import { createSharedExecution } from '../../../src/api/graphql/execution/shared-execution.ts'
import type { ReportOutcome } from '../../../src/domain/report.ts'
import { registerDevices } from '../../../src/ingest/commands/devices/register.ts'
import { stores } from '../../support/databases/stores.ts'
import { transports } from '../clients.ts'
import { type Api, startApi } from '../harness.ts'
import { namedAuth } from '../principals.ts'

const group = 40

describe.each(stores)('subscribers of the same operation on $name', (store) => {
  let api: Api
  beforeAll(async () => {
    // A clock that stands still: on a busy machine, portions would take so long that each next one is smaller.
    api = await startApi({ store, road: { feed: { refresh: { clock: () => 0 } } } })
  })
  afterAll(() => api.close())

  it.each(transports)('cost the database as much as one, over $name', async ({ watch }) => {
    const deploymentId = `crowded-${Math.random()}`
    await api.report({ deploymentId, state: 'PENDING' })
    const document = `subscription ($id: String!) {
      deployment(deploymentId: $id) { cursor coalesced deployment { state device { deviceId } rollout { name } } changes { revision kind } }
    }`
    const streams = Array.from({ length: group }, () => watch(api.url, document, { id: deploymentId }))
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
    // At most two rounds: late subscribers are notified in the second.
    expect(api.statements()).toBeLessThanOrEqual(8)
    await Promise.all(streams.map((stream) => stream.close()))
  })

  it.each([null, 'edge-1'])('cost few statements if each watches another deployment, of device %s', async (device) => {
    const [{ watch } = expect.unreachable()] = transports
    const ids = Array.from({ length: group }, (_, index) => `own-${device}-${index}`)
    const reportAll = (state: 'PENDING' | 'INSTALLED') =>
      Promise.all(ids.map((deploymentId) => api.report({ reporter: 'edge-1', deploymentId, state })))
    await reportAll('PENDING')
    const document = `subscription ($id: String!, $device: String) {
      deployment(deploymentId: $id, deviceId: $device) { deployment { deploymentId state device { deviceId } } }
    }`
    const streams = ids.map((id) => watch(api.url, document, { id, device }))
    onTestFinished(async () => void (await Promise.all(streams.map((stream) => stream.close()))))
    await Promise.all(streams.map((stream) => stream.data()))
    api.statements()
    await reportAll('INSTALLED')
    for (const [index, stream] of streams.entries())
      expect(await stream.data()).toEqual({
        deployment: { deployment: { deploymentId: ids[index], state: 'INSTALLED', device: { deviceId: 'edge-1' } } },
      })
    // Each portion costs a statement or more.
    expect(api.statements()).toBeLessThan(group)
  })

  it('get a change with its linked objects by few reads', async () => {
    const [{ watch } = expect.unreachable()] = transports
    const document =
      'subscription { changes { cursor change { ... on DeploymentStateChanged { to deployment { state } } } } }'
    const streams = Array.from({ length: group }, () => watch(api.url, document))
    const first = streams.map((stream) => stream.data())
    await expect.poll(() => api.road.feed.subscribers.changes).toBe(group)
    // Those of the test before may still be closing: then the hub could have this size before the group has begun.
    await expect.poll(() => api.road.feed.subscribers.states).toBe(0)
    await expect.poll(() => api.road.feed.hub.size).toBe(2)
    api.statements()
    await api.report({ deploymentId: 'linked', state: 'FAILED' })
    const told = await Promise.all(first)
    for (const one of told) expect(one).toEqual(told[0])
    expect(told[0].changes.change).toEqual({ to: 'FAILED', deployment: { state: 'FAILED' } })
    expect(api.statements()).toBeLessThan(group)
    await Promise.all(streams.map((stream) => stream.close()))
  })

  it('share nothing with other variables or other documents', async () => {
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

describe('the shared results of a group', () => {
  const opened: WebSocket[] = []
  afterEach(() => {
    for (const socket of opened.splice(0)) socket.terminate()
  })

  /** The payloads of one subscription, as sent. */
  async function listen(api: Api, id: string, query: string, { variables = {}, as = 'admin' } = {}) {
    const socket = new WebSocket(api.url.replace('http', 'ws'), 'graphql-transport-ws')
    opened.push(socket)
    const texts: string[] = []
    const [start, end] = [`{"id":${JSON.stringify(id)},"type":"next","payload":`, '}']
    socket.on('message', (message) => {
      const text = String(message)
      if (text === '{"type":"connection_ack"}')
        return socket.send(JSON.stringify({ id, type: 'subscribe', payload: { query, variables } }))
      expect(text.slice(0, start.length)).toBe(start)
      texts.push(text.slice(start.length, -end.length))
    })
    await new Promise((resolve, reject) => socket.on('open', resolve).on('error', reject))
    const payload = { authorization: `Bearer ${as}` }
    socket.send(JSON.stringify({ type: 'connection_init', payload }))
    return {
      async next() {
        await expect.poll(() => texts.length).toBeGreaterThan(0)
        return texts.shift() ?? expect.unreachable()
      },
    }
  }

  it('equal those of a single subscriber, also for failures', async () => {
    let isFailing = false
    const api = await startApi({
      graphql: ({ database }) => ({
        database: {
          session: database.session,
          snapshot: (signal) => (isFailing ? Promise.reject(new Error('secret')) : database.snapshot(signal)),
        },
      }),
    })
    await api.report({ reporter: 'gw-1', deviceId: 'd-1', deploymentId: 'twice', state: 'PENDING' })
    const documents = [
      'subscription { deployment(deploymentId: "twice") { coalesced deployment { state target { name } } changes { kind at } } }',
      'subscription { changes { cursor change { kind ... on DeploymentStateChanged { deployment { state } } } } }',
      'subscription { deploymentCounts { cursor counts { total pending failed convergence { unknown } } } }',
    ]
    const groups = await Promise.all(
      documents.map(async (document) => [
        ...(await Promise.all(['1', '1', 'é"\\\u2028', '7'].map((id) => listen(api, id, document)))),
        // Another shape, so the subscriber's operation is executed for it alone.
        await listen(api, '1', document.replace(/ (\}[ }]*)$/, ' @include(if: true) $1')),
        // The same shape in another document, which only errors are executed for.
        await listen(api, '1', `${document} # another`),
      ]),
    )
    const same = async (index: number): Promise<string> => {
      const texts = await Promise.all((groups[index] ?? []).map((one) => one.next()))
      // Each unexpected error has its own ID.
      const [first = '', ...others] = texts.map((text) => text.replaceAll(/[\da-f-]{36}/g, '<id>'))
      for (const text of others) expect(text).toBe(first)
      return first
    }
    await same(0)
    await same(2)
    await expect.poll(() => api.road.feed.subscribers).toMatchObject({ changes: 6, states: 12 })
    // One line for each thing that is watched, and the backlog.
    await expect.poll(() => api.road.feed.hub.size).toBe(4)
    await api.report({ reporter: 'gw-1', deviceId: 'd-1', deploymentId: 'twice', state: 'FAILED' })
    expect(JSON.parse(await same(0))).toMatchObject({ data: { deployment: { deployment: { state: 'FAILED' } } } })
    expect(JSON.parse(await same(1))).toMatchObject({ data: { changes: { change: { deployment: {} } } } })
    expect(JSON.parse(await same(2))).toMatchObject({ data: { deploymentCounts: { counts: { failed: 1 } } } })
    isFailing = true
    await api.report({ reporter: 'gw-2', deviceId: 'd-2', deploymentId: 'twice', state: 'PENDING' })
    expect(JSON.parse(await same(0))).toMatchObject({
      data: { deployment: { coalesced: 0, deployment: null } },
      errors: [{ path: ['deployment', 'deployment'] }],
    })
    const masked = { message: "Unexpected error <id>. Details are in the server's log.", extensions: { id: '<id>' } }
    expect(JSON.parse(await same(1))).toMatchObject({
      data: { changes: { change: null } },
      errors: [{ ...masked, path: ['changes', 'change', 'deployment'] }],
    })
    await same(2)
    // Once for each document.
    expect(api.logged).toHaveLength(3)
    await api.close()
  })

  it('are not shared across operations or access scopes', async () => {
    const api = await startApi({ graphql: { auth: namedAuth } })
    const document =
      'subscription ($id: String!) { deployment(deploymentId: $id) { deployment { deploymentId state } } }'
    const told = (deploymentId: string, state: string) =>
      JSON.stringify({ data: { deployment: { deployment: { deploymentId, state } } } })
    const nothing = '{"data":{"deployment":{"deployment":null}}}'
    const whose = ['a', 'b', 'a', 'b'].map((id) => ({ variables: { id }, as: 'viewer' }))
    const narrow = { variables: { id: 'a' }, as: 'viewer/label:site=munich' }
    const [one, two, three, four, elsewhere, elsewhereToo] = await Promise.all(
      [...whose, narrow, narrow].map((options) => listen(api, '1', document, options)),
    )
    // Other selections of the same: their callers share single fields.
    const other = document.replace('{ deploymentId state }', '{ id: deploymentId now: state deploymentId }')
    const [wide, scoped] = await Promise.all(
      [{ ...narrow, as: 'viewer' }, narrow].map((options) => listen(api, '1', other, options)),
    )
    if (!one || !two || !three || !four || !elsewhere || !elsewhereToo || !wide || !scoped) return expect.unreachable()
    for (const each of [one, two, three, four, elsewhere, elsewhereToo, wide, scoped])
      expect(await each.next()).toBe(nothing)
    // For `a`, for `b`, for the caller with a scope, and the backlog.
    await expect.poll(() => api.road.feed.hub.size).toBe(4)
    for (const id of ['a', 'b']) await api.report({ reporter: 'oslo-1', deploymentId: id, state: 'PENDING' })
    for (const each of [one, three]) expect(await each.next()).toBe(told('a', 'PENDING'))
    for (const each of [two, four]) expect(await each.next()).toBe(told('b', 'PENDING'))
    const otherTold = (state: string) =>
      JSON.stringify({ data: { deployment: { deployment: { id: 'a', now: state, deploymentId: 'a' } } } })
    expect(await wide.next()).toBe(otherTold('PENDING'))
    const device = { deviceId: 'm-1', name: null, parent: null, expectedInterval: null, tokenHash: 'hash' }
    await api.road.writer.submit(registerDevices([{ ...device, labels: [{ key: 'site', value: 'munich' }] }]))
    await api.report({ reporter: 'm-1', deploymentId: 'a', state: 'INSTALLED' })
    for (const each of [elsewhere, elsewhereToo]) expect(await each.next()).toBe(told('a', 'INSTALLED'))
    expect(await scoped.next()).toBe(otherTold('INSTALLED'))
    await api.close()
  })
})

describe('the result of a change', () => {
  const event = (change: object | null, cursor = 7) => ({
    payload: { cursor, change, reset: null },
    resumeFrom: 7,
    snapshot: null,
    release: () => {},
  })
  const turn = () => new Promise<void>((resolve) => setImmediate(() => setImmediate(resolve)))
  const change = {}

  it.each([
    { isItsOwn: true, later: change, executions: 1 },
    { isItsOwn: false, later: change, executions: 2 },
    { isItsOwn: true, later: {}, executions: 2 },
  ])(
    'that depends on it alone ($isItsOwn) costs later subscribers $executions',
    async ({ isItsOwn, later, executions }) => {
      const shared = createSharedExecution()
      const execute = vi.fn(async () => createEventResult({ data: {} }, 7, isItsOwn))
      const tell = (about: object) => shared.execute('operation', event(about), execute)
      const first = await Promise.all([tell(change), tell(change)])
      expect(first[1]).toBe(first[0])
      expect(execute).toHaveBeenCalledTimes(1)
      await turn()
      await tell(later)
      expect(execute).toHaveBeenCalledTimes(executions)
    },
  )

  it('is kept with those of the same change for other operations, which are bounded, too', async () => {
    const shared = createSharedExecution()
    const execute = vi.fn(() => createEventResult({ data: { text: 'x'.repeat(65_000) } }, 7, true))
    const changes = Array.from({ length: 40 }, () => ({}))
    const executeAll = (): void => {
      for (const [cursor, change] of changes.entries())
        for (let operation = 0; operation < 10; operation += 1)
          shared.execute(`operation ${operation}`, event(change, cursor), execute)
    }
    executeAll()
    await turn()
    // Those that are kept are read first.
    changes.reverse()
    executeAll()
    expect(3 * 65_000 * (800 - execute.mock.calls.length)).toBeLessThan(16 << 20)
    expect(execute.mock.calls.length).toBeLessThan(800)
  })

  it.each([
    ['the texts of its change', { text: 'x'.repeat(65_000) }, {}, 1],
    // Its text and its frame are as large.
    ['its own', {}, { text: 'x'.repeat(65_000) }, 3],
  ])('is kept with %s, so that these are bounded in bytes', async (_, ofChange, data, times) => {
    const shared = createSharedExecution()
    const execute = vi.fn(() => createEventResult({ data }, 7, true))
    const changes = Array.from({ length: 400 }, () => ({ ...ofChange }))
    for (const [cursor, change] of changes.entries()) shared.execute('operation', event(change, cursor), execute)
    await turn()
    const kept = changes.findLastIndex((change, cursor) => {
      shared.execute('operation', event(change, cursor), execute)
      return execute.mock.calls.length > changes.length
    })
    const bytes = (changes.length - 1 - kept) * times * 65_000
    expect(bytes).toBeGreaterThan(12 << 20)
    expect(bytes).toBeLessThan(16 << 20)
  })
})
