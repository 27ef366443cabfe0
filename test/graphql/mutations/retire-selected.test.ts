/** Devices that are retired by a filter, after a preview. */
import { afterAll, beforeAll, expect, it } from 'vitest'
import { type RunningApp, startApp } from '../../support/servers/app.ts'
import { retireDocument } from '../retirement.ts'

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
