/** Text that PostgreSQL's JSON operators cannot read, on every road in: ids are refused, the rest is mended, and no query is spoilt by it. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { openFresh } from '../support/databases/databases.ts'
import { type EmptyStore, stores } from '../support/databases/stores.ts'
import { startApp } from '../support/servers/app.ts'
import { newContext, newGroup } from '../support/systems/emco.ts'
import { transports } from './transports.ts'

type Server = Awaited<ReturnType<typeof startApp>>

const instance = readFileSync(join(import.meta.dirname, '../fixtures/k8splugin/instance.json'), 'utf8')
const bad = 'a\ud800b\0c\udc00\ud83d\ude00'
const mended = 'a\ufffdb\ufffdc\ufffd\ud83d\ude00'

const questions = [
  '{ changes(last: 50, filter: { kinds: [RESOURCE_STATUS_CHANGED], components: ["x"] }) { nodes { revision } } }',
  '{ changes(last: 50, filter: { kinds: [DEPLOYMENT_STATE_CHANGED] }) { nodes { revision } } }',
  '{ deployments(first: 50, filter: { components: ["x"], errorCodes: ["x"], text: "x" }) { nodes { components { name error { message } } } } }',
  '{ deployments(first: 50) { nodes { resources(first: 50) { nodes { reason message namespace detail } } } } }',
]
const followed = 'subscription { changes(after: "0", filter: { kinds: [RESOURCE_STATUS_CHANGED] }) { cursor } }'

function send(server: Server, method: string, path: string, body: unknown): Promise<Response> {
  const text = typeof body === 'string' ? body : JSON.stringify(body)
  return fetch(`${server.url}${path}`, { method, headers: { 'content-type': 'application/json' }, body: text })
}

async function expectReadable(server: Server): Promise<void> {
  for (const { name, ask } of transports) {
    for (const query of questions) {
      const { errors } = await ask(server.url, { query })
      expect({ name, query, errors }).toEqual({ name, query, errors: undefined })
    }
    if (name !== 'HTTP') expect(await ask(server.url, { query: followed })).toHaveProperty('data.changes.cursor')
  }
  expect(server.logged.filter(({ level }) => level === 'error')).toEqual([])
}

const vault = { name: 'vault', GVK: { Group: 'apps', Version: 'v1', Kind: 'Deployment' } }
const sick = (kind: string, text = bad) => ({
  kind,
  metadata: { name: 'vault', annotations: { [text]: text } },
  status: { conditions: [{ type: 'Stalled', status: 'True', reason: text, message: text }] },
})

describe.each(stores)('text that JSON operators cannot read, on $name', (store) => {
  let empty: EmptyStore
  let server: Server
  beforeAll(async () => {
    empty = await store.create()
    server = await startApp({ on: empty, env: { SINK_ALLOW: '127.0.0.1' } })
    expect(
      (await send(server, 'PUT', '/v1/instance/i-1', { ...JSON.parse(instance), id: 'i-1', note: bad })).status,
    ).toBe(201)
  })
  afterAll(async () => {
    await server.stop()
    await empty.drop()
  })

  it('is mended in what Kubernetes objects say, and said twice it is the same', async () => {
    const body = { resourcesStatus: [{ ...vault, status: sick('Deployment') }] }
    const say = async () => (await send(server, 'PUT', '/v1/instance/i-1/status', body)).json()
    expect(await say()).toMatchObject({ verdict: 'APPLIED' })
    expect(await say()).toMatchObject({ verdict: 'UNCHANGED' })
    const { deployments } = await server.query(
      '{ deployments { nodes { resources { nodes { name reason message } } } } }',
    )
    expect(deployments.nodes[0].resources.nodes).toContainEqual({ name: 'vault', reason: mended, message: mended })
    await expectReadable(server)
  })

  it('is mended in the snapshots that clusters show', async () => {
    const emco = newGroup(server)
    const context = newContext()
    await emco.call('POST', `${emco.base}/actions`, { State: 'Created', 'composite-profile-name': 'p' })
    await emco.act('Approved', `Instantiated ${context}`)
    const metadata = { name: bad, uid: bad, resourceVersion: bad, labels: { 'emco/deployment-id': `${context}-app` } }
    const whole = Buffer.from(JSON.stringify(sick('Network')))
    const status = {
      deploymentStatuses: [sick('Deployment'), { metadata: { name: bad } }, { apiVersion: bad, ...sick('Deployment') }],
      resourceStatuses: [{ group: 'x', version: 'v1', kind: 'Network', name: 'n', res: whole.toString('base64') }],
    }
    const body = { apiVersion: 'k8splugin.io/v1alpha1', kind: 'ResourceBundleState', metadata, status }
    const response = await send(server, 'PUT', `${emco.base}/resource-bundle-states/p%2Bedge01`, body)
    expect({ status: response.status, body: await response.json() }).toMatchObject({ status: 200 })
    await expectReadable(server)
  })

  it('is refused in ids, each with its field', async () => {
    const object = { ...sick('Deployment', 'fine'), metadata: { name: 'vault', namespace: 'a\0b' } }
    const body = {
      resourcesStatus: [
        { ...vault, status: object },
        { ...vault, GVK: { Kind: 'K', Group: 'a\0' } },
      ],
    }
    expect(await (await send(server, 'PUT', '/v1/instance/i-1/status', body)).json()).toMatchObject({
      results: [
        { verdict: 'REFUSED', errors: [{ field: 'resourcesStatus[0].status.metadata.namespace' }] },
        { verdict: 'REFUSED', errors: [{ field: 'resourcesStatus[1].GVK.Group' }] },
      ],
    })
    for (const id of ['a\0b', 'a\ud800b']) {
      const report = { deviceId: id, deploymentId: id, status: { state: 'installed' }, components: [] }
      const { results } = await (await server.post('/reports', { reports: [report] })).json()
      const fields = results[0].errors.map(({ field }: { field: string }) => field)
      expect(fields).toEqual(['deploymentId', 'deviceId'])
    }
    await expectReadable(server)
  })

  it('is mended in what subscribers and operators add, and integers of any size are taken', async () => {
    const path = '/v1/instance/i-1/status/subscription'
    const address = 'http://127.0.0.1:9/x'
    const subscription = `{"name":"s","callback-url":"${address}","metadata":{"n":12345678901234567890,"t":"\\ud800\\u0000"}}`
    const response = await send(server, 'POST', path, subscription)
    expect({ status: response.status, body: await response.json() }).toMatchObject({
      status: 201,
      body: { metadata: { n: 12345678901234567000, t: '\ufffd\ufffd' } },
    })
    expect((await send(server, 'PUT', `${path}/s`, subscription)).status).toBe(200)
    const secret = { name: 't', 'callback-url': address, secret: 'a\0b' }
    expect((await send(server, 'POST', path, secret)).status).toBe(422)
    const registered = await server.query(
      `mutation ($x: String!) { registerDevices(input: { devices: [{ deviceId: "d", name: $x }] }) { __typename } }`,
      { x: bad },
    )
    expect(registered).toEqual({ registerDevices: { __typename: 'InvalidInput' } })
    const { auditLog } = await server.query('{ auditLog(first: 10) { nodes { action detail } } }')
    expect(auditLog.nodes).toBeInstanceOf(Array)
    await expectReadable(server)
  })

  it('is the same after a restart as before', async () => {
    if (store.name === 'PGlite') return
    const body = { resourcesStatus: [{ ...vault, status: sick('Deployment') }] }
    const say = async () => (await send(server, 'PUT', '/v1/instance/i-1/status', body)).json()
    await say()
    await server.app.close()
    server = await startApp({ on: empty })
    expect(await say()).toMatchObject({ verdict: 'UNCHANGED' })
  })
})

describe.each(stores)('text in the database, on $name', (store) => {
  it('is kept letter for letter, also what decoders swallow', async () => {
    const { session } = await openFresh(store)
    const texts = ['\ufeffvictim', '\ufeff', 'victim', '\ufeff\ufeffx']
    for (const text of texts) expect(await session.run('select $1::text as text', [text])).toEqual([{ text }])
    expect(await session.run('select $1::text as text', ['a\0\ud800'])).toEqual([{ text: 'a\ufffd\ufffd' }])
  })
})

describe.each(stores)('U+FEFF before an id on $name', (store) => {
  it('is no device, and no device speaks for its neighbour by it', async () => {
    const server = await startApp({ store, env: { DEVICE_AUTH: 'token' } })
    onTestFinished(() => server.stop())
    const register = async (ids: string) =>
      (
        await server.query(`mutation { registerDevices(input: { devices: [${ids}] }) { __typename
          ... on RegisterDevicesSuccess { results { device { deviceId } token } }
          ... on UserError { message } } }`)
      ).registerDevices
    const refused = await register('{ deviceId: "victim" }, { deviceId: "\\uFEFFvictim" }')
    expect(refused).toMatchObject({ __typename: 'InvalidInput', message: expect.stringContaining('deviceId') })
    const { results } = await register('{ deviceId: "victim" }, { deviceId: "neighbour" }')
    const report = { deviceId: 'victim', deploymentId: 'd', status: { state: 'installed' }, components: [] }
    const answer = async (deviceId: string) => {
      const sent = await server.post(
        '/reports',
        { reports: [{ ...report, deviceId }] },
        {
          authorization: `Bearer ${results[1].token}`,
        },
      )
      return (await sent.json()).results[0]
    }
    expect(await answer('victim')).toMatchObject({ status: 403 })
    expect(await answer('\ufeffvictim')).toMatchObject({ status: 422 })
    const { devices } = await server.query('{ devices { nodes { deviceId } } }')
    expect(new Set(devices.nodes.map(({ deviceId }: { deviceId: string }) => deviceId))).toEqual(
      new Set(['victim', 'neighbour']),
    )
  })
})
