/** The page in Chromium, on a real server through real sockets. */
import type { Browser, Page, Route } from 'playwright-core'
import { afterAll, beforeAll, onTestFinished } from 'vitest'
import type { Database } from '../../src/store/database.ts'
import { type OpenPage, openPage, sharedBrowser } from '../support/clients/browser.ts'
import { doInElement, doInPage, inPage, type Look } from '../support/clients/shown.ts'
import { type AppOptions, type RunningApp, startApp } from '../support/servers/app.ts'

export const minute = 60_000

export async function send(
  url: string,
  deviceId: string,
  deploymentId: string,
  state: string,
  error: { readonly code: string; readonly message: string } | null = null,
  rollcall?: object,
  components: readonly object[] = [],
): Promise<void> {
  const response = await fetch(`${url}/device/${deviceId}/deployment/${deploymentId}/status`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      deploymentId,
      status: { state, ...(error ? { error } : {}) },
      components,
      ...(rollcall ? { rollcall } : {}),
    }),
  })
  if (!response.ok) throw new Error(await response.text())
}

/** Sets the slider as dragging does. */
export async function slideTo(page: Page, time: number): Promise<void> {
  const slider = page.getByRole('slider')
  await slider.waitFor()
  await doInElement(
    slider,
    (input, value) => {
      Object.assign(input, { value: String(value) })
      input.dispatchEvent(new Event('input', { bubbles: true }))
    },
    time,
  )
}

/**
 * Records each layout shift from now on, except that of a bar's parts, of entries below a newer one, of the times of an axis, of the places of a cause,
 * which come and go, and of text that is aligned at its end: it begins earlier if it gets longer.
 */
export async function watchShifts(page: Page): Promise<void> {
  await doInPage(page, () => {
    const shifts: string[] = []
    const isAtEnd = (node: Node | null): boolean =>
      node instanceof Text && node.parentElement !== null && getComputedStyle(node.parentElement).textAlign === 'end'
    const placeOf = ({ x, y, width, height }: DOMRectReadOnly): string => [x, y, width, height].join(' ')
    const markupOf = (node: Node | null | undefined): string =>
      (node instanceof Element ? node.outerHTML : `“${node?.textContent}”`).slice(0, 300)
    const record = (entries: PerformanceEntryList): void => {
      for (const entry of entries as unknown as readonly Shift[])
        for (const { node, previousRect, currentRect } of entry.sources)
          if (!node?.parentElement?.closest('.bar, .changes, .axis, .sites') && !isAtEnd(node))
            shifts.push(
              `${placeOf(previousRect)} → ${placeOf(currentRect)}: ${markupOf(node)} in ${markupOf(node?.parentElement)}`,
            )
    }
    const observer = new PerformanceObserver((list) => record(list.getEntries()))
    observer.observe({ type: 'layout-shift' })
    const readShifts = (): readonly string[] => {
      record(observer.takeRecords())
      return shifts
    }
    Object.assign(globalThis, { readShifts })
  })
}

interface Shift {
  readonly sources: readonly {
    readonly node: Node | null
    readonly previousRect: DOMRectReadOnly
    readonly currentRect: DOMRectReadOnly
  }[]
}

export const shiftsOf = (page: Page): Look<readonly string[]> =>
  inPage(page, () => (globalThis as unknown as { readShifts(): readonly string[] }).readShifts())

/** The width that the page takes: more than the window's, where it scrolls sideways. */
export const widthOf = (page: Page): Look<number> => inPage(page, () => document.documentElement.scrollWidth)

/** As a link within the page does it, which does not load the page again. */
export const followLink = (page: Page, path: string): Promise<void> =>
  doInPage(
    page,
    (to) => {
      history.pushState(null, '', to)
      dispatchEvent(new PopStateEvent('popstate'))
    },
    path,
  )

/** The number of elements that Tab reaches before it returns to the first. */
export async function tabThrough(page: Page): Promise<number> {
  const mark = inPage(page, () => {
    const element = document.activeElement
    if (!element || element === document.body || element.hasAttribute('data-reached')) return false
    element.setAttribute('data-reached', '')
    return true
  })
  let reached = 0
  for (;;) {
    await page.keyboard.press('Tab')
    if (!(await mark.take())) return reached
    reached += 1
  }
}

/** A server whose first reports are ten minutes old, and a browser. */
export function useDashboard(options: Pick<AppOptions, 'timeouts'> = {}) {
  let browser: Browser
  let server: RunningApp
  let database: Database
  let offset = -10 * minute

  beforeAll(async () => {
    browser = await sharedBrowser()
    const clock = (): number => Date.now() + offset
    server = await startApp({ clock, begins: clock, ...options })
    database = server.database
    await send(server.url, 'edge-1', 'hello', 'installing')
    await send(server.url, 'edge-2', 'other', 'failed', { code: '507', message: 'disk full' })
    offset = 0
    await send(server.url, 'edge-1', 'hello', 'installed')
  })
  afterAll(() => server?.stop())

  const open = (hash: string): Promise<OpenPage> => openPage(browser, `${server.url}/${hash}`)
  async function visit(hash: string): Promise<OpenPage> {
    const opened = await open(hash)
    onTestFinished(() => opened.close())
    return opened
  }
  /** `visit`: the page is closed at the end of the test. */
  return { server: () => server, database: () => database, open, visit }
}

/** Requests of these operations get no answer until the returned function is called. */
export async function holdAnswers(page: Page, operation: RegExp): Promise<() => Promise<void>> {
  const held = Promise.withResolvers<void>()
  const hold = async (route: Route): Promise<void> => {
    if (operation.test(route.request().postData() ?? '')) await held.promise
    await route.fallback()
  }
  await page.route('**/graphql', hold)
  return async () => {
    held.resolve()
    await page.unroute('**/graphql', hold)
  }
}
