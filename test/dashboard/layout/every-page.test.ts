/** Every page while reports pour in: nothing moves, and nothing is wider than the window. */
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { findChromium, type OpenPage } from '../../support/clients/browser.ts'
import { expectShown, readStill, titleOf, waitUntilQuiet } from '../../support/clients/shown.ts'
import { isWhole } from '../../support/runner/depth.ts'
import { shiftsOf, watchShifts, widthOf } from '../harness.ts'
import { usePouringFleet, widths } from '../pouring.ts'

describe.runIf(findChromium())('every page of the dashboard', () => {
  const { server, open, addressOf, pour, mark } = usePouringFleet()

  const all: readonly (readonly [string, string])[] = [
    ['', '.causes li'],
    ['rollouts', '.rollouts li'],
    ['rollout/ROLLOUT', '.table .row'],
    ['rollout/GROUP', '.matrix .app'],
    ['deployments', '.table .row'],
    ['deployment/oven-0/vision-0', '.swimlanes svg'],
    ['deployment/oven-0/meant', '.beside'],
    ['devices', '.table .row'],
    ['device/oven-0', '.changes li'],
    ['deployment/p%2Bbonn/CONTEXT', '.resources .row'],
    ['resource/RESOURCE', '.facts-row'],
    ['resources', '.table .row'],
    ['feed', '.table .row'],
    ['setup', '.setup-form'],
    ['setup/alert-rules', '.setup-list li'],
    ['setup/notifications', '.empty'],
    ['setup/api-keys', '.empty'],
  ]
  const pages = all.filter((_, index) => isWhole || index % 4 === 0)

  /** A page of each width shows the same address, so that all see the same reports. */
  const opened: { readonly width: number; readonly on: OpenPage }[] = []
  /** In the quick suite each page has one of the widths, in turn. */
  const openedFor = (address: string) =>
    isWhole ? opened : [opened[pages.findIndex(([one]) => one === address) % opened.length] ?? expect.unreachable()]

  beforeAll(async () => {
    for (const width of widths) {
      const on = await open('')
      opened.push({ width, on })
      await on.page.setViewportSize({ width, height: 900 })
    }
  })
  afterAll(() => Promise.all(opened.map(({ on }) => on.close())))

  it.each(pages)('moves nothing of /%s while reports pour in', async (address, drawn) => {
    const shown = openedFor(address)
    const onEach = <T>(act: (page: Page, width: number) => Promise<T>): Promise<readonly T[]> =>
      Promise.all(shown.map(({ width, on }) => act(on.page, width)))
    await onEach(async (page) => {
      await page.goto(`${server().url}/${addressOf(address)}`)
      await page.locator(drawn).first().waitFor()
      await waitUntilQuiet(page)
      await watchShifts(page)
    })
    // On the page of one object, each state follows each.
    await pour(/^(deployment|resource)\//.test(address) ? 4 : 2)
    const failed = await mark()
    const found = await onEach(async (page, width) => {
      // The title counts the failures of the fleet, so it has processed all that was poured.
      await expectShown(titleOf(page), `${width} pixels wide`).toMatch(new RegExp(`^\\(${failed}\\) `))
      await waitUntilQuiet(page)
      return { width, wide: await readStill(widthOf(page)), shifts: await readStill(shiftsOf(page)) }
    })
    expect(found).toEqual(shown.map(({ width }) => ({ width, wide: width, shifts: [] })))
    expect(opened.flatMap(({ on }) => on.complaints)).toEqual([])
  })
})
