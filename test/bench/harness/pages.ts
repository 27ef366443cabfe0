/** The pages of the dashboard in Chromium: when their content is there, and what they load for it. */
import { findChromium, openPage, startBrowser } from '../../support/clients/browser.ts'
import { type Claim, slowest } from './bench.ts'
import type { Program } from './process.ts'

export async function loadPages(server: Program, notes: string[]): Promise<Claim[]> {
  if (!findChromium()) {
    notes.push('no Chromium: the pages were not loaded')
    return []
  }
  const browser = await startBrowser()
  const claims: Claim[] = []
  try {
    for (const [hash, content] of Object.entries(pages)) {
      const times: number[] = []
      const processorTimes: number[] = []
      let [requests, bytes] = [0, 0]
      for (let round = 0; round < 3; round += 1) {
        const { page, close } = await openPage(browser, 'about:blank')
        const session = await page.context().newCDPSession(page)
        await session.send('Network.enable')
        ;[requests, bytes] = [0, 0]
        session.on('Network.dataReceived', ({ encodedDataLength }) => {
          bytes += encodedDataLength
        })
        session.on('Network.webSocketFrameReceived', ({ response }) => {
          bytes += response.payloadData.length
        })
        page.on('request', () => {
          requests += 1
        })
        const used = server.cpu()
        const began = performance.now()
        await page.goto(`${server.url}/${hash}`)
        await page.getByText(content).first().waitFor()
        times.push(performance.now() - began)
        await page.waitForLoadState('networkidle')
        processorTimes.push((server.cpu() - used) * 1000)
        await close()
      }
      const each = processorTimes.map((time) => Math.round(time)).join(', ')
      notes.push(
        `page ${hash}: ${Math.round(Math.min(...times))} ms, ${requests} requests, ${Math.round(bytes / 1000)} kB, ${each} ms of the server`,
      )
      claims.push(
        slowest(`page ${hash}: content`, [Math.min(...times)], 1_000),
        slowest(`page ${hash}: server CPU`, [Math.min(...processorTimes)], 200),
      )
    }
  } finally {
    await browser.close()
  }
  return claims
}

const pages = {
  '#/': 'deployments installed',
  '#/rollouts': 'fleet-wide',
  '#/deployments': 'deployments',
  '#/devices': 'devices',
  '#/device/edge-4': 'deployments',
  '#/resources': 'resources',
  '#/feed': 'changes since this list opened',
}
