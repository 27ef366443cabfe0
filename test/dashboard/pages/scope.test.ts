/** What the page says to a caller with an access scope: that its numbers are not those of the fleet. */
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, it, onTestFinished } from 'vitest'
import { findChromium, openPage, sharedBrowser } from '../../support/clients/browser.ts'
import { expectNone, expectShown, expectStill, inElement, isVisible, readStill } from '../../support/clients/shown.ts'
import { casesOf } from '../../support/runner/depth.ts'
import { type RunningApp, startApp } from '../../support/servers/app.ts'

const adminKey = 'an-admin-key-for-tests-only'

describe.runIf(findChromium())('a caller that sees a part of the fleet', () => {
  let server: RunningApp
  let viewerKey = ''
  const words = 'You see a part of the fleet: label:site=bonn'

  beforeAll(async () => {
    server = await startApp({ env: { API_AUTH: 'key', API_ADMIN_KEY: adminKey } })
    const query = `mutation {
      registerDevices(input: { devices: [{ deviceId: "till-1", labels: [{ key: "site", value: "kiel" }] }] }) { __typename }
      declareDeployments(input: { rollout: { name: "till" }, deployments: [{ deviceId: "till-1", deploymentId: "till" }] }) { __typename }
      createApiKey(input: { name: "bonn", roles: [VIEWER], scopes: ["label:site=bonn"] }) { ... on CreateApiKeySuccess { key } }
    }`
    const response = await server.post('/graphql', { query }, { authorization: `Bearer ${adminKey}` })
    const { data } = (await response.json()) as { data: { createApiKey: { key: string } } }
    viewerKey = data.createApiKey.key
  })
  afterAll(() => server?.stop())

  async function signIn(key: string, width: number) {
    const { page, close } = await openPage(await sharedBrowser(), `${server.url}/`, {
      viewport: { width, height: 800 },
    })
    onTestFinished(close)
    await page.getByLabel('API key or token').fill(key)
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByRole('button', { name: 'Sign out' }).waitFor()
    await page.locator('.hero h1').waitFor()
    return page
  }

  it.each(casesOf(1, [1280, 390]))(
    'reads so on each page, in space that others have too, %i pixels wide',
    async (width) => {
      const [viewer, admin] = [await signIn(viewerKey, width), await signIn(adminKey, width)]
      await viewer.getByText(words, { exact: true }).waitFor()
      await expectNone(admin.getByText('You see a part of the fleet'), admin.locator('.hero h1'))
      const topOf = (page: Page) => inElement(page.locator('.hero'), (hero) => hero.getBoundingClientRect().y)
      await expectStill(topOf(viewer)).toBe(await readStill(topOf(admin)))
      for (const link of ['Rollouts', 'Deployments', 'Devices', 'Resources', 'Feed']) {
        await viewer.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name: link }).click()
        await viewer.getByRole('heading', { name: link }).waitFor()
        await expectShown(isVisible(viewer.getByText(words, { exact: true }))).toBe(true)
      }
    },
  )

  it.each(
    casesOf(1, [
      ['', 'No reports yet in the part of the fleet that you can see.'],
      ['rollouts', 'No rollouts yet in the part of the fleet that you can see.'],
      ['resources', 'No resources yet in the part of the fleet that you can see.'],
    ]),
  )('does not read on /%s that the fleet is empty, or commands that are refused', async (address, text) => {
    const page = await signIn(viewerKey, 1280)
    await page.goto(`${server.url}/${address}`)
    await expectNone(page.getByText('curl'), page.getByRole('region', { name: 'Get started' }).getByText(text))
  })
})
