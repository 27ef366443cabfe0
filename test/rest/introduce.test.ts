/** Devices say that they are there and what they can run, each generation in its own way; none of it lets anybody in. */
import { X509Certificate } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { request } from 'node:https'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Certificates, createCertificates } from '../auth/devices/certificates.ts'
import { lastHeard, refusals, registerAll, revoke } from '../auth/devices/devices.ts'
import { newKey, signed } from '../auth/devices/signing.ts'
import { type RunningApp, startApp } from '../support/app.ts'
import { stores } from '../support/stores.ts'

const properties = { id: 'press.hall-1', vendor: 'Presses', modelNumber: 'P-1', serialNumber: '0007' }
const old = {
  apiVersion: 'device.margo/v1',
  kind: 'DeviceCapability',
  properties: { ...properties, roles: ['standalone cluster'], resources: { memory: '64.0 GB', cpus: [{ cores: 24 }] } },
}
const middle = (id: string) => ({
  apiVersion: 'device.margo.org/v1alpha1',
  kind: 'DeviceCapabilitiesManifest',
  properties: { ...properties, id, cpu: [{ cores: 4, architecture: 'arm64' }], memory: '8 Gi', otelCollector: true },
})
const today = (id: string) => ({
  properties: { ...properties, id, cpus: [{ cores: 0.5 }], supportedDeploymentTypes: ['compose'] },
  labels: { 'example.com/site': 'north' },
  'x-presses-extensions': { pressure: 12345678901234567890n.toString() },
})

interface Answer {
  readonly status: number
  // biome-ignore lint/suspicious/noExplicitAny: what a test asked for, it knows.
  readonly body: any
}

let certificates: Certificates
beforeAll(async () => {
  certificates = await createCertificates()
})
afterAll(() => certificates.remove())

const talkingTo =
  (app: () => RunningApp) =>
  async (method: string, path: string, body?: unknown, headers: Record<string, string> = {}): Promise<Answer> => {
    const response = await fetch(`${app().url}${path}`, {
      method,
      headers: { 'content-type': 'application/json', ...headers },
      ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    })
    const text = await response.text()
    return { status: response.status, body: text && JSON.parse(text) }
  }

const profileOf = async (app: RunningApp, deviceId: string) => {
  const query = `query ($id: String!) { device(deviceId: $id) { registered onboardedAt
    capabilities { reportedAt generation vendor modelNumber serialNumber document } } }`
  return (await app.query(query, { id: deviceId })).device
}

