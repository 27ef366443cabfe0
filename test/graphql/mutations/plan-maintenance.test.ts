/** Planned downtime by GraphQL: who plans it, who sees it, and which alerts it holds. */
import { afterAll, beforeAll, expect, it } from 'vitest'
import { defaultTimeouts } from '../../../src/api/rest/guard.ts'
import { type Duck, openDuck } from '../../export/duckdb.ts'
import { type RunningApp, startApp } from '../../support/servers/app.ts'

const admin = 'a'.repeat(40)
let app: RunningApp
beforeAll(async () => {
  app = await startApp({
    env: { API_AUTH: 'key', API_ADMIN_KEY: admin },
    timeouts: { ...defaultTimeouts, duties: 100 },
  })
})
afterAll(() => app.stop())
let duck: Duck
beforeAll(async () => {
  duck = await openDuck()
})
afterAll(() => duck.close())

// biome-ignore lint/suspicious/noExplicitAny: what a test asked for, it knows.
async function ask(query: string, variables: object = {}, token = admin): Promise<any> {
  const response = await fetch(`${app.url}/graphql`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
    body: JSON.stringify({ query, variables }),
  })
  const { data, errors } = (await response.json()) as { data: unknown; errors?: { message: string }[] }
  if (errors) throw new Error(errors.map(({ message }) => message).join('\n'))
  return data
}

const planDocument = `mutation ($input: PlanMaintenanceInput!) { planMaintenance(input: $input) {
  __typename ... on PlanMaintenanceSuccess { window { maintenanceId reason next { from until } repeat plannedBy targets filter clusters } }
  ... on InvalidInput { problems { path } } } }`
const endDocument = `mutation ($id: ID!) { endMaintenance(input: { maintenanceId: $id }) { __typename ... on UserError { message } } }`
const site = (value: string) => ({ labels: [{ key: 'site', value }] })
const later = (minutes: number) => new Date(Date.now() + minutes * 60_000).toISOString()
const plan = async (input: object) =>
  (await ask(planDocument, { input: { reason: 'power', to: later(60), filter: site('a'), ...input } })).planMaintenance
const keyOf = async (roles: readonly string[], scopes: readonly string[]): Promise<string> =>
  (
    await ask(
      `mutation ($input: CreateApiKeyInput!) { createApiKey(input: $input) { ... on CreateApiKeySuccess { key } } }`,
      { input: { name: `${roles} ${scopes}`, roles, scopes } },
    )
  ).createApiKey.key
const report = async (device: string, status: object) => {
  const response = await fetch(`${app.url}/device/${device}/deployment/vision/status`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ deploymentId: 'vision', status, components: [] }),
  })
  expect(response.ok).toBe(true)
}
const deviceDocument = `query ($id: String!, $at: Revision) { revision
  device(deviceId: $id, atRevision: $at) { maintenance { reason until } } }`
const maintenanceOf = async (id: string, at: string | null = null, token = admin) =>
  (await ask(deviceDocument, { id, at }, token)).device?.maintenance ?? null

/** The devices of an export with their windows, which are the same in all formats. */
async function exported(query = ''): Promise<unknown[][]> {
  const bytesOf = async (format: string) => {
    const headers = { authorization: `Bearer ${admin}` }
    return (await fetch(`${app.url}/export/devices?format=${format}${query}`, { headers })).bytes()
  }
  const columns = ['maintenanceSince', 'maintenanceUntil']
  const times = columns.map((name) => `strftime("${name}"::timestamptz, '%Y-%m-%dT%H:%M:%S.%gZ')`)
  const select = `select [deviceId, ${times}, maintenanceReason] as row from`
  const [lines = [], ...others] = await Promise.all([
    duck.ask(
      await bytesOf('ndjson'),
      `${select} read_json(FILE, format = 'newline_delimited', columns = {${[...columns, 'deviceId', 'maintenanceReason'].map((name) => `"${name}": 'VARCHAR'`)}})`,
    ),
    duck.ask(await bytesOf('csv'), `${select} read_csv(FILE, all_varchar = true)`),
    duck.ask(await bytesOf('parquet'), `${select} read_parquet(FILE)`),
  ])
  for (const found of others) expect(found).toEqual(lines)
  return lines.map(({ row }) => row as unknown[])
}

