/**
 * What a page shows. It shows a moment later what happened, so an assertion looks until it holds: `expectShown` for texts and states, `expectStill` for
 * places and sizes, `expectNone` for what must not be there. Everywhere else, lint refuses a single look such as `await locator.textContent()`.
 */
import type { Locator, Page } from 'playwright-core'
import { expect } from 'vitest'
import { requestsOf } from './browser.ts'

/** What is read each time that the page is looked at. */
export interface Look<T> {
  readonly page: Page
  take(): Promise<T>
}

type Drawn = SVGElement | HTMLElement

export const look = <T>(page: Page, take: () => Promise<T>): Look<T> => ({ page, take })
const lookAt = <T>(locator: Locator, take: () => Promise<T>): Look<T> => look(locator.page(), take)

export const urlOf = (page: Page): Look<string> => look(page, async () => page.url())
export const titleOf = (page: Page): Look<string> => look(page, () => page.title())
export const textOf = (locator: Locator): Look<string | null> => lookAt(locator, () => locator.textContent())
export const textsOf = (locator: Locator): Look<string[]> => lookAt(locator, () => locator.allTextContents())
/** As they are drawn: without what is hidden, and with line breaks. */
export const drawnTextsOf = (locator: Locator): Look<string[]> => lookAt(locator, () => locator.allInnerTexts())
export const countOf = (locator: Locator): Look<number> => lookAt(locator, () => locator.count())
export const inputOf = (locator: Locator): Look<string> => lookAt(locator, () => locator.inputValue())
export const attributeOf = (locator: Locator, name: string): Look<string | null> =>
  lookAt(locator, () => locator.getAttribute(name))
export const isVisible = (locator: Locator): Look<boolean> => lookAt(locator, () => locator.isVisible())
export const isDisabled = (locator: Locator): Look<boolean> => lookAt(locator, () => locator.isDisabled())
export const boxOf = (locator: Locator): Look<Awaited<ReturnType<Locator['boundingBox']>>> =>
  lookAt(locator, () => locator.boundingBox())

/** What a function returns in the page. */
export const inPage = <T, A = undefined>(page: Page, read: (argument: A) => T, argument?: A): Look<Awaited<T>> =>
  look(page, () => page.evaluate(read as () => Awaited<T>, argument))
export const inElement = <T, E extends Drawn = HTMLElement>(locator: Locator, read: (element: E) => T): Look<T> =>
  lookAt(locator, () => locator.evaluate(read as (element: Drawn) => T))
export const inElements = <T, E extends Drawn = HTMLElement>(locator: Locator, read: (elements: E[]) => T): Look<T> =>
  lookAt(locator, () => locator.evaluateAll(read as (elements: Drawn[]) => T))

/** Does something in the page, and tells nothing of it: what it shows then is looked at. */
export async function doInPage<A = undefined>(page: Page, act: (argument: A) => unknown, argument?: A): Promise<void> {
  await page.evaluate(act as () => unknown, argument)
}
export async function doInElement<E extends Drawn = HTMLElement, A = undefined>(
  locator: Locator,
  act: (element: E, argument: A) => unknown,
  argument?: A,
): Promise<void> {
  await locator.evaluate(act as (element: Drawn) => unknown, argument)
}

/** Asserts of what the page shows, until it shows that. `where` is printed if it never does. */
export const expectShown = <T>({ take }: Look<T>, where = '') => expect.poll(take, { message: where })

/** The same of places and sizes: of a layout that no longer changes. */
export const expectStill = <T>(seen: Look<T>, where = '') => expect.poll(() => readStill(seen), { message: where })

const nextFrame = (page: Page): Promise<unknown> =>
  page.evaluate(() => new Promise((drawn) => requestAnimationFrame(drawn)))

/** What two frames, one after the other, show equally, once the fonts are there. For a later comparison. */
export async function readStill<T>({ page, take }: Look<T>): Promise<T> {
  await page.evaluate(async () => void (await document.fonts.ready))
  let before = await take()
  for (;;) {
    await nextFrame(page)
    const after = await take()
    if (JSON.stringify(after) === JSON.stringify(before)) return after
    before = after
  }
}

/** Until the page has the answers to all of its requests, and asks nothing more once it has drawn them. */
export async function waitUntilQuiet(page: Page): Promise<void> {
  const requests = requestsOf(page)
  if (!requests) throw new Error('the requests of this page are not counted: open it with openPage')
  for (;;) {
    await expect.poll(() => requests.open).toBe(0)
    const { made } = requests
    await nextFrame(page)
    await nextFrame(page)
    if (requests.made === made) return
  }
}

/** That what was there is gone. */
export const expectGone = (gone: Locator): Promise<void> => expectShown(countOf(gone)).toBe(0)

/** That it is not there. `proof`: what the page shows only after it has processed what could have brought it. */
export async function expectNone(absent: Locator, proof: Locator): Promise<void> {
  await proof.first().waitFor()
  await expectGone(absent)
}
