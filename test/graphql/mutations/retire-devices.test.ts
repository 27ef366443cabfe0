/** A retired device leaves all lists, counts and manifests. Its history is retained. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { declare, documentOf } from '../../support/clients/desired.ts'
import { stores } from '../../support/databases/stores.ts'
import { type RunningApp, startApp } from '../../support/servers/app.ts'
import { type Receiver, startReceiver } from '../../support/systems/receiver.ts'
import { registerDocument, retireDocument } from '../retirement.ts'

const listsDocument = `query ($device: [String!]) { revision
  devices(filter: { deviceIds: $device }) { totalCount nodes { deviceId } }
  retired: devices(filter: { deviceIds: $device, retired: true }) { totalCount nodes { deviceId } }
  deployments(filter: { deviceIds: $device }) { totalCount nodes { deploymentId } }
  closed: deployments(filter: { deviceIds: $device, retired: true }, orderBy: NAME) { totalCount nodes { deploymentId state } }
  closedCounts: deploymentCounts(filter: { deviceIds: $device, retired: true }) { total installed }
  byState: deployments(filter: { deviceIds: $device, retired: true, states: [INSTALLED] }) { nodes { deploymentId } }
  fleet: deploymentCounts { total }
  audit { drift { scope } }
}`

const none = { totalCount: 0, nodes: [] }

describe.each(stores)('retireDevices on $name', (store) => {
  let app: RunningApp
  beforeAll(async () => {
    app = await startApp({ store, env: { GIT: 'git', DEVICE_AUTH: 'token', SINK_ALLOW: '127.0.0.1' } })
  })
  afterAll(() => app.stop())

  const retire = async (input: object) =>
    (await app.query(retireDocument, { input: { reason: 'scrapped', ...input } })).retireDevices
  const register = async (...devices: { deviceId: string; parent?: string }[]) => {
    const { registerDevices } = await app.query(registerDocument, { input: { devices } })
    expect(registerDevices.message).toBeUndefined()
    return registerDevices.results.map(({ token }: { token: string | null }) => token ?? '') as string[]
  }
  const report = (device: string, token: string, deploymentId: string, more: object = {}) =>
    app.post(
      `/device/${encodeURIComponent(device)}/deployment/${deploymentId}/status`,
      { deploymentId, status: { state: 'installed' }, components: [], ...more },
      { authorization: `Bearer ${token}` },
    )
  const lists = (...device: string[]) => app.query(listsDocument, { device })
  const kindsSince = async (revision: string) => {
    const { changes } = await app.query(`{ changes(after: "${revision}", first: 100) { nodes { kind } } }`)
    return changes.nodes.map(({ kind }: { kind: string }) => kind)
  }

  it('removes a device and its deployments from lists and counts, and keeps the past', async () => {
    const [token = ''] = await register({ deviceId: 'press' }, { deviceId: 'press-new' })
    await report('press', token, 'a')
    await declare(app, [{ deviceId: 'press', deploymentId: 'b' }])
    const before = await lists('press')
    expect(before).toMatchObject({ devices: { totalCount: 1 }, retired: none, closed: none })

    const result = await retire({ devices: [{ deviceId: 'press', replacedBy: 'press-new' }] })
    expect(result).toMatchObject({
      __typename: 'RetireDevicesSuccess',
      results: [
        {
          changed: true,
          children: 0,
          deployments: 2,
          device: { deviceId: 'press', retirement: { reason: 'scrapped', replacedBy: { deviceId: 'press-new' } } },
        },
      ],
    })
    expect(await kindsSince(before.revision)).toEqual([
      'DEVICE_RETIRED',
      'DEPLOYMENT_FORGOTTEN',
      'DEPLOYMENT_FORGOTTEN',
    ])
    const after = await lists('press')
    expect(after).toEqual({
      revision: result.revision,
      devices: none,
      retired: { totalCount: 1, nodes: [{ deviceId: 'press' }] },
      deployments: none,
      closed: {
        totalCount: 2,
        nodes: [
          { deploymentId: 'a', state: 'INSTALLED' },
          { deploymentId: 'b', state: 'PENDING' },
        ],
      },
      closedCounts: { total: 2, installed: 1 },
      byState: { nodes: [{ deploymentId: 'a' }] },
      fleet: { total: before.fleet.total - 2 },
      audit: { drift: [] },
    })
    const past = await app.query(`{ deployments(atRevision: "${before.revision}", filter: { deviceIds: ["press"] }) {
      totalCount nodes { history { nodes { kind } } } }
      deploymentCounts(atRevision: "${before.revision}") { total } }`)
    expect(past.deployments.totalCount).toBe(2)
    expect(past.deploymentCounts.total).toBe(before.fleet.total)
  })

  it('repeated changes nothing; another reason or replacement is a new change', async () => {
    await register({ deviceId: 'twice' }, { deviceId: 'twice-new' })
    const first = await retire({ devices: [{ deviceId: 'twice' }] })
    const again = await retire({ devices: [{ deviceId: 'twice' }] })
    expect(again).toMatchObject({ revision: first.revision, results: [{ changed: false, deployments: 0 }] })
    expect(again.results[0].device).toEqual(first.results[0].device)
    const corrected = await retire({ devices: [{ deviceId: 'twice', replacedBy: 'twice-new' }] })
    expect(corrected.results[0]).toMatchObject({
      changed: true,
      device: { retirement: { at: first.results[0].device.retirement.at, replacedBy: { deviceId: 'twice-new' } } },
    })
    expect(await kindsSince(first.revision)).toEqual(['DEVICE_RETIRED'])
    // The replacement may be retired too: the first retirement keeps its values.
    await retire({ devices: [{ deviceId: 'twice-new' }] })
    expect(await retire({ devices: [{ deviceId: 'twice', replacedBy: 'twice-new' }] })).toMatchObject({
      results: [{ changed: false }],
    })
  })

  it('responds to every report of the device with 410, on every route, and records nothing', async () => {
    const [token = '', gateway = ''] = await register({ deviceId: 'gone' }, { deviceId: 'talker' })
    await report('talker', gateway, 'c', { deviceId: 'talker/gone' })
    await declare(app, [{ deviceId: 'gone', deploymentId: 'doc', document: documentOf('doc') }])
    await retire({ devices: [{ deviceId: 'gone' }, { deviceId: 'talker/gone' }] })
    const headers = { authorization: `Bearer ${token}` }
    const get = (path: string) => fetch(`${app.url}${path}`, { headers })
    const answers = {
      report: await report('gone', token, 'a'),
      forChild: await report('talker', gateway, 'c', { deviceId: 'talker/gone' }),
      backlog: await app.post('/reports', { reports: [] }, headers),
      manifest: await get('/api/v1/clients/gone/deployments'),
      capabilities: await app.post('/api/v1/clients/gone/capabilities', { properties: { id: 'gone' } }, headers),
      git: await get('/git/gone.git/info/refs?service=git-upload-pack'),
    }
    for (const [name, response] of Object.entries(answers)) {
      const body = response.headers.get('content-type')?.includes('json') ? await response.json() : null
      expect([name, response.status]).toEqual([name, 410])
      if (body) expect(body).toMatchObject({ status: 410, code: 'DEVICE_RETIRED', retryable: false })
      expect(response.headers.get('retry-after')).toBeNull()
    }
    const backlog = await app.post(
      '/reports',
      { reports: [{ deviceId: 'talker/gone', deploymentId: 'c', status: { state: 'installed' }, components: [] }] },
      { authorization: `Bearer ${gateway}` },
    )
    expect([backlog.status, await backlog.json()]).toMatchObject([
      200,
      { results: [{ verdict: 'REFUSED', status: 410, code: 'DEVICE_RETIRED', retryable: false }] },
    ])
    const { device } = await app.query('{ device(deviceId: "gone") { lastHeardAt manifestVersion } }')
    expect(device).toEqual({ lastHeardAt: null, manifestVersion: '3' })
    expect(await app.app.metrics.print()).toContain(
      'rollcall_device_credentials_refused_total{method="token",reason="retired"}',
    )
  })

  it('refuses a gateway with devices in service behind it, and names them; withChildren retires them too', async () => {
    const [gateway = ''] = await register({ deviceId: 'gw' })
    await report('gw', gateway, 'a', { deviceId: 'gw/pump' })
    await report('gw', gateway, 'b', { deviceId: 'gw/fan' })
    await declare(app, [{ deviceId: 'gw/fan', deploymentId: 'd', document: documentOf('d') }])
    expect(await retire({ devices: [{ deviceId: 'press-new' }, { deviceId: 'gw' }] })).toEqual({
      __typename: 'Conflict',
      message: expect.stringContaining('gw/fan, gw/pump would stay in service behind gw'),
      path: ['devices', '1', 'deviceId'],
    })
    expect((await lists('press-new')).devices.totalCount).toBe(1)
    const { revision } = await lists('gw')
    expect(await retire({ devices: [{ deviceId: 'gw' }], withChildren: true })).toMatchObject({
      results: [{ changed: true, children: 2, deployments: 3 }],
    })
    expect(await kindsSince(revision)).toEqual([
      ...['DEVICE_RETIRED', 'DEVICE_RETIRED', 'DEVICE_RETIRED', 'CONVERGENCE_CHANGED'],
      ...['DEPLOYMENT_FORGOTTEN', 'DEPLOYMENT_FORGOTTEN', 'DEPLOYMENT_FORGOTTEN'],
    ])
    expect(await lists('gw', 'gw/pump', 'gw/fan')).toMatchObject({
      devices: none,
      deployments: none,
      closed: { totalCount: 3 },
      audit: { drift: [] },
    })
    const { device } = await app.query(`{ device(deviceId: "gw") { manifestVersion manifestHistory { nodes { reason } }
      children { totalCount } retired: children(filter: { retired: true }) { totalCount } } }`)
    expect(device).toEqual({
      manifestVersion: '3',
      manifestHistory: { nodes: [{ reason: 'retired: scrapped' }, { reason: '' }] },
      children: { totalCount: 0 },
      retired: { totalCount: 2 },
    })
    const { registerDevices } = await app.query(registerDocument, { input: { devices: [{ deviceId: 'gw/fan' }] } })
    expect(registerDevices).toMatchObject({ __typename: 'Conflict', path: ['devices', '0', 'parent'] })
    await register({ deviceId: 'gw' }, { deviceId: 'gw/fan' })
  })

  it('closes only the deployments of a retired child if its gateway stays, in the manifest too', async () => {
    const [hub = ''] = await register({ deviceId: 'hub' })
    const documents = ['x', 'y'].map((deploymentId) => ({
      deviceId: `hub/${deploymentId}`,
      deploymentId,
      document: documentOf(deploymentId),
    }))
    await declare(app, documents)
    await retire({ devices: [{ deviceId: 'hub/x' }] })
    const manifest = await fetch(`${app.url}/api/v1/clients/hub/deployments`, {
      headers: { authorization: `Bearer ${hub}` },
    })
    expect((await manifest.json()).deployments).toMatchObject([{ deploymentId: 'y' }])
    expect(await lists('hub', 'hub/y')).toMatchObject({ devices: { totalCount: 2 }, deployments: { totalCount: 1 } })
    // The gateway may move those deployments to another child.
    expect((await report('hub', hub, 'x', { deviceId: 'hub/y' })).status).toBe(201)
  })

  it('is undone by registering again: old credentials stay invalid, and deployments return when they are reported', async () => {
    const [old = ''] = await register({ deviceId: 'back' })
    await report('back', old, 'a')
    const { revision: before } = await app.query('{ revision }')
    const { revision } = await retire({ devices: [{ deviceId: 'back' }] })
    const [fresh = ''] = await register({ deviceId: 'back' })
    const closedAt = async (at: string) => {
      const document = `query ($at: Revision) {
        deployments(filter: { deviceIds: "back", retired: true }, atRevision: $at) { totalCount nodes { deploymentId } }
        deploymentCounts(filter: { deviceIds: "back", retired: true }, atRevision: $at) { total } }`
      const { deployments, deploymentCounts } = await app.query(document, { at })
      expect([deployments.totalCount, deploymentCounts.total]).toEqual([
        deployments.nodes.length,
        deployments.nodes.length,
      ])
      return deployments.totalCount
    }
    const { revision: after } = await app.query('{ revision }')
    expect([await closedAt(before), await closedAt(revision), await closedAt(after)]).toEqual([0, 1, 0])
    expect(await kindsSince(revision)).toEqual(['DEVICE_REINSTATED'])
    expect(await lists('back')).toMatchObject({ devices: { totalCount: 1 }, deployments: none, closed: none })
    expect((await report('back', old, 'a')).status).toBe(401)
    expect((await report('back', fresh, 'a')).status).toBe(201)
    expect(await lists('back')).toMatchObject({ deployments: { totalCount: 1 }, audit: { drift: [] } })
    // It counted in no state while it was closed.
    const byState = `query ($at: Revision) {
      deployments(filter: { retired: true, states: [INSTALLED], where: { reporters: ["back"] } }, atRevision: $at) { nodes { state } } }`
    expect((await app.query(byState, { at: revision })).deployments.nodes).toEqual([{ state: 'INSTALLED' }])
  })

  it('refuses unknown devices, missing replacements, and declarations and tokens for retired devices', async () => {
    await register({ deviceId: 'one' }, { deviceId: 'two' })
    const problem = async (devices: object[], input: object = {}) => {
      const { __typename, path } = await retire({ devices, ...input })
      return [__typename, path?.join('.')]
    }
    expect(await problem([{ deviceId: 'unheard' }])).toEqual(['NotFound', 'devices.0.deviceId'])
    expect(await problem([{ deviceId: 'one', replacedBy: 'unheard' }])).toEqual(['NotFound', 'devices.0.replacedBy'])
    expect(await problem([{ deviceId: 'one', replacedBy: 'one' }])).toEqual(['Conflict', 'devices.0.replacedBy'])
    expect(await problem([{ deviceId: 'one', replacedBy: 'two' }, { deviceId: 'two' }])).toEqual([
      'Conflict',
      'devices.0.replacedBy',
    ])
    expect(await problem([{ deviceId: 'one' }, { deviceId: 'one' }])).toEqual(['InvalidInput', 'devices.1.deviceId'])
    expect(await problem([{ deviceId: 'one' }], { reason: '' })).toEqual(['InvalidInput', 'reason'])
    expect((await lists('one', 'two')).devices.totalCount).toBe(2)

    await retire({ devices: [{ deviceId: 'one' }] })
    await expect(declare(app, [{ deviceId: 'one', deploymentId: 'late' }])).rejects.toThrow('device one is retired')
    await expect(declare(app, [{ deviceId: 'one/child', deploymentId: 'late' }])).rejects.toThrow('one is retired')
    const { rotateDeviceToken } = await app.query(
      'mutation { rotateDeviceToken(input: { deviceId: "one" }) { __typename ... on UserError { path } } }',
    )
    expect(rotateDeviceToken).toEqual({ __typename: 'InvalidInput', path: ['deviceId'] })
  })

  it('is sent to webhooks and recorded in the audit log', async () => {
    await register({ deviceId: 'told' }, { deviceId: 'told-new' })
    const receiver: Receiver = await startReceiver()
    try {
      await app.query(
        `mutation ($url: String!) { createWebhook(input: { name: "ends", url: $url, filter: { kinds: [DEVICE_RETIRED, DEVICE_REINSTATED] } }) { __typename } }`,
        { url: `${receiver.url}/hook` },
      )
      await retire({ devices: [{ deviceId: 'told', replacedBy: 'told-new' }] })
      await register({ deviceId: 'told' })
      const received = await receiver.until((all) => all.length >= 2)
      expect(received.map(({ body }) => [body.type, body.data])).toMatchObject([
        [
          'rollcall.device-retired',
          { target: { name: 'told' }, reason: 'scrapped', replacedBy: { kind: 'DEVICE', name: 'told-new' } },
        ],
        ['rollcall.device-reinstated', { target: { name: 'told' } }],
      ])
    } finally {
      await receiver.close()
    }
    const { auditLog } = await app.query('{ auditLog(last: 10) { nodes { action outcome } } }')
    expect(auditLog.nodes).toContainEqual({ action: 'retireDevices', outcome: 'done' })
  })
})