describe.each(stores)('on $name, where everything is open', (store) => {
  let app: RunningApp
  const send = talkingTo(() => app)
  beforeAll(async () => {
    app = await startApp({ store })
  })
  afterAll(() => app.stop())

  it.each([
    ['2024', 'POST', '/device/one/capabilities', old, 201],
    ['2024', 'PUT', '/v1alpha2/margo/device/one/capabilities', old, 201],
    ['2025', 'POST', '/api/v1/device/two/capabilities', old, 201],
    ['2025-08', 'POST', '/margo/sbi/v1/device/three/capabilities', old, 201],
    ['2025-10', 'PUT', '/v1alpha2/margo/sbi/v1/client/four/capabilities', middle('anything'), 201],
    ['2025-11', 'POST', '/margo/api/v1/clients/five/capabilities', middle('anything'), 201],
    ['2025-12', 'POST', '/v1alpha2/margo/api/v1/clients/six/capabilities/six', middle('six'), 201],
    ['1.0.0-rc.3', 'PUT', '/api/v1/capabilities/seven', today('seven'), 201],
    ['1.0.0-rc.3', 'PUT', '/api/v1/capabilities/seven', today('seven'), 200],
    ['1.0.0-rc.3', 'POST', '/margo/api/v1/capabilities', today('eight'), 201],
  ])('capabilities of %s: %s %s', async (era, method, path, body, status) => {
    expect(await send(method, path, body)).toEqual({ status, body: { acknowledgement: 'received' } })
    const [, device = 'eight'] = /\/(one|two|three|four|five|six|seven)\b/.exec(path) ?? []
    expect(await profileOf(app, device)).toEqual({
      registered: false,
      onboardedAt: null,
      capabilities: {
        reportedAt: await lastHeard(app, device),
        generation: `margo/${era}`,
        vendor: 'Presses',
        modelNumber: 'P-1',
        serialNumber: '0007',
        document: body,
      },
    })
  })

  it('capabilities count for as much of an answer as they are long', async () => {
    for (const device of ['long-1', 'long-2', 'long-3']) {
      const body = { ...today(device), note: 'x'.repeat(250_000) }
      expect((await send('PUT', `/api/v1/capabilities/${device}`, body)).status).toBe(201)
    }
    const ask = (times: number) => {
      const list = 'devices(filter: { text: "long-" }) { nodes { capabilities { document } } }'
      return app.query(`{ ${Array.from({ length: times }, (_, n) => `a${n}: ${list}`).join(' ')} }`)
    }
    expect((await ask(2)).a1.nodes.map((node: Answer['body']) => node.capabilities.document.note.length)).toEqual(
      Array.from({ length: 3 }, () => 250_000),
    )
    await expect(ask(80)).rejects.toThrow('the response has more than')
  })

  it('capabilities of a child come after those of its gateway, and are withdrawn', async () => {
    for (const path of ['/api/v1/clients/gw/capabilities/gw', '/api/v1/capabilities/gw2']) {
      const [gateway = ''] = /gw2?$/.exec(path) ?? []
      const early = await send('PUT', `${path}/child`, today(`${gateway}/child`))
      expect([early.status, early.body.retryable]).toEqual([404, true])
      expect((await send('PUT', path, today(gateway))).status).toBe(201)
      expect((await send('PUT', `${path}/child`, today(`${gateway}/child`))).status).toBe(201)
      expect((await send('PUT', `${path}%2Fother`, today(`${gateway}/other`))).status).toBe(201)
      const { device } = await app.query(
        `query ($id: String!) { device(deviceId: $id) { children { nodes { deviceId capabilities { vendor } } } } }`,
        { id: gateway },
      )
      expect(device.children.nodes).toEqual([
        { deviceId: `${gateway}/child`, capabilities: { vendor: 'Presses' } },
        { deviceId: `${gateway}/other`, capabilities: { vendor: 'Presses' } },
      ])
      expect((await send('DELETE', `${path}/child`)).status).toBe(204)
      expect((await profileOf(app, `${gateway}/child`)).capabilities).toBeNull()
      expect((await send('DELETE', `${path}/never`)).status).toBe(404)
    }
  })

  it.each([
    [{ ...today('x'), kind: 'DeviceStatus' }, ['kind']],
    [{}, ['properties']],
    [{ properties: [] }, ['properties']],
    [
      { properties: { id: 'y' } },
      ['properties.id', 'properties.vendor', 'properties.modelNumber', 'properties.serialNumber'],
    ],
    [
      { properties: { ...properties, id: 'x', vendor: '', roles: 'all', resources: 7 }, labels: [] },
      ['properties.vendor', 'properties.roles', 'properties.resources', 'labels'],
    ],
  ])('capabilities %j are refused field by field', async (body, fields) => {
    const { status, body: problem } = await send('PUT', '/api/v1/capabilities/x', body)
    expect([status, problem.errors.map(({ field }: { field: string }) => field)]).toEqual([422, fields])
    expect(await profileOf(app, 'x')).toBeNull()
  })

  it.each([
    [[], 422],
    [['podman'], 422],
    [[7], 422],
    [null, 201],
    [['oci'], 201],
    [['acme', 'oci'], 201],
  ])('the runtimes %j are answered with %i', async (supportedRuntimes, status) => {
    const body = today('runs')
    const given = { ...body, properties: { ...body.properties, supportedRuntimes } }
    const answer = await send('POST', '/device/runs/capabilities', {
      ...given,
      properties: { ...given.properties, id: 'runs' },
    })
    expect(answer.status).toBe(status)
    if (status === 422) expect(answer.body.errors).toMatchObject([{ field: 'properties.supportedRuntimes' }])
  })

  it('a target is named by targetName as well', async () => {
    expect((await send('PUT', '/api/v1/capabilities/tn', today('tn'))).status).toBe(201)
    const { id: _, ...rest } = today('tn').properties
    const child = { properties: { ...rest, targetName: 'tn/child' } }
    expect((await send('PUT', '/api/v1/capabilities/tn/child', child)).status).toBe(201)
    const other = { properties: { ...rest, id: 'tn/child', targetName: 'tn/other' } }
    const refused = await send('POST', '/api/v1/capabilities', other)
    expect([refused.status, refused.body.errors]).toMatchObject([422, [{ field: 'properties.targetName' }]])
    const neither = await send('PUT', '/api/v1/capabilities/tn/child', { properties: { ...rest, id: null } })
    expect(neither.body.errors).toMatchObject([{ field: 'properties.id' }])
  })

  it('the document of a cluster is kept and shown as what it is', async () => {
    const cluster = {
      apiVersion: 'cluster.margo.org/v1alpha1',
      kind: 'ClusterCapabilitiesManifest',
      metadata: { id: 'plant-a', name: 'Plant A', kubernetesVersion: '1.31.2', platform: 'k3s' },
      capabilities: { supportedDeploymentTypes: ['helm'] },
      labels: {},
    }
    expect((await send('PUT', '/api/v1/capabilities/plant-a', cluster)).status).toBe(201)
    const query = '{ device(deviceId: "plant-a") { capabilities { kind vendor document } } }'
    expect((await app.query(query)).device.capabilities).toEqual({
      kind: 'ClusterCapabilitiesManifest',
      vendor: '',
      document: cluster,
    })
    const wrong = await send('PUT', '/api/v1/capabilities/plant-b', cluster)
    expect([wrong.status, wrong.body.errors]).toMatchObject([422, [{ field: 'metadata.id' }]])
    expect((await send('PUT', '/api/v1/capabilities/plant-a', { ...cluster, metadata: [] })).status).toBe(422)
  })

  it('labels that a device gives itself are shown and found as its own word, below those of its owner', async () => {
    const labels = { site: 'north', line: '2', weight: 7 }
    await app.query(
      'mutation { registerDevices(input: { devices: [{ deviceId: "named", labels: [{ key: "site", value: "south" }] }] }) { __typename } }',
    )
    expect((await send('PUT', '/api/v1/capabilities/named', { ...today('named'), labels })).status).toBe(201)
    await send('POST', '/device/named/deployment/of-named/status', {
      deploymentId: 'of-named',
      status: { state: 'installed' },
      components: [],
    })
    const { device } = await app.query('{ device(deviceId: "named") { labels { key value selfReported } } }')
    expect(device.labels).toEqual([
      { key: 'site', value: 'south', selfReported: false },
      { key: 'line', value: '2', selfReported: true },
    ])
    const found = async (key: string, value: string) => {
      const filter = `filter: { labels: [{ key: "${key}", value: "${value}" }] }`
      const { devices, deployments } = await app.query(
        `{ devices(${filter}) { nodes { deviceId } } deployments(${filter}) { nodes { deploymentId } } }`,
      )
      return [...devices.nodes, ...deployments.nodes]
    }
    const both = [{ deviceId: 'named' }, { deploymentId: 'of-named' }]
    expect(await found('line', '2')).toEqual(both)
    expect(await found('site', 'south')).toEqual(both)
    expect(await found('site', 'north')).toEqual([])
    await send('PUT', '/api/v1/capabilities/named', { ...today('named'), labels: {} })
    expect(await found('line', '2')).toEqual([])
  })

  it('what is no JSON object, too large, or for nobody is refused', async () => {
    const path = '/api/v1/capabilities/x'
    expect((await send('PUT', path, '[]')).status).toBe(400)
    expect((await send('PUT', path, '{')).status).toBe(400)
    expect((await send('PUT', path, 'id: x', { 'content-type': 'text/yaml' })).status).toBe(415)
    expect((await send('PUT', path, { ...today('x'), note: 'x'.repeat(300_000) })).status).toBe(413)
    expect((await send('PUT', '/api/v1/capabilities/a//b', today('a//b'))).status).toBe(422)
    expect((await send('GET', path)).status).toBe(405)
    expect((await send('DELETE', '/device/one/capabilities')).status).toBe(405)
  })

  it('text that starts with a mark of its encoding is shown all the same', async () => {
    expect((await send('PUT', '/api/v1/capabilities/bom', `\uFEFF${JSON.stringify(today('bom'))}`)).status).toBe(201)
    expect((await profileOf(app, 'bom')).capabilities.document).toEqual(today('bom'))
  })

  it.each([
    '/onboarding',
    '/onboarding/',
    '/v1alpha2/margo/onboarding/',
    '/api/v1/onboarding',
    '/margo/api/v1/onboarding/',
    '/margo/sbi/v1/onboarding',
    '/v1alpha2/margo/api/v1/onboarding',
  ])('onboarding at %s makes a client known by its key, once', async (path) => {
    const { cert } = await (await certificates.authority('any')).issue('some device')
    const { raw, publicKey } = new X509Certificate(cert)
    const id = await import('../../src/auth/devices/public-key.ts').then(({ keyIdOf }) => keyIdOf(publicKey))
    const request = { apiVersion: 'onboarding.margo.org/v1alpha1', kind: 'OnboardingRequest' }
    for (const certificate of [raw.toString('base64'), Buffer.from(cert).toString('base64'), cert])
      expect(await send('POST', path, { ...request, certificate })).toEqual({
        status: 201,
        body: { clientId: id, repository: { url: `/git/${id}.git` } },
      })
    expect(await profileOf(app, id)).toEqual({
      registered: false,
      onboardedAt: await lastHeard(app, id),
      capabilities: null,
    })
    expect((await send('GET', `/api/v1/clients/${id}/deployments`)).body).toMatchObject({ manifestVersion: 1 })
  })

  it('onboarding takes no certificate whose key cannot be read', async () => {
    const { cert } = await (await certificates.authority('any')).issue('broken')
    const { raw } = new X509Certificate(cert)
    const point = raw.indexOf(Buffer.from('03420004', 'hex')) + 10
    raw[point] = (raw[point] ?? 0) ^ 1
    const answer = await send('POST', '/api/v1/onboarding', { certificate: raw.toString('base64') })
    expect([answer.status, answer.body.error]).toEqual([400, expect.stringContaining('certificate must be')])
  })

  it('onboarding calls a client what its certificate calls it', async () => {
    const names = 'URI:spiffe://fleet.example/margo/wfm/1/client/press-9'
    const { cert } = await (await certificates.authority('any')).issue('press', { names })
    expect((await send('POST', '/api/v1/onboarding', { certificate: cert })).body).toMatchObject({
      clientId: 'press-9',
    })
  })

  it('offboarding needs a credential also where reports do not', async () => {
    expect((await send('DELETE', '/onboarding')).status).toBe(401)
  })

  it.each([
    [{}, 400],
    [{ certificate: null }, 400],
    [{ certificate: 'AAAA' }, 400],
    [{ certificate: '-----BEGIN CERTIFICATE-----' }, 400],
    [{ certificate: 7 }, 422],
    [{ kind: 'DeviceCapabilities', certificate: 'AAAA' }, 422],
  ])('onboarding with %j is refused', async (body, status) => {
    const answer = await send('POST', '/api/v1/onboarding', body)
    expect([answer.status, answer.body.error]).toEqual([status, expect.stringMatching(/certificate|kind/)])
  })
})

