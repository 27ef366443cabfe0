/** The range of the slider and the charts: links keep it, and it contains the time that is shown. */
import { afterAll, beforeAll, describe, it, onTestFinished } from 'vitest'
import { findChromium, openPage, sharedBrowser } from '../../support/clients/browser.ts'
import { expectShown, inElement, textOf, urlOf } from '../../support/clients/shown.ts'
import { casesOf } from '../../support/runner/depth.ts'
import { type RunningApp, startApp } from '../../support/servers/app.ts'
import { minute, send } from '../harness.ts'

const hour = 60 * minute

describe.runIf(findChromium())('the time range', () => {
  let server: RunningApp
  let offset = -30 * hour

  beforeAll(async () => {
    const clock = (): number => Date.now() + offset
    server = await startApp({ clock, begins: clock })
    await send(server.url, 'edge-1', 'hello', 'installing')
    offset = 0
    await send(server.url, 'edge-1', 'hello', 'installed')
  })
  afterAll(() => server?.stop())

  const before = (time: number): string => new Date(Date.now() - time).toISOString()
  async function visit(address: string) {
    const { page, close } = await openPage(await sharedBrowser(), `${server.url}/${address}`)
    onTestFinished(close)
    const range = page.getByRole('group', { name: 'Time range' }).locator('[aria-pressed=true]')
    return { page, range }
  }

  it('is kept by links', async () => {
    const { page, range } = await visit('')
    await page.getByRole('button', { name: '24h' }).click()
    await page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name: 'Deployments' }).click()
    await page.getByRole('row', { name: /hello/ }).getByRole('link').first().click()
    await page.getByRole('heading', { name: 'hello on edge-1' }).waitFor()
    await expectShown(textOf(range)).toBe('24h')
    await expectShown(urlOf(page)).toMatch(/[^?]\?window=24h$/)
  })

  it.each(
    casesOf(2, [
      [0, '6h'],
      [5 * hour, '6h'],
      [10 * hour, '24h'],
      [29 * hour, '7d'],
    ]),
  )('contains the time of a link that has no range: %s ms ago, %s', async (ago, name) => {
    const { page, range } = await visit(`deployments${ago === 0 ? '' : `?at=${before(ago)}`}`)
    await page.getByRole('row', { name: /hello/ }).waitFor()
    // Until the beginning of the history is known, the slider is hidden.
    const slider = page.getByRole('slider')
    await slider.waitFor()
    await expectShown(textOf(range)).toBe(name)
    await expectShown(inElement(slider, (input: HTMLInputElement) => +input.value > +input.min)).toBe(true)
  })
})
