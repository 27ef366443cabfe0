/** A page that has no answer yet: while it waits, and when the server cannot be reached. */
import { describe, it } from 'vitest'
import { findChromium, openPage, sharedBrowser } from '../../support/clients/browser.ts'
import { expectNone, expectShown, expectStill, inPage, textOf } from '../../support/clients/shown.ts'
import { casesOf, isWhole } from '../../support/runner/depth.ts'
import { send, useDashboard } from '../harness.ts'

describe.runIf(findChromium())('a page without an answer', () => {
  const { server } = useDashboard()

  async function open(width: number) {
    const { page, close } = await openPage(await sharedBrowser(), 'about:blank', { viewport: { width, height: 800 } })
    return { page, [Symbol.asyncDispose]: close }
  }

  it('says that it is loading, once that takes a second', async () => {
    await using opened = await open(1280)
    const { page } = opened
    // Never answered.
    await page.route('**/graphql', () => undefined)
    await page.goto(`${server().url}/device/edge-1`)
    await page.getByRole('heading', { name: 'edge-1' }).waitFor()
    await page.getByText('Loading…').waitFor()
  })

  it.runIf(isWhole)('keeps its title above the error', async () => {
    await using opened = await open(1280)
    const { page } = opened
    await page.route('**/graphql', (route) => route.abort())
    for (const [address, title] of [
      ['', 'Overview'],
      ['device/edge-1', 'edge-1'],
      ['deployment/edge-1/web', 'web'],
    ]) {
      await page.goto(`${server().url}/${address}`)
      await page.getByRole('heading', { name: title ?? '' }).waitFor()
      await page.locator('main').getByText("Can't reach the server. Retrying automatically.").waitFor()
    }
  })

  it('says that WebSockets are blocked where requests are answered, until one can be opened', async () => {
    await using opened = await open(1280)
    const { page } = opened
    let isBlocked = true
    await page.routeWebSocket('**/graphql', (socket) =>
      isBlocked ? socket.close({ code: 1011 }) : socket.connectToServer(),
    )
    await page.goto(`${server().url}/devices`)
    const notice = page.getByRole('alert').filter({ hasText: 'refuses the WebSocket' })
    // It does not know which answer was the last: a reader who opens another page, and comes back, has newer ones.
    await expectNone(page.getByText('Last update at'), notice)
    await send(server().url, 'edge-8', 'later', 'installed')
    await page.getByRole('link', { name: 'Feed' }).click()
    await page.getByRole('link', { name: 'Devices' }).click()
    await page.getByRole('row', { name: /edge-8/ }).waitFor()
    await send(server().url, 'edge-9', 'latest', 'installed')
    await expectShown(textOf(notice)).toBe(
      'No live updates: a proxy or the server refuses the WebSocket. Reload the page to see newer data. Retrying automatically.',
    )
    await page.reload()
    await page.getByRole('row', { name: /edge-9/ }).waitFor()
    await notice.waitFor()
    isBlocked = false
    await page.getByRole('button', { name: 'Retry now' }).click()
    await notice.waitFor({ state: 'detached' })
  })

  it.each(casesOf(1, [1280, 390]))(
    'claims no data when the server cannot be reached, and covers no title, at %i px',
    async (width) => {
      await using opened = await open(width)
      const { page } = opened
      await page.route('**/graphql', (route) => route.abort())
      await page.routeWebSocket('**/graphql', (socket) => socket.close({ code: 1011 }))
      await page.goto(`${server().url}/deployments`)
      const notice = page.getByRole('alert').filter({ hasText: 'Retrying automatically.' }).first()
      await notice.waitFor()
      await expectNone(page.getByText('Last update at'), page.locator('.notice.lost'))
      await expectNone(page.getByText('Loading…'), page.locator('main').getByRole('alert'))
      // The longest notice.
      await page.getByRole('alert').filter({ hasText: 'refuses the WebSocket' }).waitFor()
      const covered = inPage(page, () => {
        const [notice, title] = ['.notice.lost', 'h1'].map((part) =>
          document.querySelector(part)?.getBoundingClientRect(),
        )
        return (notice?.bottom ?? Number.NaN) - (title?.top ?? Number.NaN)
      })
      await expectStill(covered).toBeLessThanOrEqual(0)
    },
  )
})