it('is planned by operators, entered, seen by those who see the device, held for alerts, and ended', async () => {
  const register = (deviceId: string, value: string) =>
    ask(`mutation ($devices: [DeviceInput!]!) { registerDevices(input: { devices: $devices }) { __typename } }`, {
      devices: [{ deviceId, ...site(value) }],
    })
  await register('press', 'a')
  await register('other', 'b')
  await register('spare', 'a')
  for (const device of ['press', 'other', 'spare']) await report(device, { state: 'installed' })
  // The label of its registration counts, not this one.
  const properties = { id: 'other', vendor: 'v', modelNumber: 'm', serialNumber: 's' }
  await fetch(`${app.url}/api/v1/capabilities/other`, {
    method: 'PUT',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ properties, labels: { site: 'a' } }),
  })
  const filter = { ...site('a'), deviceIds: ['press'] }
  const { window } = await plan({ filter })
  expect(window).toMatchObject({ reason: 'power', repeat: null, filter, clusters: null, targets: 0 })
  await expect.poll(() => maintenanceOf('press')).toEqual({ reason: 'power', until: window.next.until })
  expect(await maintenanceOf('other')).toBeNull()
  const { revision: inside } = await ask('{ revision }')

  const lists = `{ devices(filter: { inMaintenance: true }) { nodes { deviceId } }
    deploymentCounts(filter: { inMaintenance: true }) { total }
    maintenanceWindows { totalCount nodes { maintenanceId targets } }
    sitesInMaintenance(labelKey: "site") { site targets total until }
    maintenanceBands(from: "2020-01-01T00:00:00Z") { targets until reason }
    rollouts { nodes { maintenance { targets deployments until } maintenanceBands(from: "2020-01-01T00:00:00Z") { targets reason } } } }`
  const { until } = window.next
  expect(await ask(lists)).toEqual({
    sitesInMaintenance: [{ site: 'a', targets: 1, total: 2, until }],
    maintenanceBands: [{ targets: 1, until, reason: 'power' }],
    rollouts: {
      nodes: [
        { maintenance: { targets: 1, deployments: 1, until }, maintenanceBands: [{ targets: 1, reason: 'power' }] },
      ],
    },
    devices: { nodes: [{ deviceId: 'press' }] },
    deploymentCounts: { total: 1 },
    maintenanceWindows: { totalCount: 1, nodes: [{ maintenanceId: window.maintenanceId, targets: 1 }] },
  })

  expect(await exported()).toEqual([
    ['other', null, null, null],
    ['press', expect.any(String), until, 'power'],
    ['spare', null, null, null],
  ])
  const [ofA, ofB] = [await keyOf(['OPERATOR'], ['label:site=a']), await keyOf(['OPERATOR'], ['label:site=b'])]
  const kinds = async (token: string) =>
    (
      await ask(
        `{ changes(filter: { kinds: [MAINTENANCE_PLANNED, MAINTENANCE_CANCELLED, MAINTENANCE_STARTED, MAINTENANCE_ENDED] }, first: 10) {
          nodes { kind ... on MaintenanceStarted { reason } } } }`,
        {},
        token,
      )
    ).changes.nodes
  const started = { kind: 'MAINTENANCE_STARTED', reason: 'power' }
  expect(await kinds(admin)).toEqual([{ kind: 'MAINTENANCE_PLANNED' }, started])
  expect(await kinds(ofA)).toEqual([started])
  expect(await kinds(ofB)).toEqual([])
  expect(await maintenanceOf('press', null, ofA)).toMatchObject({ reason: 'power' })
  expect(await maintenanceOf('press', null, ofB)).toBeNull()
  const badges = `query ($at: Revision) { sitesInMaintenance(labelKey: "site", atRevision: $at) { site targets }
    maintenanceBands(from: "2020-01-01T00:00:00Z") { targets }
    rollouts(atRevision: $at) { nodes { maintenance { targets until } } } }`
  const shown = {
    sitesInMaintenance: [{ site: 'a', targets: 1 }],
    maintenanceBands: [{ targets: 1 }],
    rollouts: { nodes: [{ maintenance: { targets: 1, until } }] },
  }
  const hidden = { sitesInMaintenance: [], maintenanceBands: [], rollouts: { nodes: [{ maintenance: null }] } }
  expect(await ask(badges, {}, ofA)).toEqual(shown)
  expect(await ask(badges, {}, ofB)).toEqual(hidden)
  await expect(ask('{ sitesInMaintenance(labelKey: "site", first: 51) { site } }')).rejects.toThrow('from 1 to 50')
  await expect(
    ask('{ maintenanceBands(from: "2100-01-01T00:00:00Z", to: "2099-01-01T00:00:00Z") { targets } }'),
  ).rejects.toThrow('later than to')
  await expect(ask('{ maintenanceWindows { totalCount } }', {}, ofA)).rejects.toThrow()
  expect((await ask(endDocument, { id: window.maintenanceId }, ofA)).endMaintenance.__typename).toBe('Forbidden')

  for (const [name, holdInMaintenance] of [
    ['at once', false],
    ['held', true],
  ])
    await ask(
      `mutation ($name: String!, $held: Boolean) {
        saveAlertRule(input: { name: $name, metric: FAILED, threshold: 1, holdInMaintenance: $held }) { __typename } }`,
      { name, held: holdInMaintenance },
    )
  await report('press', { state: 'failed', error: { code: '1', message: 'broken' } })
  const alerts = async () =>
    (await ask('{ alerts { nodes { rule state } } }')).alerts.nodes.map(
      ({ rule, state }: Record<string, string>) => `${rule} ${state}`,
    )
  await expect.poll(alerts).toEqual(['at once FIRING'])
  expect(await ask(endDocument, { id: window.maintenanceId })).toEqual({
    endMaintenance: { __typename: 'EndMaintenanceSuccess' },
  })
  await expect.poll(alerts).toEqual(['held FIRING', 'at once FIRING'])
  await expect.poll(() => maintenanceOf('press')).toBeNull()
  expect(await maintenanceOf('press', inside)).toEqual({ reason: 'power', until })
  expect(await ask(badges, { at: inside }, ofA)).toEqual(shown)
  expect(await exported()).toContainEqual(['press', null, null, null])
  expect(await exported(`&atRevision=${inside}`)).toContainEqual(['press', expect.any(String), until, 'power'])
  expect(await ask(badges)).toEqual({ ...hidden, maintenanceBands: [{ targets: 1 }] })
  const then = `query ($at: Revision, $held: DeploymentFilter = { where: { not: { inMaintenance: false } } }) {
    deployments(filter: { inMaintenance: true }, atRevision: $at) { nodes { device { deviceId } } }
    deploymentCounts(filter: $held, atRevision: $at) { total }
    deploymentGroups(by: TARGET, filter: $held, atRevision: $at) { nodes { counts { total } } } }`
  expect(await ask(then, { at: inside })).toEqual({
    deployments: { nodes: [{ device: { deviceId: 'press' } }] },
    deploymentCounts: { total: 1 },
    deploymentGroups: { nodes: [{ counts: { total: 1 } }] },
  })
  expect(await ask(then)).toEqual({
    deployments: { nodes: [] },
    deploymentCounts: { total: 0 },
    deploymentGroups: { nodes: [] },
  })
  const { auditLog } = await ask('{ auditLog(last: 10) { nodes { action outcome } } }')
  for (const action of ['planMaintenance', 'endMaintenance'])
    expect(auditLog.nodes).toContainEqual({ action, outcome: 'done' })
})