describe.each(stores)('on $name, where devices prove who they are', (store) => {
  let app: RunningApp
  const send = talkingTo(() => app)
  const key = newKey['ecdsa-p256-sha256']()
  let [press, other, gone] = ['', '', '']
  const bearer = (token: string) => ({ authorization: `Bearer ${token}` })
  beforeAll(async () => {
    app = await startApp({ store, env: { DEVICE_AUTH: 'token,signature' } })
    ;[press = '', other = '', gone = ''] = await registerAll(app, [
      { deviceId: 'press' },
      { deviceId: 'other', publicKeys: [key.publicKey] },
      { deviceId: 'gone' },
    ])
    await revoke(app, 'gone')
  })
  afterAll(() => app.stop())

  it('onboarding is no way in', async () => {
    const { cert } = await (await certificates.authority('any')).issue('stranger', {
      names: 'URI:spiffe://fleet.example/margo/wfm/1/client/press',
    })
    const body = { kind: 'OnboardingRequest', certificate: cert }
    for (const path of ['/api/v1/onboarding', '/onboarding/', '/margo/sbi/v1/onboarding']) {
      expect((await send('POST', path, body)).status).toBe(401)
      expect((await send('POST', path, body, bearer('guessed'))).status).toBe(401)
      expect((await send('POST', path, body, bearer(gone))).status).toBe(403)
    }
    expect((await profileOf(app, 'press')).onboardedAt).toBeNull()
    // Its certificate is of a key that nobody registered: it stays one.
    expect(await send('POST', '/api/v1/onboarding', body, bearer(press))).toEqual({
      status: 201,
      body: { clientId: 'press', repository: { url: '/git/press.git', token: press } },
    })
    expect((await profileOf(app, 'press')).onboardedAt).not.toBeNull()
    expect(await app.query('{ devices { totalCount } }')).toEqual({ devices: { totalCount: 3 } })
    expect(await send('POST', '/api/v1/onboarding', {}, bearer(other))).toEqual({
      status: 201,
      body: { clientId: 'other', repository: { url: '/git/other.git', token: other } },
    })
  })

  it('a device that signs gets a token that opens its repository and nothing else', async () => {
    const first = newKey.ed25519()
    const second = newKey.ed25519()
    await registerAll(app, [{ deviceId: 'signing', publicKeys: [first.publicKey] }])
    let nonce = 0
    const onboard = async (): Promise<string> => {
      nonce += 1
      const url = `${app.url}/api/v1/onboarding`
      const answer = await send('POST', '/api/v1/onboarding', '{}', {
        ...signed(first, { url, body: '{}', parameters: { nonce: String(nonce) } }),
      })
      expect(answer).toEqual({
        status: 201,
        body: {
          clientId: 'signing',
          repository: { url: '/git/signing.git', token: expect.stringMatching(/^rollcall_git_[\w-]{43}$/) },
        },
      })
      return answer.body.repository.token
    }
    const refs = async (device: string, token: string): Promise<number> => {
      const url = `${app.url}/git/${device}.git/info/refs?service=git-upload-pack`
      const response = await fetch(url, { headers: { authorization: `Basic ${btoa(`x:${token}`)}` } })
      await response.arrayBuffer()
      return response.status
    }
    const token = await onboard()
    expect([await refs('signing', token), await refs('press', token)]).toEqual([200, 403])
    const report = { deploymentId: 'd', status: { state: 'installed' }, components: [] }
    for (const [method, path, body] of [
      ['POST', '/device/signing/deployment/d/status', report],
      ['POST', '/reports', [report]],
      ['PUT', '/api/v1/capabilities/signing', today('signing')],
      ['GET', '/api/v1/clients/signing/deployments', undefined],
      ['POST', '/api/v1/onboarding', {}],
      ['DELETE', '/api/v1/onboarding', undefined],
    ] as const)
      expect([path, (await send(method, path, body, bearer(token))).status]).toEqual([path, 401])
    expect(JSON.stringify(app.logged)).not.toContain(token)

    const next = await onboard()
    expect([await refs('signing', token), await refs('signing', next)]).toEqual([401, 200])
    // A former key may be the reason why it was replaced.
    await registerAll(app, [{ deviceId: 'signing', publicKeys: [first.publicKey, second.publicKey] }])
    expect(await refs('signing', next)).toBe(401)
    const last = await onboard()
    expect(await refs('signing', last)).toBe(200)
    await revoke(app, 'signing')
    expect(await refs('signing', last)).toBe(403)
    await registerAll(app, [{ deviceId: 'signing', publicKeys: [first.publicKey] }])
    expect(await refs('signing', last)).toBe(401)
  })

  it('a device that signs for a child gets none: its gateway fetches for it', async () => {
    const own = newKey.ed25519()
    await registerAll(app, [{ deviceId: 'gate/child', publicKeys: [own.publicKey] }])
    const headers = signed(own, { url: `${app.url}/onboarding`, body: '{}' })
    expect((await send('POST', '/onboarding', '{}', headers)).body).toEqual({
      clientId: 'gate/child',
      repository: { url: '/git/gate.git' },
    })
  })

  it('a device tells of itself and of what is behind it, and of nobody else', async () => {
    const before = await refusals(app, 'token', 'not-its-own')
    expect((await send('PUT', '/api/v1/capabilities/press', today('press'))).status).toBe(401)
    expect((await send('PUT', '/api/v1/capabilities/press', today('press'), bearer(gone))).status).toBe(403)
    expect((await send('PUT', '/api/v1/capabilities/press', today('press'), bearer(press))).status).toBe(201)
    expect((await send('PUT', '/api/v1/capabilities', today('anything'), bearer(press))).status).toBe(200)
    expect((await profileOf(app, 'press')).capabilities.document).toEqual(today('anything'))
    expect((await send('PUT', '/api/v1/capabilities/press/part', today('press/part'), bearer(press))).status).toBe(201)
    for (const path of [
      '/api/v1/capabilities/other',
      '/device/other/capabilities',
      '/api/v1/clients/other/capabilities',
    ])
      expect([path, (await send('PUT', path, today('other'), bearer(press))).status]).toEqual([path, 403])
    expect((await send('PUT', '/api/v1/clients/press/capabilities/other', today('other'), bearer(press))).status).toBe(
      403,
    )
    expect((await send('DELETE', '/api/v1/capabilities/press', undefined, bearer(other))).status).toBe(403)
    expect((await send('DELETE', '/api/v1/capabilities/press/part', undefined, bearer(press))).status).toBe(204)
    expect(await refusals(app, 'token', 'not-its-own')).toBe(before + 5)
    expect((await profileOf(app, 'other')).capabilities).toBeNull()
  })

  it('offboarding ends what a device shows, and nobody else can do it', async () => {
    const [leaving = ''] = await registerAll(app, [{ deviceId: 'leaving' }])
    expect((await send('POST', '/api/v1/onboarding', {}, bearer(leaving))).status).toBe(201)
    expect((await send('DELETE', '/api/v1/onboarding')).status).toBe(401)
    expect((await profileOf(app, 'leaving')).onboardedAt).not.toBeNull()
    expect((await send('DELETE', '/api/v1/onboarding', undefined, bearer(leaving))).status).toBe(204)
    expect((await profileOf(app, 'leaving')).onboardedAt).toBeNull()
    expect((await send('POST', '/api/v1/onboarding', {}, bearer(leaving))).status).toBe(403)
    const [again = ''] = await registerAll(app, [{ deviceId: 'leaving' }])
    expect((await send('POST', '/api/v1/onboarding', {}, bearer(again))).status).toBe(201)
  })

  it('what was signed is good once', async () => {
    const body = JSON.stringify(today('other'))
    const path = '/api/v1/capabilities/other'
    const headers = signed(key, { url: `${app.url}${path}`, method: 'PUT', body })
    expect((await send('PUT', path, body.replace('Presses', 'Thieves'), headers)).status).toBe(400)
    expect((await send('PUT', path, body, headers)).status).toBe(201)
    expect((await send('PUT', path, body, headers)).status).toBe(401)
  })
})

