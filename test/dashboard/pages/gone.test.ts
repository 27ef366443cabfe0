/** A device that is silent for days is retired where it keeps a deployment or a rollout from its end. */
import { afterAll, beforeAll, describe, it } from 'vitest'
import { findChromium, openPage, sharedBrowser } from '../../support/clients/browser.ts'
import { type RunningApp, startApp } from '../../support/servers/app.ts'
import { send } from '../harness.ts'

describe.runIf(findChromium())('a device that is gone', () => {
  let app: RunningApp
  let offset = -12 * 86_400_000
  beforeAll(async () => {
    const clock = () => Date.now() + offset
    app = await startApp({ clock, begins: clock })
    for (const device of ['press-1', 'press-2']) await send(app.url, device, 'vision', 'removing')
    const child = { deploymentId: 'vision', deviceId: 'gw/cam', status: { state: 'removing' }, components: [] }
    await app.post('/device/gw/deployment/vision/status', child)
    offset = 0
    await send(app.url, 'press-3', 'vision', 'removed')
  })
  afterAll(() => app.stop())

  it('is retired on the page of its deployment and of its rollout, which then says how many it leaves out, and reinstated', async () => {
    const { page } = await openPage(await sharedBrowser(), `${app.url}/deployment/press-1/vision`)
    const retire = async (what: string) => {
      await page.getByRole('button', { name: `Retire ${what}…` }).click()
      const dialog = page.getByRole('dialog', { name: `Retire ${what}?` })
      await dialog.getByText('Takes 1 device out of service and closes 1 deployment.').waitFor()
      await dialog.getByLabel('Reason').fill('scrapped')
      await dialog.getByRole('button', { name: `Retire ${what}` }).click()
    }
    await page.getByText('Its device has been silent for 12 d').waitFor()
    await retire('press-1')
    await page.getByText('Closed, because its device was retired: scrapped').waitFor()
    const { deployment } = await app.query(
      '{ deployment(deploymentId: "vision", deviceId: "press-3") { rollout { id } } }',
    )
    await page.goto(`${app.url}/rollout/${deployment.rollout.id}`)
    await page.getByText('Not counted, because the device was retired: 1 deployment (1: scrapped)').waitFor()
    await page.getByText('1 deployment not done on devices that have been silent for over 7 d').waitFor()
    await retire('1 device')
    await page.getByText('1 deployment not done behind a gateway that has been silent for over 7 d').waitFor()
    await page.getByRole('button', { name: 'Retire 1 gateway…' }).click()
    const gateway = page.getByRole('dialog', { name: 'Retire 1 gateway?' })
    await gateway.getByText('Takes 1 device and 1 device behind out of service and closes 1 deployment.').waitFor()
    await gateway.getByLabel('Reason').fill('moved')
    await gateway.getByRole('button', { name: 'Retire 1 gateway' }).click()
    await page.getByText('Not counted, because the device was retired: 3 deployments').waitFor()
    await page.goto(`${app.url}/devices?retired=true&text=gw`)
    await page.getByRole('button', { name: 'Reinstate all 2 devices…' }).click()
    await page.getByRole('button', { name: 'Reinstate all 2 devices', exact: true }).click()
    await page.getByText('No devices match these filters.').waitFor()
    await page.goto(`${app.url}/device/press-2`)
    await page.getByRole('button', { name: 'Reinstate it…' }).click()
    await page.getByRole('button', { name: 'Reinstate press-2' }).click()
    await page.getByText('Its device has been silent for 12 d').waitFor()
  })
})
