/** Planned downtime on the page: planned in the set-up, shown where the device is. */
import { describe, it } from 'vitest'
import { defaultTimeouts } from '../../../src/api/rest/guard.ts'
import { findChromium } from '../../support/clients/browser.ts'
import { useDashboard } from '../harness.ts'

describe.runIf(findChromium())('maintenance', () => {
  const { server, visit } = useDashboard({ timeouts: { ...defaultTimeouts, duties: 100 } })

  it('is planned, shown on the device, its deployment and its rollout, and ended', async () => {
    const devices = ['edge-1', 'edge-2'].map((deviceId) => ({ deviceId, labels: [{ key: 'site', value: 'munich' }] }))
    await server().query(
      `mutation ($devices: [DeviceInput!]!) { registerDevices(input: { devices: $devices }) { __typename } }`,
      { devices },
    )
    const { page } = await visit('setup/maintenance')
    const form = page.getByRole('form', { name: 'New window' })
    await form.getByLabel('Or device IDs').fill('edge-1')
    await form.getByLabel('Until').fill(new Date(Date.now() + 20 * 3_600_000).toISOString().slice(0, 16))
    await form.getByLabel('Reason').fill('no power')
    await form.getByRole('button', { name: 'Plan maintenance' }).click()
    await page.getByRole('link', { name: '1 in it' }).click()
    await page.getByText('in maintenance until').waitFor()
    await page.goto(`${server().url}/device/edge-1`)
    await page.getByRole('status').getByText('In maintenance until').getByText('no power').waitFor()
    await page.goto(`${server().url}/deployment/edge-1/hello`)
    await page.getByText('Device in maintenance until').waitFor()
    const { deployment } = await server().query('{ deployment(deploymentId: "hello") { rollout { id } } }')
    await page.goto(`${server().url}/rollout/${deployment.rollout.id}`)
    await page.getByText('1 device in maintenance until').first().waitFor()
    await page.locator('.chart .band title').getByText('no power').waitFor({ state: 'attached' })
    await page.locator('.chart-legend').getByText('In maintenance').waitFor()
    await page.goto(`${server().url}/rollouts?kind=MARGO_DEPLOYMENT`)
    await page.locator('.rollout-line').getByText('1 of 1 in maintenance until').waitFor()
    await page.goto(server().url)
    await page.getByRole('list', { name: 'In maintenance, by site' }).getByText('1 of 2 in maintenance until').waitFor()
    await page.goto(`${server().url}/setup/maintenance`)
    await page.getByRole('button', { name: 'End…' }).click()
    await page.getByRole('button', { name: 'End no power' }).click()
    await page.getByText('No maintenance windows.').waitFor()
  })
})
