import { readFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest'
import { defaultTimeouts } from '../../../src/api/rest/guard.ts'
import { lost } from '../../../src/store/connection/failure.ts'
import { type RunningApp, startApp } from '../../support/servers/app.ts'

let server: RunningApp
beforeAll(async () => {
  server = await startApp()
})
afterAll(() => server.stop())

const fixture = (name: string): string =>
  readFileSync(new URL(`../../fixtures/margo/${name}.json`, import.meta.url), 'utf8')
const body = (deploymentId: string, state = 'installed', more: object = {}) => ({
  deploymentId,
  status: { state },
  components: [{ name: 'web', state }],
  ...more,
})
const stateOf = `query ($id: String!) { deployment(deploymentId: $id) { state reporter device { deviceId } adoptedManifestVersion } }`
const find = async (id: string) => (await server.query(stateOf, { id })).deployment

const routes: readonly [string, number][] = [
  ['/device/gate-1/deployment/ID/status', 201],
  ['/v1alpha2/margo/device/gate-1/deployment/ID/status', 201],
  ['/api/v1/device/gate-1/deployment/ID/status', 201],
  ['/v1alpha2/margo/api/v1/device/gate-1/deployment/ID/status', 201],
  ['/margo/sbi/v1/device/gate-1/deployment/ID/status', 201],
  ['/v1alpha2/margo/sbi/v1/device/gate-1/deployment/ID/status', 201],
  ['/margo/sbi/v1/client/gate-1/deployment/ID/status', 201],
  ['/api/v1/clients/gate-1/deployment/ID/status', 200],
  ['/margo/api/v1/clients/gate-1/deployment/ID/status', 200],
  ['/api/v1/clients/gate-1/deployments/ID/status', 200],
  ['/v1alpha2/margo/api/v1/clients/gate-1/deployments/ID/status', 200],
  ['/api/v1/deployments/ID/status', 200],
  ['/margo/api/v1/deployments/ID/status', 200],
]

describe('a report', () => {
  it.each(routes)(
    'posted to %s is answered with %i, a verdict and its revision, and is in the answers',
    async (path, status) => {
      const id = `route-${path.replaceAll('/', '.')}`
      const response = await server.post(path.replace('ID', id), {
        ...body(id),
        adoptedManifestVersion: 1,
        deviceId: 'gate-1',
      })
      expect(response.status).toBe(status)
      expect(response.headers.get('content-type')).toBe('application/json')
      expect(await response.json()).toEqual({
        acknowledgement: 'received',
        verdict: 'APPLIED',
        revision: expect.stringMatching(/^[1-9]\d+$/),
      })
      expect(await find(id)).toMatchObject({ state: 'INSTALLED', reporter: 'gate-1', device: { deviceId: 'gate-1' } })
    },
  )

  it("is taken in the specification's own words", async () => {
    const id = 'a3e2f5dc-912e-494f-8395-52cf3769bc06'
    const response = await server.post(`/device/seed/deployment/${id}/status`, fixture('seed-example'))
    expect(response.status).toBe(201)
    expect(await find(id)).toMatchObject({ state: 'PENDING', reporter: 'seed' })
  })

  it.each(['application/yaml', 'application/x-yaml', 'text/yaml; charset=utf-8'])('is taken as %s', async (type) => {
    const id = `yaml-${type.length}`
    const text = `kind: Margo Deployment Status\nmetadata:\n  name: n\n  uniqueId: ${id}\ndeploymentInformation:\n  status: failed\n`
    const send = (body: string) =>
      fetch(`${server.url}/device/yaml/deployment/${id}/status`, {
        method: 'POST',
        headers: { 'content-type': type },
        body,
      })
    expect((await send(text)).status).toBe(201)
    expect(await find(id)).toMatchObject({ state: 'FAILED', reporter: 'yaml' })
    const broken = await send('status: [')
    expect([broken.status, await broken.json()]).toMatchObject([400, { retryable: false }])
    const wrong = await send(text.replace('failed', 'sideways').replace(id, 'other'))
    expect([wrong.status, await wrong.json()]).toMatchObject([
      422,
      { errors: [{ field: 'metadata.uniqueId' }, { field: 'deploymentInformation.status' }] },
    ])
  })

  it('of a failure after all its components are installed bears itself out', async () => {
    const components = [{ name: 'web', state: 'installed' }]
    await server.post('/device/stages/deployment/post/status', { ...body('post', 'failed'), components })
    const rollcall = { failureStage: 'pre-processing' }
    await server.post('/device/stages/deployment/pre/status', { ...body('pre', 'failed'), components, rollcall })
    const stageOf = `query ($id: String!) { deployment(deploymentId: $id) {
      failureStage consistent derivedState history { nodes { ... on DeploymentStateChanged { to failureStage } } }
    } }`
    for (const [id, failureStage] of [
      ['post', 'POST_PROCESSING'],
      ['pre', 'PRE_PROCESSING'],
    ])
      expect((await server.query(stageOf, { id })).deployment).toMatchObject({
        failureStage,
        consistent: true,
        derivedState: 'INSTALLED',
        history: { nodes: [{ to: 'FAILED', failureStage }, {}] },
      })
  })

  it('that is repeated is a success, and spends no revision', async () => {
    const send = async () => (await server.post('/device/twice/deployment/twice/status', body('twice'))).json()
    const first = await send()
    expect(await send()).toEqual({ ...first, verdict: 'UNCHANGED' })
  })

  it('that comes late is a success too, and says what it lost by', async () => {
    const send = async (version: string, state: string) => {
      const text = JSON.stringify(body('late', state)).replace('{', `{"adoptedManifestVersion":${version},`)
      return (await server.post('/api/v1/clients/late/deployments/late/status', text)).json()
    }
    await send('18446744073709551615', 'installed')
    expect(await send('18446744073709551614', 'failed')).toMatchObject({
      acknowledgement: 'received',
      verdict: 'STALE',
      staleBy: 'adoptedManifestVersion',
    })
    expect(await find('late')).toMatchObject({ state: 'INSTALLED', adoptedManifestVersion: '18446744073709551615' })
  })

  it('may have an id of any characters: they are decoded', async () => {
    const id = 'a/b+c d%é'
    const path = `/device/${encodeURIComponent('gw/child')}/deployment/${encodeURIComponent(id)}/status?trace=1`
    expect((await server.post(path, body(id))).status).toBe(201)
    expect(await find(id)).toMatchObject({ reporter: 'gw/child' })
  })

  it('may be of any JSON media type', async () => {
    for (const type of ['application/json; charset=utf-8', 'APPLICATION/JSON', 'application/vnd.margo+json']) {
      const response = await server.post('/device/m/deployment/media/status', body('media'), { 'content-type': type })
      expect(response.status, type).toBe(201)
    }
    const sent = Buffer.from(JSON.stringify(body('media')))
    const untyped = await fetch(`${server.url}/device/m/deployment/media/status`, { method: 'POST', body: sent })
    expect(untyped.status).toBe(201)
  })

  it('carries its request id through', async () => {
    const path = '/device/ids/deployment/ids/status'
    const given = await server.post(path, body('ids'), { 'x-request-id': 'trace-42' })
    expect(given.headers.get('x-request-id')).toBe('trace-42')
    const made = await server.post(path, body('ids'), { 'x-request-id': 'not ok' })
    expect(made.headers.get('x-request-id')).toMatch(/^[\w-]{8,}$/)
  })
})

describe('a backlog', () => {
  const items = (id: string) => [
    { ...body(id, 'pending'), deviceId: 'away' },
    { ...body(id, 'installing'), deviceId: 'away' },
    { ...body(id, 'sideways'), deviceId: 'away' },
    'no report at all',
    { ...body(id, 'installed'), deviceId: 'away' },
    { ...body(id, 'installed'), deviceId: 'away' },
  ]
  const expected = [
    { verdict: 'APPLIED', revision: expect.any(String) },
    { verdict: 'APPLIED', revision: expect.any(String) },
    { verdict: 'REFUSED', status: 422, errors: [{ field: 'status.state' }, { field: 'components[0].state' }] },
    { verdict: 'REFUSED', status: 400, errors: expect.any(Array) },
    { verdict: 'APPLIED', revision: expect.any(String) },
    { verdict: 'UNCHANGED', revision: expect.any(String) },
  ]
  const forms: readonly [string, string, (list: readonly unknown[]) => string][] = [
    ['an object', 'application/json', (reports) => JSON.stringify({ reports })],
    ['NDJSON', 'application/x-ndjson', (list) => list.map((item) => JSON.stringify(item)).join('\n')],
  ]

  it.each(forms)('as %s gets a verdict an item, in order: one bad item spoils no other', async (name, type, write) => {
    const id = `backlog-${name}`
    const response = await server.post('/reports', write(items(id)), { 'content-type': type })
    expect(response.status).toBe(200)
    const { revision, results } = (await response.json()) as { revision: string; results: { revision?: string }[] }
    expect(results).toHaveLength(expected.length)
    results.forEach((result, index) => {
      expect(result).toMatchObject(expected[index] ?? {})
    })
    const revisions = results.flatMap((result) => (result.revision === undefined ? [] : [BigInt(result.revision)]))
    expect(revisions).toEqual(revisions.toSorted((a, b) => Number(a - b)))
    expect(revision).toBe(String(revisions.at(-1)))
    const { deployment } = await server.query(
      `query ($id: String!) { deployment(deploymentId: $id) { history { nodes { ... on DeploymentStateChanged { from to } } } } }`,
      { id },
    )
    const steps = deployment.history.nodes.filter((node: object) => 'to' in node)
    expect(steps).toEqual([
      { from: null, to: 'PENDING' },
      { from: 'PENDING', to: 'INSTALLING' },
      { from: 'INSTALLING', to: 'INSTALLED' },
    ])
  })

  it('may be empty, and may be long', async () => {
    expect(await (await server.post('/reports', { reports: [] })).json()).toMatchObject({ results: [] })
    const many = Array.from({ length: 3_000 }, (_, n) => ({
      ...body(`long-${n}`, 'pending'),
      deviceId: `dev-${n % 7}`,
    }))
    const { results } = (await (await server.post('/reports', { reports: many })).json()) as {
      results: { verdict: string }[]
    }
    expect(results.filter(({ verdict }) => verdict === 'APPLIED')).toHaveLength(3_000)
  })

  it('is refused as a whole only when it has no items to answer', async () => {
    expect((await server.post('/reports', '{')).status).toBe(400)
    expect((await server.post('/reports', { report: [] })).status).toBe(422)
    expect((await server.post('/reports', '[]', { 'content-type': 'text/csv' })).status).toBe(415)
  })
})

it('a backlog of which a report could not be written is written whole when it is sent again', async () => {
  const own = await startApp({ timeouts: { ...defaultTimeouts, commit: 1 } })
  onTestFinished(() => own.stop())
  const reports = (['pending', 'installing', 'installed'] as const).map((state, n) => ({
    ...body('pump', state),
    reporter: 'press',
    rollcall: { boot: 'b', seq: n + 1 },
  }))
  // The batch is divided, and the database is away for its first part alone.
  vi.spyOn(own.app.database, 'transaction')
    .mockRejectedValueOnce(new Error('refused'))
    .mockRejectedValueOnce(lost())
    .mockRejectedValueOnce(lost())
  expect((await own.post('/reports', reports)).status).toBe(503)
  const again = await own.post('/reports', reports)
  expect(again.status).toBe(200)
  const verdicts = ((await again.json()) as { results: { verdict: string }[] }).results.map(({ verdict }) => verdict)
  expect(verdicts).toEqual(['APPLIED', 'APPLIED', 'APPLIED'])
})
