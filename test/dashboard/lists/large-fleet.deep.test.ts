/** 10,000 deployments that no rollout names: each page shows its content with few requests and few bytes. */
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { findChromium, openPage, sharedBrowser } from '../../support/clients/browser.ts'
import { doInPage, drawnTextsOf, expectShown, look, textsOf } from '../../support/clients/shown.ts'
import { type RunningApp, startApp } from '../../support/servers/app.ts'

const size = 10_000
/** For the whole page: its files, requests, and the socket. */
const most = { requests: 15, bytes: 300_000 }

describe.runIf(findChromium())('the dashboard of a fleet that declares no rollouts', () => {
  let browser: Browser
  let server: RunningApp

  beforeAll(async () => {
    browser = await sharedBrowser()
    server = await startApp()
    const reports = Array.from({ length: size }, (_, index) => ({
      deviceId: `d-${index % 100}`,
      deploymentId: `single-${index}`,
      status: { state: 'installed' },
      components: [],
    }))
    for (let done = 0; done < size; done += 2_500)
      expect((await server.post('/reports', { reports: reports.slice(done, done + 2_500) })).ok).toBe(true)
  })
  afterAll(async () => {
    await server?.stop()
  })

  it.each([
    ['#/', 'of 10,000 deployments installed'],
    ['#/rollouts', 'No rollouts are declared. These are the deployments by application.'],
    ['#/deployments', '10,000 deployments'],
    ['#/devices', '100 devices'],
    ['#/device/d-1', '100 deployments'],
    ['#/resources', '0 resources'],
    ['#/feed', '0 changes since this list opened'],
  ])('%s needs few requests, and looks into no past', async (hash, content) => {
    const { asked, complaints } = await load(hash, content)
    expect(asked.filter((text) => text.includes('"asOf":"'))).toEqual([])
    // Only the chart has a series. The slider gets one when it is touched.
    if (hash !== '#/') expect(asked.filter((text) => text.includes('OverTime'))).toEqual([])
    expect(complaints).toEqual([])
  })

  it('shows deployments of no application as such, and counts no rollouts', async () => {
    const { page, close } = await openPage(browser, `${server.url}/`)
    onTestFinished(close)
    const rollouts = page.getByRole('region', { name: /^Rollouts/ })
    await rollouts.getByText('No application declared').waitFor()
    await expectShown(textsOf(rollouts.locator('.kind'))).toEqual([''])
    await rollouts.getByRole('link', { name: 'All rollouts', exact: true }).waitFor()
  })

  /** Loads a page, and checks what that takes. */
  async function load(hash: string, content: string) {
    const { page, complaints, close } = await openPage(browser, 'about:blank')
    onTestFinished(close)
    let bytes = 0
    const asked: string[] = []
    const session = await page.context().newCDPSession(page)
    await session.send('Network.enable')
    session.on('Network.dataReceived', ({ encodedDataLength }) => {
      bytes += encodedDataLength
    })
    session.on('Network.webSocketFrameReceived', ({ response }) => {
      bytes += response.payloadData.length
    })
    page.on('request', (request) => asked.push(`${request.url()} ${request.postData() ?? ''}`))
    await page.goto(`${server.url}/${hash}`)
    await page.getByText(content).first().waitFor()
    await page.waitForLoadState('networkidle')
    // A chart asks for more points as time goes on.
    const points = asked.filter((text) => /query \w*Points\b/.test(text))
    expect(asked.length - points.length, asked.join('\n')).toBeLessThanOrEqual(most.requests - 1)
    expect(bytes).toBeLessThanOrEqual(most.bytes)
    return { asked, complaints }
  }

  it('loads more of a list as it is scrolled', async () => {
    const { page, close } = await openPage(browser, `${server.url}/#/deployments?order=NAME`)
    await page.getByText('10,000 deployments').waitFor()
    await page.getByRole('row', { name: /single-0\b/ }).waitFor()
    // Only rows near the window are in the page: a row that has just been loaded may be gone at the next look.
    const lastShown = async (): Promise<string> => {
      await doInPage(page, () => scrollTo(0, document.documentElement.scrollHeight))
      const texts = await drawnTextsOf(page.getByRole('row')).take()
      const names = texts.flatMap((text) => /single-\d+/.exec(text) ?? [])
      expect(names).toEqual(names.toSorted())
      return names.at(-1) ?? ''
    }
    await expectShown(look(page, lastShown)).toSatisfy((name: string) => name > 'single-1100')
    await close()
  })

  it('needs few requests for a large rollout, which was declared, too', async () => {
    const deployments = Array.from({ length: 1_000 }, (_, index) => ({
      ...{ deviceId: `d-${index % 100}`, deploymentId: `single-${index}`, application: 'single' },
      applicationVersion: `${index % 7}.0`,
    }))
    const { declareDeployments } = await server.query(
      `mutation ($deployments: [DeploymentDeclaration!]!) {
        declareDeployments(input: { rollout: { name: "large" }, deployments: $deployments }) {
          ... on DeclareDeploymentsSuccess { rollout { id } }
        }
      }`,
      { deployments },
    )
    const { complaints } = await load(`rollout/${declareDeployments.rollout.id}`, 'of 1,000 deployments installed')
    expect(complaints).toEqual([])
  })
})
