/** Each number of a page is what the API answered at one revision, while reports pour in. */
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { findChromium, type OpenPage } from '../support/clients/browser.ts'
import { doInPage, expectShown, inPage, type Look, look, readStill } from '../support/clients/shown.ts'
import { isWhole } from '../support/runner/depth.ts'
import { type Answer, answersAt, cards } from './cards.ts'
import { usePouringFleet } from './pouring.ts'

describe.runIf(findChromium())('the dashboard', () => {
  const { server, open, ids, addressOf, pour } = usePouringFleet()

  /** Each page is open once, and all watch the same reports. */
  describe('shows only what the API answered at one revision', () => {
    const watched = cards.filter(([address]) => isWhole || address === '')
    const opened = new Map<string, OpenPage>()
    let answers: readonly Answer[] = []
    const selectorOf = (part: string): string => part.replace('ROLLOUT', encodeURIComponent(ids.ROLLOUT ?? ''))
    const pageOf = (address: string): Page => opened.get(address)?.page ?? expect.unreachable()
    beforeAll(async () => {
      for (const [address, part] of watched) {
        const selector = selectorOf(part)
        if (!opened.has(address)) opened.set(address, await open(addressOf(address)))
        await pageOf(address).locator(selector).filter({ hasNotText: 'Loading…' }).first().waitFor()
      }
      const first = Number((await server().query('{ revision }')).revision)
      for (const [address, part] of watched) await watchText(pageOf(address), selectorOf(part))
      await pour(4)
      answers = await answersAt(server(), ids.ROLLOUT, first, Number((await server().query('{ revision }')).revision))
    })
    afterAll(() => Promise.all([...opened.values()].map(({ close }) => close())))

    it.each(watched)('at /%s: %s', async (address, part, expected) => {
      const texts = textsSince(pageOf(address), selectorOf(part))
      const possible = new Set(answers.map(expected))
      const last = look(texts.page, async () => (await texts.take()).at(-1))
      await expectShown(last).toBe(expected(answers.at(-1) ?? expect.unreachable()))
      expect((await readStill(texts)).filter((text) => text !== '' && !possible.has(text))).toEqual([])
    })
  })
})

/** Records every text of the element from now on, as of each frame. */
function watchText(page: Page, selector: string): Promise<void> {
  return doInPage(
    page,
    (selector: string) => {
      const shown = new Set<string>()
      const look = (): void => {
        const element = document.querySelector(selector)
        const text = element?.getAttribute('aria-label') ?? element?.textContent ?? ''
        // A Set keeps the order of additions: the last is what is shown now.
        shown.delete(text)
        shown.add(text)
        requestAnimationFrame(look)
      }
      requestAnimationFrame(look)
      const all = globalThis as { shown?: Record<string, ReadonlySet<string>> }
      all.shown = { ...all.shown, [selector]: shown }
    },
    selector,
  )
}

const textsSince = (page: Page, selector: string): Look<readonly string[]> =>
  inPage(
    page,
    (selector: string) => [
      ...((globalThis as { shown?: Record<string, ReadonlySet<string>> }).shown?.[selector] ?? []),
    ],
    selector,
  )
