/** What a receiver gets of planned downtime: an alert that is held, and raised again afterwards because it still holds. */
import { afterAll, beforeAll, expect, it } from 'vitest'
import { defaultTimeouts } from '../../src/api/rest/guard.ts'
import { type RunningApp, startApp } from '../support/servers/app.ts'
import { type Receiver, startReceiver } from '../support/systems/receiver.ts'

let server: RunningApp
let receiver: Receiver
beforeAll(async () => {
  server = await startApp({
    env: { SINK_ALLOW: '127.0.0.1' },
    timeouts: { ...defaultTimeouts, retry: 50, duties: 100 },
  })
  receiver = await startReceiver()
})
afterAll(async () => {
  await receiver.close()
  await server.stop()
})

it('posts that a window begins and resolves an alert, and after its end the alert again', async () => {
  const { createWebhook } = await server.query(
    `mutation ($input: CreateWebhookInput!) { createWebhook(input: $input) { __typename } }`,
    {
      input: {
        name: 'hook',
        url: `${receiver.url}/hook`,
        filter: {
          where: { not: { kinds: ['MAINTENANCE_PLANNED', 'MAINTENANCE_CANCELLED', 'DEPLOYMENT_STATE_CHANGED'] } },
        },
      },
    },
  )
  expect(createWebhook.__typename).toBe('CreateWebhookSuccess')
  const typesOf = async (count: number) =>
    (await receiver.until((all) => all.length >= count)).map(({ body }) => body.type)
  await server.query(
    `mutation { saveAlertRule(input: { name: "held", metric: FAILED, threshold: 1, holdInMaintenance: true }) { __typename } }`,
  )
  await server.post('/device/press/deployment/vision/status', {
    ...{ deploymentId: 'vision', components: [] },
    status: { state: 'failed', error: { code: '1', message: 'broken' } },
  })
  const told = ['rollcall.alert-raised']
  expect(await typesOf(1)).toEqual(told)
  const { planMaintenance } = await server.query(
    `mutation ($to: DateTime!) { planMaintenance(input: { filter: { deviceIds: ["press"] }, to: $to, reason: "no power" }) {
      ... on PlanMaintenanceSuccess { window { maintenanceId } } } }`,
    { to: new Date(Date.now() + 3_600_000).toISOString() },
  )
  told.push('rollcall.maintenance-started', 'rollcall.alert-resolved')
  expect(await typesOf(3)).toEqual(told)
  const started = (await receiver.until((all) => all.length >= 3))[1]
  expect(started?.body.data).toMatchObject({ target: { name: 'press' }, maintenance: { reason: 'no power' } })
  await server.query(`mutation ($id: ID!) { endMaintenance(input: { maintenanceId: $id }) { __typename } }`, {
    id: planMaintenance.window.maintenanceId,
  })
  told.push('rollcall.maintenance-ended', 'rollcall.alert-raised')
  expect(await typesOf(5)).toEqual(told)
})
