/** Devices send what they can run, each generation of Margo in its own way. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { lastHeard } from '../../auth/devices/devices.ts'
import { stores } from '../../support/databases/stores.ts'
import { type RunningApp, startApp } from '../../support/servers/app.ts'
import { type Answer, middle, old, profileOf, properties, requestsTo, today } from './profiles.ts'

describe.each(stores)('on $name, where everything is open', (store) => {
  let app: RunningApp
  const send = requestsTo(() => app)
  beforeAll(async () => {
    app = await startApp({ store })
  })
  afterAll(() => app.stop())

  it('capabilities of an id that looks like another are refused', async () => {
    expect(await send('POST', '/api/v1/capabilities', today('press\n'))).toMatchObject({
      status: 422,
      body: { errors: [{ field: 'properties.id' }] },
    })
  })

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
  ])('capabilities of %s: %s %s', async (generation, method, path, body, status) => {
    expect(await send(method, path, body)).toEqual({ status, body: { acknowledgement: 'received' } })
    const [, device = 'eight'] = /\/(one|two|three|four|five|six|seven)\b/.exec(path) ?? []
    expect(await profileOf(app, device)).toEqual({
      registered: false,
      onboardedAt: null,
      capabilities: {
        reportedAt: await lastHeard(app, device),
        generation: `margo/${generation}`,
        vendor: 'Presses',
        modelNumber: 'P-1',
        serialNumber: '0007',
        document: body,
      },
    })
  })

  it('capabilities show processors, memory, storage and types of deployments', async () => {
    const own = today('typed')
    const body = {
      ...own,
      properties: {
        ...own.properties,
        cpus: [{ cores: 4, architecture: 'arm64' }],
        resources: { memory: '8Gi', storage: 64 },
        supportedDeploymentTypes: ['helm', 'compose'],
      },
    }
    expect((await send('PUT', '/api/v1/capabilities/typed', body)).status).toBe(201)
    const fields = 'cpus { architecture cores } memory memoryBytes storage storageBytes deploymentTypes'
    const { device } = await app.query(`{ device(deviceId: "typed") { capabilities { ${fields} } } }`)
    expect(device.capabilities).toEqual({
      cpus: [{ cores: 4, architecture: 'arm64' }],
      ...{ memory: '8Gi', memoryBytes: 8 * 1024 ** 3, storage: '64', storageBytes: 64 },
      deploymentTypes: ['helm', 'compose'],
    })
  })

  it('capabilities count by their length towards the size of a response', async () => {
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
      ['properties.roles', 'properties.resources', 'labels', 'properties.vendor'],
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

  it('a target may be named by targetName', async () => {
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

  it('the document of a cluster is kept unchanged', async () => {
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

  it('labels from a device are marked selfReported, can be searched, and do not override those of its owner', async () => {
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

  it('a body that is not a JSON object or too large, and a path without a device, are refused', async () => {
    const path = '/api/v1/capabilities/x'
    expect((await send('PUT', path, '[]')).status).toBe(400)
    expect((await send('PUT', path, '{')).status).toBe(400)
    expect((await send('PUT', path, 'id: x', { 'content-type': 'text/yaml' })).status).toBe(415)
    expect((await send('PUT', path, { ...today('x'), note: 'x'.repeat(300_000) })).status).toBe(413)
    expect((await send('PUT', '/api/v1/capabilities/a//b', today('a//b'))).status).toBe(422)
    expect((await send('GET', path)).status).toBe(405)
    expect((await send('DELETE', '/device/one/capabilities')).status).toBe(405)
  })

  it('a body may begin with a byte order mark', async () => {
    expect((await send('PUT', '/api/v1/capabilities/bom', `\uFEFF${JSON.stringify(today('bom'))}`)).status).toBe(201)
    expect((await profileOf(app, 'bom')).capabilities.document).toEqual(today('bom'))
  })
})
