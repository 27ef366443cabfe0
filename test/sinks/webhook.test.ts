import { createHmac } from 'node:crypto'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { defaultTimeouts } from '../../src/api/rest/guard.ts'
import { stores } from '../support/databases/stores.ts'
import { type RunningApp, startApp } from '../support/servers/app.ts'
import { type Receiver, startReceiver } from '../support/systems/receiver.ts'

const create = `mutation ($input: CreateWebhookInput!) {
  createWebhook(input: $input) {
    ... on CreateWebhookSuccess { secret sink { id kind name url paused cursor failures } }
    ... on InvalidInput { message path problems { path message } }
  }
}`

const deeper = (levels: number): object => (levels === 0 ? { to: ['FAILED'] } : { not: deeper(levels - 1) })

describe.each(stores)('webhooks on $name', (store) => {
  let server: RunningApp
  let receiver: Receiver
  beforeAll(async () => {
    server = await startApp({ store, env: { SINK_ALLOW: '127.0.0.1' }, timeouts: { ...defaultTimeouts, retry: 50 } })
  })
  afterAll(() => server.stop())
  afterEach(() => receiver.close())

  const report = (device: string, state: string, headers: Record<string, string> = {}) => {
    const body = { deploymentId: 'd', status: { state }, components: [] }
    return server.post(`/device/${device}/deployment/d/status`, body, headers)
  }
  const webhook = async (input: object) => {
    receiver = await startReceiver()
    const { createWebhook } = await server.query(create, {
      input: { name: 'hook', url: `${receiver.url}/hook`, ...input },
    })
    return createWebhook
  }

  it('post every change that the filter wants, in order, as signed CloudEvents', async () => {
    const { secret, sink } = await webhook({ filter: { deviceIds: ['a'] } })
    expect(sink).toMatchObject({ kind: 'WEBHOOK', name: 'hook', paused: false, failures: 0 })
    const traceparent = `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`
    for (const state of ['pending', 'installing', 'installed']) {
      await report('a', state, state === 'pending' ? { traceparent } : {})
      await report('b', state)
    }
    const received = await receiver.until((all) => all.length >= 3)
    expect(received.map(({ body }) => [body.data.from, body.data.to])).toEqual([
      [null, 'PENDING'],
      ['PENDING', 'INSTALLING'],
      ['INSTALLING', 'INSTALLED'],
    ])
    expect(received.map(({ body }) => body.traceparent)).toEqual([traceparent, undefined, undefined])
    const [first] = received
    if (!first) throw new Error('nothing was received')
    const { headers, body, text } = first
    expect(body).toMatchObject({
      specversion: '1.0',
      type: 'rollcall.deployment-state-changed',
      subject: 'd',
      datacontenttype: 'application/json',
      data: { deploymentId: 'd', target: { kind: 'DEVICE', name: 'a' } },
    })
    expect(headers['content-type']).toContain('application/cloudevents+json')
    expect(headers['webhook-id']).toBe(body.id)
    const signature = createHmac('sha256', Buffer.from(secret.slice('whsec_'.length), 'base64'))
      .update(`${headers['webhook-id']}.${headers['webhook-timestamp']}.${text}`)
      .digest('base64')
    expect(headers['webhook-signature']).toBe(`v1,${signature}`)
  })

  it('post the changes that a selector wants, and no others', async () => {
    const south = { key: 'site', value: 'south' }
    const register = `mutation { registerDevices(input: { devices: [
      { deviceId: "s-1", labels: [{ key: "site", value: "south" }] }, { deviceId: "n-1", labels: [{ key: "site", value: "north" }] }
    ] }) { __typename } }`
    await server.query(register)
    const where = {
      and: [{ label: { key: south.key, equals: south.value } }, { not: { to: ['INSTALLING'] } }],
      or: [{ deviceIds: ['n-1'] }, { kinds: ['DEPLOYMENT_STATE_CHANGED'] }],
    }
    await webhook({ filter: { where } })
    for (const state of ['pending', 'installing', 'installed'])
      for (const device of ['n-1', 's-1', 'other']) await report(device, state)
    const received = await receiver.until((all) => all.some(({ body }) => body.data.to === 'INSTALLED'))
    expect(received.map(({ body }) => [body.data.target.name, body.data.to])).toEqual([
      ['s-1', 'PENDING'],
      ['s-1', 'INSTALLED'],
    ])
    const { createWebhook } = await server.query(create, {
      input: { name: 'deep', url: `${receiver.url}/deep`, filter: { where: deeper(8) } },
    })
    expect(createWebhook.message ?? '').toMatch(/where is \d+ levels deep/)
  })

  it('that are limited to labels do not name a device without them that replaces one', async () => {
    const east = { key: 'site', value: 'east' }
    const retire = (deviceId: string, replacedBy: string): string =>
      `mutation { retireDevices(input: { reason: "scrapped", devices: [{ deviceId: "${deviceId}", replacedBy: "${replacedBy}" }] }) { __typename } }`
    await server.query(`mutation { registerDevices(input: { devices: [
      ${['e-1', 'e-2', 'e-3'].map((id) => `{ deviceId: "${id}", labels: [{ key: "site", value: "east" }] }`).join(' ')}
      { deviceId: "w-1", labels: [{ key: "site", value: "west" }] }
    ] }) { __typename } }`)
    await webhook({ filter: { labels: [east], kinds: ['DEVICE_RETIRED'] } })
    await server.query(retire('e-1', 'w-1'))
    await server.query(retire('e-2', 'e-3'))
    const received = await receiver.until((all) => all.length >= 2)
    expect(received.map(({ body }) => [body.data.target.name, body.data.replacedBy?.name ?? null])).toEqual([
      ['e-1', null],
      ['e-2', 'e-3'],
    ])
  })

  it('post of resources only those of the kinds that are wanted, and of everything else all', async () => {
    const put = (path: string, body: object) =>
      fetch(`${server.url}/v1/instance/kinds${path}`, {
        method: 'PUT',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(body),
      })
    await webhook({
      resourceKinds: ['Deployment'],
      filter: { kinds: ['RESOURCE_STATUS_CHANGED', 'DEPLOYMENT_STATE_CHANGED'] },
    })
    const request = { 'rb-name': 'rb', 'rb-version': 'v1', 'profile-name': 'kinds', 'cloud-region': 'region' }
    await put('', { request, namespace: 'ns', resources: [] })
    const object = (Kind: string, name: string) => ({ name, GVK: { Group: '', Version: 'v1', Kind }, status: {} })
    const pods = ['a', 'b', 'c'].map((name) => object('Pod', name))
    await put('/status', { resourcesStatus: [...pods, object('Deployment', 'wanted'), object('Service', 'd')] })
    await put('/status', { resourcesStatus: [] })
    await report('last', 'pending')
    const received = await receiver.until((all) => all.some(({ body }) => body.data.target?.name === 'last'))
    expect(received.flatMap(({ body }) => body.data.resource?.kind ?? [])).toEqual(['Deployment', 'Deployment'])
  })

  it('are tried again in order, while others go on; paused and resumed; sent again when asked', async () => {
    const { sink } = await webhook({ filter: { deviceIds: ['c'] } })
    const sinkNow = async () =>
      (
        await server.query(
          'query ($id: ID!) { sink(id: $id) { failures lastError lastStatus paused deliveryHistory { nodes { id eventId attempts deliveredAt } } } }',
          { id: sink.id },
        )
      ).sink
    receiver.answer(503)
    await report('c', 'pending')
    await report('c', 'installing')
    await receiver.until((all) => all.length >= 2)
    expect(receiver.received.every(({ body }) => body.data.to === 'PENDING')).toBe(true)
    expect(await sinkNow()).toMatchObject({ lastError: 'answered 503', lastStatus: 503 })
    receiver.answer(204)
    const all = await receiver.until((received) => received.some(({ body }) => body.data.to === 'INSTALLING'))
    const seen = all.map(({ body }) => body.data.to)
    expect(seen.lastIndexOf('PENDING')).toBeLessThan(seen.indexOf('INSTALLING'))

    await server.query(
      'mutation ($id: ID!) { pauseSink(input: { id: $id }) { ... on PauseSinkSuccess { sink { paused } } } }',
      { id: sink.id },
    )
    await report('c', 'installed')
    expect(await sinkNow()).toMatchObject({ paused: true })
    await server.query(
      'mutation ($id: ID!) { resumeSink(input: { id: $id }) { ... on ResumeSinkSuccess { sink { paused } } } }',
      { id: sink.id },
    )
    await receiver.until((received) => received.some(({ body }) => body.data.to === 'INSTALLED'))

    const delivered = async () => (await sinkNow()).deliveryHistory.nodes
    await expect.poll(async () => (await delivered())[0]?.deliveredAt).toBeTruthy()
    const [newest] = await delivered()
    const before = receiver.received.length
    await server.query(
      'mutation ($id: ID!) { redeliver(input: { deliveryId: $id }) { ... on RedeliverSuccess { delivery { id } } } }',
      { id: newest.id },
    )
    const again = await receiver.until((received) => received.length > before)
    expect(again.at(-1)?.headers['webhook-id']).toBe(newest.eventId)

    const page = async (args: string) =>
      (
        await server.query(
          `query ($id: ID!) { sink(id: $id) { deliveryHistory(${args}) { totalCount nodes { id } pageInfo { hasNextPage hasPreviousPage endCursor } } } }`,
          { id: sink.id },
        )
      ).sink
    const ofNode =
      'query ($ids: [ID!]!) { nodes(ids: $ids) { __typename id ... on Sink { name } ... on Delivery { eventId } } }'
    expect(await server.query(ofNode, { ids: [sink.id, newest.id] })).toEqual({
      nodes: [
        { __typename: 'Sink', id: sink.id, name: expect.any(String) },
        { __typename: 'Delivery', id: newest.id, eventId: newest.eventId },
      ],
    })

    const { nodes: listed } = (await page('first: 20')).deliveryHistory
    const { deliveryHistory: first } = await page('first: 2')
    expect(first).toMatchObject({ totalCount: 3, nodes: listed.slice(0, 2), pageInfo: { hasNextPage: true } })
    const { deliveryHistory: second } = await page(`first: 2, after: "${first.pageInfo.endCursor}"`)
    expect(second).toMatchObject({ nodes: listed.slice(2), pageInfo: { hasNextPage: false, hasPreviousPage: true } })
    expect((await page('last: 1')).deliveryHistory.nodes).toEqual(listed.slice(2))
  })

  it('are tested with a signed message of their own, paused or not, and keep their position', async () => {
    const { sink, secret } = await webhook({ filter: { deviceIds: ['none'] } })
    const sinkOf = async () =>
      (
        await server.query(
          'query ($id: ID!) { sink(id: $id) { cursor failures lastError deliveryHistory { nodes { id } } } }',
          {
            id: sink.id,
          },
        )
      ).sink
    const test = async (id = sink.id) =>
      (
        await server.query(
          `mutation ($id: ID!) { testSink(input: { id: $id }) {
            ... on TestSinkSuccess { status error sink { name } } ... on UserError { __typename message }
          } }`,
          { id },
        )
      ).testSink
    await server.query('mutation ($id: ID!) { pauseSink(input: { id: $id }) { __typename } }', { id: sink.id })
    const before = await sinkOf()
    expect(await test()).toEqual({ status: 200, error: null, sink: { name: 'hook' } })
    const [message] = receiver.received
    if (!message) throw new Error('nothing was received')
    expect(message.body).toMatchObject({ specversion: '1.0', type: 'rollcall.test', data: { webhook: 'hook' } })
    const signature = createHmac('sha256', Buffer.from(secret.slice('whsec_'.length), 'base64'))
      .update(`${message.headers['webhook-id']}.${message.headers['webhook-timestamp']}.${message.text}`)
      .digest('base64')
    expect(message.headers['webhook-signature']).toBe(`v1,${signature}`)
    receiver.answer(401)
    expect(await test()).toMatchObject({ status: 401, error: 'answered 401' })
    await receiver.close()
    expect(await test()).toMatchObject({ status: null, error: 'ECONNREFUSED' })
    expect(await test('bm9uZQ')).toEqual({ __typename: 'NotFound', message: 'there is no such sink' })
    expect(await sinkOf()).toEqual(before)
  })

  it('refuse addresses inside, bad secrets and unknown revisions', async () => {
    expect(await webhook({ url: 'http://10.0.0.1/' })).toMatchObject({ path: ['url'] })
    await receiver.close()
    expect(await webhook({ secret: 'short' })).toMatchObject({ path: ['secret'] })
    await receiver.close()
    expect(await webhook({ after: '1' })).toMatchObject({ path: ['after'] })
    await receiver.close()
    expect(await webhook({ name: '', url: 'ftp://hooks.example', secret: 'short' })).toEqual({
      message: 'name must not be empty (and 2 more)',
      path: ['name'],
      problems: [
        { path: ['name'], message: 'must not be empty' },
        { path: ['url'], message: 'must be an http or https address' },
        { path: ['secret'], message: 'must be whsec_ and 24 to 64 bytes in base64' },
      ],
    })
  })
})