it('has clusters, beside devices or alone', async () => {
  const say = (connectivity: string) =>
    ask(
      `mutation ($to: Connectivity!) { reportConnectivity(input: { cluster: "p+east", connectivity: $to }) { __typename } }`,
      {
        to: connectivity,
      },
    )
  await say('ONLINE')
  const { window } = await plan({ filter: null, clusters: { names: ['east'] } })
  expect(window).toMatchObject({ filter: null, clusters: { names: ['east'] } })
  const clusters = async (filter: object) =>
    (
      await ask(
        'query ($filter: ClusterFilter) { clusters(filter: $filter) { nodes { name connectivity maintenance { reason } } } }',
        { filter },
      )
    ).clusters.nodes
  await expect.poll(() => clusters({ inMaintenance: true })).toHaveLength(1)
  await say('OFFLINE')
  const inside = { name: 'east', connectivity: 'ONLINE', maintenance: { reason: 'power' } }
  expect(await clusters({})).toEqual([inside])
  const { revision } = await ask('{ revision }')
  await ask(endDocument, { id: window.maintenanceId })
  await expect
    .poll(() => clusters({ connectivity: ['OFFLINE'] }))
    .toEqual([{ ...inside, connectivity: 'OFFLINE', maintenance: null }])
  expect(
    await ask(
      'query ($at: Revision) { clusters(filter: { inMaintenance: true }, atRevision: $at) { nodes { name } } }',
      { at: revision },
    ),
  ).toEqual({ clusters: { nodes: [{ name: 'east' }] } })
})

it('refuses what would never begin, would not end, or would change by itself', async () => {
  const problems = async (input: object) =>
    ((await plan(input)).problems ?? []).map(({ path }: { path: string[] }) => path.join('.'))
  expect(await problems({ filter: {} })).toEqual(['filter'])
  expect(await problems({ filter: null })).toEqual(['filter'])
  const deviceIds = Array.from({ length: 2_000 }, (_, index) => `device-${index}`)
  expect(await problems({ filter: { deviceIds } })).toEqual(['filter'])
  expect(await problems({ clusters: {} })).toEqual(['clusters'])
  expect(await problems({ clusters: { connectivity: ['ONLINE'] } })).toEqual(['clusters.connectivity'])
  expect(await problems({ filter: { where: { or: [{ connectivity: ['OFFLINE'] }] } } })).toEqual([
    'filter.where.or.0.connectivity',
  ])
  expect(await problems({ to: later(-1) })).toEqual(['to', 'to'])
  expect(await problems({ to: later(93 * 24 * 60) })).toEqual(['to'])
  expect(await problems({ timeZone: 'Mars/Base' })).toEqual(['timeZone'])
  expect(await problems({ repeat: 'FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=30' })).toEqual(['repeat'])
  expect(await problems({ repeat: 'FREQ=DAILY', to: later(24 * 60) })).toEqual(['to'])
  const from = '2099-01-01T00:00:00Z'
  expect(await problems({ from, to: '2099-01-01T01:00:00Z' })).toEqual(['from'])
  expect((await ask(endDocument, { id: 'x' })).endMaintenance).toMatchObject({ __typename: 'NotFound' })
})