describe.each(stores)('on $name, where people see a part of the fleet', (store) => {
  const admin = 'an-admin-key-of-enough-characters'
  let app: RunningApp
  const send = talkingTo(() => app)
  beforeAll(async () => {
    app = await startApp({ store, env: { API_AUTH: 'key', API_ADMIN_KEY: admin, DEVICE_AUTH: 'open' } })
  })
  afterAll(() => app.stop())

  it('no label that a device gives itself lets anybody see it', async () => {
    const ask = async (query: string, key: string): Promise<Answer['body']> =>
      (await send('POST', '/graphql', { query }, { authorization: `Bearer ${key}` })).body.data
    const { createApiKey } = await ask(
      `mutation { createApiKey(input: { name: "north", roles: [VIEWER], scopes: ["label:site=north"] }) { ... on CreateApiKeySuccess { key } } }`,
      admin,
    )
    await ask(
      'mutation { registerDevices(input: { devices: [{ deviceId: "theirs", labels: [{ key: "site", value: "north" }] }] }) { __typename } }',
      admin,
    )
    const labels = { site: 'north' }
    expect((await send('PUT', '/api/v1/capabilities/sly', { ...today('sly'), labels })).status).toBe(201)
    await send('POST', '/device/sly/deployment/sly-1/status', {
      deploymentId: 'sly-1',
      status: { state: 'installed' },
      components: [],
    })
    const everything = `{
      devices { nodes { deviceId } } deployments { totalCount } deploymentCounts { total } changes { totalCount }
      byLabel: devices(filter: { labels: [{ key: "site", value: "north" }] }) { nodes { deviceId } }
      device(deviceId: "sly") { deviceId }
    }`
    const own = [{ deviceId: 'theirs' }]
    expect(await ask(everything, createApiKey.key)).toEqual({
      devices: { nodes: own },
      deployments: { totalCount: 0 },
      deploymentCounts: { total: 0 },
      changes: { totalCount: 0 },
      byLabel: { nodes: own },
      device: null,
    })
    expect((await ask(everything, admin)).byLabel.nodes).toEqual([{ deviceId: 'sly' }, { deviceId: 'theirs' }])
  })
})

