import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { defaultTimeouts } from '../../src/api/rest/guard.ts'
import { stores } from '../support/databases/stores.ts'
import { type RunningApp, startApp } from '../support/servers/app.ts'
import { type Receiver, startReceiver } from '../support/systems/receiver.ts'
import { breakMarks } from './harness.ts'

const GVK = { Group: 'apps', Version: 'v1', Kind: 'Deployment' }
const object = (name: string, ready: number, resourceVersion = '1') => ({
  name,
  GVK,
  status: {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name, resourceVersion },
    spec: { replicas: 2 },
    status: { replicas: 2, updatedReplicas: 2, readyReplicas: ready, availableReplicas: ready },
  },
})

describe.each(stores)("k8splugin's callbacks on $name", (store) => {
  let server: RunningApp
  let receiver: Receiver
  beforeAll(async () => {
    server = await startApp({ store, env: { SINK_ALLOW: '127.0.0.1' }, timeouts: { ...defaultTimeouts, retry: 50 } })
    receiver = await startReceiver()
  })
  afterAll(async () => {
    await server.stop()
    await receiver.close()
  })

  const send = async (method: string, path: string, body?: unknown) => {
    const response = await fetch(`${server.url}/v1/instance${path}`, {
      method,
      ...(body === undefined
        ? {}
        : {
            headers: { 'content-type': 'application/json' },
            body: typeof body === 'string' ? body : JSON.stringify(body),
          }),
    })
    const text = await response.text()
    // biome-ignore lint/suspicious/noExplicitAny: what a test asked for, it knows.
    return { status: response.status, body: (text === '' ? null : JSON.parse(text)) as any }
  }
  const instance = (id: string) =>
    send('PUT', `/${id}`, {
      request: { 'rb-name': 'rb', 'rb-version': 'v1', 'profile-name': 'p', 'cloud-region': `region-${id}` },
      resources: [{ GVK, Name: 'a' }],
    })
  const show = (id: string, ...objects: object[]) => send('PUT', `/${id}/status`, { resourcesStatus: objects })

  it('are repeated after a failure of the database, which is no failure of the receiver', async () => {
    await instance('failing')
    await show('failing', object('a', 2))
    const { mend } = await breakMarks(server.app.database)
    const own = await startReceiver()
    onTestFinished(() => own.close())
    await send('POST', '/failing/status/subscription', { name: 'broken', 'callback-url': own.url })
    await own.until(({ length }) => length >= 2)
    const sink = async () => {
      const { session } = server.app.database
      const rows = await session.run(
        "select failures, last_error, succeeded_at is null as is_waiting from sinks where name = 'broken'",
      )
      return rows[0]
    }
    expect(await sink()).toEqual({ failures: 0, last_error: null, is_waiting: true })
    await mend()
    await expect.poll(sink).toEqual({ failures: 0, last_error: null, is_waiting: false })
    for (const { body } of own.received) expect(body['resource-changes'].created).toEqual([object('a', 2)])
    await send('DELETE', '/failing/status/subscription/broken')
  })

  it('begin with everything, then tell what became of it, and no noise', async () => {
    await instance('i')
    await show('i', object('a', 2), object('b', 1))
    const made = await send('POST', '/i/status/subscription', {
      name: 'one',
      'callback-url': `${receiver.url}/here`,
      metadata: { who: 'me' },
      secret: 'shared',
    })
    expect(made).toMatchObject({
      status: 201,
      body: { name: 'one', 'min-notify-interval': 0, 'callback-url': `${receiver.url}/here`, metadata: { who: 'me' } },
    })
    expect(made.body).not.toHaveProperty('secret')
    const [first] = await receiver.until((all) => all.length === 1)
    expect(first?.body).toEqual({
      'instance-id': 'i',
      'subscription-name': 'one',
      metadata: { who: 'me' },
      'resource-changes': { created: [object('a', 2), object('b', 1)], modified: [], deleted: [] },
    })
    expect(first?.headers['x-rollcall-signature']).toMatch(/^sha256=[0-9a-f]{64}$/)

    await show('i', object('a', 2, '2'), object('b', 1, '3'))
    await show('i', object('a', 2, '4'), object('b', 2, '5'), object('c', 2))
    const [, second] = await receiver.until((all) => all.length >= 2)
    expect(second?.body['resource-changes']).toEqual({
      created: [object('c', 2)],
      modified: [object('b', 2, '5')],
      deleted: [],
    })
    await show('i', object('b', 2, '5'))
    const [, , third] = await receiver.until((all) => all.length >= 3)
    expect(third?.body['resource-changes']).toMatchObject({
      created: [],
      modified: [],
      deleted: [
        { name: 'a', GVK },
        { name: 'c', GVK },
      ],
    })
    expect(receiver.received).toHaveLength(3)
    const { body } = await send('GET', '/i/status/subscription/one')
    expect(body).toMatchObject({ name: 'one', 'last-notify-status': 200 })
  })

  const lags = async (): Promise<Map<string, number>> => {
    const { sinks } = await server.query('{ sinks { name lag } }')
    return new Map(sinks.map(({ name, lag }: { name: string; lag: number }) => [name, lag]))
  }

  it('are tried again until they are taken', async () => {
    await instance('j')
    await show('j', object('a', 1))
    const before = receiver.received.length
    receiver.answer(500)
    await send('POST', '/j/status/subscription', { name: 'two', 'callback-url': receiver.url })
    await receiver.until((all) => all.length > before)
    expect((await lags()).get('two')).toBeGreaterThan(0)
    await show('j', object('a', 2))
    receiver.answer(200)
    await expect.poll(async () => (await lags()).get('two')).toBe(0)
    // What was on the way when the second state came is taken as well, and then the second state is a modification.
    const { created, modified } = receiver.received.at(-1)?.body['resource-changes'] ?? {}
    expect([...created, ...modified]).toMatchObject([object('a', 2)])
  })

  it('tell of an object whose metadata is null', async () => {
    await instance('n')
    const empty = { name: 'a', GVK, status: { apiVersion: 'apps/v1', metadata: null } }
    await show('n', empty)
    await send('POST', '/n/status/subscription', { name: 'four', 'callback-url': `${receiver.url}/four` })
    const all = await receiver.until((received) => received.some(({ path }) => path === '/four'))
    expect(all.find(({ path }) => path === '/four')?.body['resource-changes']).toMatchObject({ created: [empty] })
  })

  it('refuse what cannot be', async () => {
    await instance('k')
    const post = (body: unknown) => send('POST', '/k/status/subscription', body)
    const callback = { name: 'three', 'callback-url': `${receiver.url}/three` }
    expect(await post('')).toMatchObject({ status: 400 })
    expect(await post('{')).toMatchObject({ status: 422 })
    expect(await post({ ...callback, 'min-notify-interval': -1 })).toMatchObject({
      status: 422,
      body: { errors: [{ field: 'min-notify-interval' }] },
    })
    for (const url of [
      'http://10.1.2.3/x',
      'http://[::1]/',
      'http://localhost:1/',
      'ftp://example.com',
      'http://169.254.169.254/latest',
    ])
      expect(await post({ ...callback, 'callback-url': url })).toMatchObject({
        status: 422,
        body: { errors: [{ field: 'callback-url' }] },
      })
    expect(await post(callback)).toMatchObject({ status: 201 })
    expect(await post(callback)).toMatchObject({ status: 409 })
    expect(await send('GET', '/k/status/subscription')).toMatchObject({ body: [{ name: 'three' }] })
    expect(await send('PUT', '/k/status/subscription/three', { 'callback-url': `${receiver.url}/4` })).toMatchObject({
      status: 200,
      body: { 'callback-url': `${receiver.url}/4` },
    })
    const gone = await fetch(`${server.url}/v1/instance/k/status/subscription/three`, { method: 'DELETE' })
    // RFC 9110 §8.6: a 204 has no Content-Length.
    expect([gone.status, gone.headers.get('content-length')]).toEqual([204, null])
    expect(await send('GET', '/k/status/subscription/three')).toMatchObject({ status: 404 })
    expect(await send('POST', '/unknown/status/subscription', callback)).toMatchObject({ status: 404 })
  })
})
