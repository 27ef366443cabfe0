/** What makes no revision, on pages that follow revisions: contacts of devices. And deployments that a name alone does not find. */
import { beforeAll, describe, expect, it } from 'vitest'
import { findChromium } from '../../support/clients/browser.ts'
import { expectNone, expectShown, inElements } from '../../support/clients/shown.ts'
import { casesOf, isWhole } from '../../support/runner/depth.ts'
import { minute, send, useDashboard } from '../harness.ts'

describe.runIf(findChromium())('the page of a deployment or a device', () => {
  const { server, visit } = useDashboard()

  beforeAll(async () => {
    await send(server().url, 'edge-5', 'steady', 'installed')
  })

  it.each(
    casesOf(1, [
      ['device/edge-5', '.facts-row'],
      ['deployment/edge-5/steady', '.facts-list'],
      ['devices', '.table'],
    ]),
  )('%s shows a contact that changes nothing', async (address, place) => {
    const { page, complaints } = await visit(address)
    const heard = page.locator(`${place} time`)
    const times = inElements(heard, (all) => all.map((each) => each.getAttribute('datetime')))
    await heard.first().waitFor()
    await send(server().url, 'edge-5', 'steady', 'installed')
    const { device } = await server().query('{ device(deviceId: "edge-5") { lastHeardAt } }')
    await expectShown(times).toContain(device.lastHeardAt)
    expect(complaints).toEqual([])
  })

  it.runIf(isWhole)('names no contact of now in the past', async () => {
    const at = new Date(Date.now() - 5 * minute).toISOString()
    const { page } = await visit(`deployment/edge-1/hello?at=${at}`)
    await page.getByText('Showing the state at').waitFor()
    await page.locator('dt:text-is("Last report") + dd').getByText('not recorded').waitFor()
  })

  it.runIf(isWhole)(
    'shows the one that the named reporter reports, also if a gateway reports another on the device',
    async () => {
      await server().post('/device/gateway/deployment/twice/status', {
        deploymentId: 'twice',
        deviceId: 'child',
        status: { state: 'installed' },
        components: [],
      })
      await send(server().url, 'child', 'twice', 'failed', { code: '9', message: 'no disk' })
      const { page } = await visit('deployments?text=twice')
      const state = page.locator('.hero').getByRole('status')
      for (const word of ['Failed', 'Installed']) {
        await page
          .getByRole('row', { name: new RegExp(word) })
          .getByRole('link')
          .first()
          .click()
        await state.getByText(word, { exact: true }).waitFor()
        await page.goBack()
      }
    },
  )

  it('shows the deployments of a retired device as closed, and does not deny reports of forgotten ones', async () => {
    await send(server().url, 'old', 'left', 'installed')
    const { page } = await visit('deployment/old/left')
    await page.locator('.hero').getByRole('status').getByText('Installed').waitFor()
    await server().query(
      'mutation { retireDevices(input: { devices: [{ deviceId: "old" }], reason: "broken" }) { __typename } }',
    )
    await page.getByText('Closed, because its device was retired').waitFor()
    await send(server().url, 'edge-6', 'lost', 'installed')
    await page.goto(`${server().url}/deployment/edge-6/lost`)
    await page.locator('.hero').getByRole('status').getByText('Installed').waitFor()
    const { deployment } = await server().query('{ deployment(deploymentId: "lost") { id } }')
    await server().query('mutation ($ids: [ID!]!) { forgetDeployments(input: { ids: $ids }) { __typename } }', {
      ids: [deployment.id],
    })
    await page.getByText('“edge-6” has no deployment with this ID.').waitFor()
    await send(server().url, 'edge-6', 'lost', 'failed')
    await page.locator('.hero').getByRole('status').getByText('Failed').waitFor()
  })

  it.runIf(isWhole)(
    'says since when at least, and which attempt began, where the history is longer than what it reads',
    async () => {
      const report = (state: string, component: string) =>
        send(server().url, 'edge-8', 'long', state, null, undefined, [{ name: 'web', state: component }])
      for (const state of ['installing', 'failed', 'installing']) await report(state, 'installing')
      const flap = async (state: string) => {
        for (let times = 0; times < 35; times += 1)
          for (const component of ['installed', 'installing']) await report(state, component)
      }
      await flap('installing')
      await report('installed', 'installing')
      await flap('installed')
      const { page } = await visit('deployment/edge-8/long')
      await page.getByRole('region', { name: 'History' }).getByRole('button', { name: 'more' }).click()
      await expectNone(page.locator('[data-attempt]'), page.getByText('Older changes are available'))
      await flap('installed')
      await page.getByText('Installed for at least').waitFor()
    },
  )

  it.runIf(isWhole)(
    'filters failures by a label whose key has a sign of its own, and says what filters nothing',
    async () => {
      await server().query(
        'mutation { registerDevices(input: { devices: [{ deviceId: "tagged", labels: [{ key: "a=b", value: "x" }] }] }) { __typename } }',
      )
      await send(server().url, 'tagged', 'sick', 'failed', { code: '12', message: 'out of memory' })
      const { page } = await visit('?by=a%3Db')
      await page.locator('.sites').getByRole('link', { name: 'x', exact: true }).first().click()
      await page.getByText('1 deployment', { exact: true }).waitFor()
      await page.goto(`${server().url}/devices`)
      await page.getByLabel('Label: site=munich').fill('munich')
      await page.getByRole('status').getByText('not filtered by “munich”').waitFor()
    },
  )
})
