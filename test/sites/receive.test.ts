/** What a server takes from the servers of its sites. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { Batch, SiteFact } from '../../src/domain/sites/batch.ts'
import { everyStore } from '../support/databases/stores.ts'
import { type RunningApp, startApp } from '../support/servers/app.ts'
import { batchOf, position, press, rollout, snapshotOf, stateOf } from '../support/site-batches.ts'

const begin = (more: Partial<Batch> = {}): Batch => snapshotOf([], more)
const became = (to: 'INSTALLING' | 'INSTALLED' | 'FAILED', from: string | null = null) =>
  ({ kind: 'DEPLOYMENT_STATE_CHANGED', from, to, error: null, attempt: 1, adoptedManifestVersion: null }) as never
const first = (revision: number, more: Partial<SiteFact> = {}): SiteFact => ({
  ...{ revision, at: 1_700_000_000_000, deployment: 8, target: 7, rollout },
  ...{ named: { deploymentId: 'pump', reporter: 'press-1' }, changes: [became('INSTALLING')] },
  ...more,
})

describe.each(everyStore)('a server above others, on $name', (store) => {
  let server: RunningApp
  let token = ''
  let site = ''
  let count = 0
  beforeAll(async () => {
    server = await startApp({ store })
  })
  afterAll(() => server.stop())

  const register = async (path: string): Promise<string> =>
    (
      await server.query(
        `mutation ($path: String!) { registerSite(input: { path: $path }) { ... on RegisterSiteSuccess { token } } }`,
        { path },
      )
    ).registerSite.token
  beforeEach(async () => {
    count += 1
    site = `eu/plant-${count}`
    token = await register(site)
  })

  async function send(batch: unknown, as = token) {
    const response = await server.post('/sites/v1/batches', batch, { authorization: `Bearer ${as}` })
    return { status: response.status, body: await response.json() }
  }
  const standing = async () =>
    (await fetch(`${server.url}/sites/v1/batches`, { headers: { authorization: `Bearer ${token}` } })).json()
  const deployments = async () =>
    (
      await server.query(
        `query ($path: String!) { deployments(filter: { sites: [$path] }) { nodes { deploymentId state reporter device { deviceId } } } }`,
        { path: site },
      )
    ).deployments.nodes

  it('takes the present and what follows it once, and says where it is', async () => {
    expect(await standing()).toMatchObject({ site, position: null, protocols: [1] })
    expect(await send(begin({ targets: [press] }))).toEqual({ status: 200, body: { position: position(101) } })
    const facts = batchOf({ after: position(101), upTo: position(103), facts: [first(102)] })
    expect(await send(facts)).toEqual({ status: 200, body: { position: position(103) } })
    expect(await send(facts)).toMatchObject({ status: 409, body: { position: position(103), site } })
    expect(await deployments()).toEqual([
      { deploymentId: 'pump', state: 'INSTALLING', reporter: 'press-1', device: { deviceId: 'press-1' } },
    ])
    const changed = first(104, { changes: [became('INSTALLED', 'INSTALLING')] })
    await send(batchOf({ after: position(103), upTo: position(104), facts: [changed] }))
    expect(await deployments()).toMatchObject([{ state: 'INSTALLED' }])
    const shown = await server.query(
      `query ($path: String!) { deployments(filter: { sites: [$path] }) { nodes { history { nodes { __typename } } } }
        site(path: $path) { path connectivity reception { backlog sentAt } } }`,
      { path: site },
    )
    expect(shown.site).toMatchObject({ path: site, connectivity: 'ONLINE', reception: { backlog: 0 } })
    expect(shown.deployments.nodes[0].history.nodes).toHaveLength(2)
  })

  it('leaves out kinds of changes that it does not know', async () => {
    await send(begin({ targets: [press] }))
    const newer = first(102, { changes: [became('INSTALLED'), { kind: 'OF_TOMORROW', x: 1 } as never] })
    expect(await send(batchOf({ after: position(101), upTo: position(103), facts: [newer] }))).toMatchObject({
      status: 200,
    })
    expect(await deployments()).toMatchObject([{ state: 'INSTALLED' }])
  })

  it('takes a batch once that comes four times at once', async () => {
    await send(begin({ targets: [press] }))
    const facts = batchOf({ after: position(101), upTo: position(102), facts: [first(102)] })
    const answers = await Promise.all(Array.from({ length: 4 }, () => send(facts)))
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 409, 409, 409])
    expect(await deployments()).toHaveLength(1)
  })

  it('keeps devices apart that have one ID at two sites and at this server', async () => {
    const other = await register(`${site}-other`)
    for (const as of [token, other]) {
      await send(begin({ targets: [press] }), as)
      await send(batchOf({ after: position(101), upTo: position(102), facts: [first(102)] }), as)
    }
    await server.post('/device/press-1/deployment/pump/status', { deploymentId: 'pump', status: { state: 'failed' } })
    expect(await deployments()).toMatchObject([{ state: 'INSTALLING' }])
    const { device, deployments: all } = await server.query(
      `{ device(deviceId: "press-1") { deployments { nodes { state } } } deployments(filter: { deploymentIds: ["pump"], deviceIds: ["press-1"] }) { nodes { state } } }`,
    )
    expect(device.deployments.nodes).toEqual([{ state: 'FAILED' }])
    expect(all.nodes.filter(({ state }: { state: string }) => state === 'FAILED')).toHaveLength(1)
    expect(all.nodes.length).toBeGreaterThanOrEqual(3)
  })

  it('leaves to a site what becomes of its devices and deployments', async () => {
    await send(snapshotOf([stateOf(8, 'pump')], { targets: [press] }))
    const shown = await server.query(
      `query ($path: String!) { retirement(filter: { sites: [$path] }) { devices }
        deployments(filter: { sites: [$path] }) { nodes { id device { site { path } } } } device(deviceId: "none") { id } }`,
      { path: site },
    )
    expect(shown.retirement).toEqual({ devices: 0 })
    const [{ id, device }] = shown.deployments.nodes
    expect(device).toEqual({ site: { path: site } })
    for (const name of ['forgetDeployments', 'removeDeployments']) {
      const answer = await server.query(
        `mutation ($id: ID!) { ${name}(input: { ids: [$id] }) { __typename ... on InvalidInput { problems { message } } } }`,
        { id },
      )
      expect(answer[name].problems).toEqual([{ message: expect.stringMatching(/^is at a site/) }])
    }
  })

  it('names what it does not know, and takes nothing of the batch', async () => {
    await send(begin({ targets: [press] }))
    const bare = { revision: 102, at: 0, deployment: 99, changes: [became('FAILED', 'INSTALLED')] }
    const unknown = await send(batchOf({ after: position(101), upTo: position(104), facts: [first(103), bare] }))
    expect(unknown).toMatchObject({
      status: 409,
      body: { position: position(101), unknown: { deployments: [99], targets: [] } },
    })
    expect(await deployments()).toEqual([])
  })

  it('forgets what a new snapshot does not mention, and keeps what it does', async () => {
    await send(begin({ targets: [press] }))
    const other = first(104, { deployment: 9, named: { deploymentId: 'valve', reporter: 'press-1' } })
    await send(batchOf({ after: position(101), upTo: position(105), facts: [first(102), other] }))
    const states = [stateOf(33, 'pump', { target: 32, revision: 900 })]
    const again = snapshotOf(states, { upTo: position(900, 3, 800), targets: [{ ...press, key: 32 }] })
    expect(await send(again)).toMatchObject({ status: 200, body: { position: position(900, 3, 800) } })
    expect(await deployments()).toEqual([
      { deploymentId: 'pump', state: 'INSTALLED', reporter: 'press-1', device: { deviceId: 'press-1' } },
    ])
    // The state has what happened up to its revision.
    const late = { revision: 899, at: 0, deployment: 33, changes: [became('FAILED', 'INSTALLED')] }
    await send(batchOf({ after: position(900, 3, 800), upTo: position(901, 3, 800), facts: [late] }))
    expect(await deployments()).toMatchObject([{ state: 'INSTALLED' }])
  })

  it('refuses a site that sends for one that sends itself, and any without a credential that is valid', async () => {
    const ofCell = await register(`${site}/cell`)
    await send(snapshotOf([stateOf(8, 'own')], { targets: [press] }), ofCell)
    const cell = { ...press, site: 'cell' }
    expect(await send(begin({ targets: [cell] }))).toMatchObject({ status: 403 })
    // Nor does a snapshot of the plant forget what the cell has.
    expect(await send(begin())).toMatchObject({ status: 200 })
    expect(await deployments()).toMatchObject([{ deploymentId: 'own' }])
    expect(await send(begin(), 'rollcall_nothing')).toMatchObject({ status: 401 })
    const device = await server.query(
      `mutation { registerDevices(input: { devices: [{ deviceId: "d-${count}" }] }) { ... on RegisterDevicesSuccess { results { token } } } }`,
    )
    expect(await send(begin(), device.registerDevices.results[0].token)).toMatchObject({ status: 401 })
    const revoke = `mutation ($path: String!) { revokeSite(input: { path: $path }) { __typename } }`
    expect((await server.query(revoke, { path: site })).revokeSite.__typename).toBe('RevokeSiteSuccess')
    expect(await send(begin())).toMatchObject({ status: 403 })
    expect((await server.query(revoke, { path: 'none' })).revokeSite.__typename).toBe('NotFound')
  })

  it.each([
    ['protocol', batchOf({ protocol: 9 })],
    ['after', batchOf({})],
    [
      'facts[0].changes[0].to',
      batchOf({ after: position(1), facts: [first(1, { changes: [became('GONE' as never)] })] }),
    ],
    ['targets[0].name', begin({ targets: [{ ...press, name: 'a\u0000' }] })],
    ['targets[0].site', begin({ targets: [{ ...press, site: '../other' }] })],
    ['backlog', begin({ backlog: -1 })],
  ])('refuses a batch with a wrong %s, which it names', async (field, batch) => {
    expect(await send(batch)).toMatchObject({ status: 422, body: { errors: [{ field }] } })
  })
})