describe('whom to trust for the server’s certificate', () => {
  const ask = (app: RunningApp, ca: string, path: string): Promise<Answer> =>
    new Promise((resolve, reject) => {
      const sent = request(`${app.url}${path}`, { ca }, (response) => {
        response
          .setEncoding('utf8')
          .on('data', (text) => resolve({ status: response.statusCode ?? 0, body: JSON.parse(text) }))
      })
      sent.on('error', reject).end()
    })

  it('is told where it is known', async () => {
    const authority = await certificates.authority('the fleet')
    const server = await authority.issue('localhost', { names: 'DNS:localhost,IP:127.0.0.1' })
    const path = `${server.files.cert}.chain`
    await writeFile(path, `${server.cert}\n${authority.cert}`)
    const tls = { DEVICE_AUTH: 'token', TLS_KEY: server.files.key }
    const [chained, alone] = [
      await startApp({ env: { ...tls, TLS_CERT: path } }),
      await startApp({ env: { ...tls, TLS_CERT: server.files.cert } }),
    ]
    try {
      for (const route of [
        '/onboarding/certificate',
        '/api/v1/onboarding/certificate',
        '/margo/sbi/v1/onboarding/certificate',
      ]) {
        const { status, body } = await ask(chained, authority.cert, route)
        expect([status, Buffer.from(body.certificate, 'base64').toString().trim()]).toEqual([
          200,
          authority.cert.trim(),
        ])
        expect((await ask(alone, authority.cert, route)).status).toBe(404)
      }
    } finally {
      await chained.stop()
      await alone.stop()
    }
  })
})
