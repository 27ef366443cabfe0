/** Devices that are retired by a filter, after a preview, and reinstated by one. */
import { afterAll, beforeAll, expect, it } from 'vitest'
import { type RunningApp, startApp } from '../../support/servers/app.ts'
import { reinstateDocument, retireDocument } from '../retirement.ts'

let app: RunningApp
beforeAll(async () => {
  app = await startApp()
})
afterAll(() => app.stop())

const retire = async (input: object) =>
  (await app.query(retireDocument, { input: { reason: 'scrapped', ...input } })).retireDevices
const report = (device: string, deploymentId: string, more: object = {}) =>
  app.post(`/device/${encodeURIComponent(device)}/deployment/${deploymentId}/status`, {
    deploymentId,
    status: { state: 'installed' },
    components: [],
    ...more,
  })

it('retires what a filter selects, after a preview of what that changes, and says of a rollout how many were left out and why', async () => {
  await app.query('mutation { registerDevices(input: { devices: [{ deviceId: "old-mute" }] }) { __typename } }')
  await report('old-gw', 'left', { deviceId: 'old-gw/pump' })
  await report('old-lone', 'left')
  const preview = (filter: object, withChildren = false) =>
    app.query(
      `query ($filter: DeviceFilter!, $withChildren: Boolean) {
          retirement(filter: $filter, withChildren: $withChildren) { devices children deployments } }`,
      { filter, withChildren },
    )
  const filter = { where: { deviceIds: ['old-gw', 'old-lone', 'old-mute'] } }
  expect(await preview(filter, true)).toEqual({ retirement: { devices: 3, children: 1, deployments: 2 } })
  // The deployment on the device behind the gateway is reported by the gateway, so it is closed in either case.
  expect(await preview(filter)).toEqual({ retirement: { devices: 3, children: 1, deployments: 2 } })
  // One of those that were selected for their silence was heard since.
  const silent = { ...filter, lastHeardBefore: new Date(Date.now() + 60_000).toISOString() }
  expect(await preview({ ...filter, lastHeardBefore: '2020-01-01T00:00:00Z' })).toEqual({
    retirement: { devices: 1, children: 0, deployments: 0 },
  })
  expect(await retire({ filter })).toMatchObject({ __typename: 'Conflict' })
  const { results } = await retire({ filter: silent, withChildren: true })
  expect(results.map(({ deployments, children }: Record<string, number>) => [deployments, children])).toEqual([
    ...[
      [1, 1],
      [1, 0],
      [0, 0],
    ],
  ])
  const { deployments } =
    await app.query(`{ deployments(filter: { deploymentIds: "left", retired: true }, first: 1) { nodes { rollout {
      deploymentCounts { total }
      leftOut: deploymentGroups(by: RETIREMENT, filter: { retired: true }) { nodes { key counts { total } } } } } } }`)
  expect(deployments.nodes[0].rollout).toEqual({
    deploymentCounts: { total: 0 },
    leftOut: { nodes: [{ key: 'scrapped', counts: { total: 2 } }] },
  })
  const problem = async (input: object) => (await retire(input)).path?.join('.')
  expect(await problem({ filter: silent })).toBe('filter')
  expect(await problem({ filter: {} })).toBe('filter')
  expect(await problem({ filter: silent, devices: [] })).toBe('filter')
  expect(await problem({})).toBe('devices')
})

it('reinstates what a filter selects, gateways before the devices behind them, each with a new token', async () => {
  const reinstate = async (input: object) => (await app.query(reinstateDocument, { input })).reinstateDevices
  // By name, the device behind is before its gateway.
  const parent = { devices: [{ deviceId: 'back-a', parent: 'back-gw' }] }
  await app.query('mutation ($input: RegisterDevicesInput!) { registerDevices(input: $input) { __typename } }', {
    input: parent,
  })
  await report('back-gw', 'back')
  await retire({ filter: { deviceIds: ['back-gw'] }, withChildren: true })
  expect(await reinstate({ devices: ['back-a'] })).toMatchObject({ __typename: 'Conflict' })
  expect(await reinstate({ devices: ['back-gw', 'old-none'] })).toMatchObject({
    ...{ __typename: 'InvalidInput', problems: [{ path: ['devices', '1'] }] },
  })
  const { results } = await reinstate({ filter: { deviceIds: ['back-gw'] }, withChildren: true })
  expect(results).toEqual(
    ['back-gw', 'back-a'].map((deviceId) => ({ token: expect.any(String), device: { deviceId, retirement: null } })),
  )
  expect((await report('back-gw', 'back')).status).toBe(201)
  const problems = async (input: object) =>
    (await reinstate(input)).problems.map(({ path }: { path: string[] }) => path.join('.'))
  expect(await problems({ filter: { deviceIds: ['back-gw'] } })).toEqual(['filter'])
  expect(await problems({ filter: {} })).toEqual(['filter'])
  expect(await problems({})).toEqual(['filter'])
  expect(await problems({ devices: ['back-a'], filter: { retired: true } })).toEqual(['devices'])
})
