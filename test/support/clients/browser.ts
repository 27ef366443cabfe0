/**
 * Debian's Chromium without a window: what the page looks like to people. Its headless shell is preferred, which has no windows at all: a page costs
 * it a third of the processor time.
 */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core'

/** The browser's program; null where there is none. */
export function findChromium(): string | null {
  const folders = (process.env.PATH ?? '').split(':')
  const names = ['chromium-headless-shell', 'chromium', 'chromium-browser', 'google-chrome']
  return (
    [process.env.CHROMIUM, ...names.flatMap((name) => folders.map((folder) => join(folder, name)))].find(
      (file) => file !== undefined && file !== '' && existsSync(file),
    ) ?? null
  )
}

export function startBrowser(): Promise<Browser> {
  const executablePath = findChromium()
  if (!executablePath)
    throw new Error('there is no Chromium on this machine: install it, or say where it is with CHROMIUM')
  // Its own sandbox does not work for root in a container; it is shown nothing but our own page.
  return chromium.launch({ executablePath, args: ['--no-sandbox', '--disable-dev-shm-usage'] })
}

let shared: Promise<Browser> | undefined

/** One process for all tests of a worker, which ends with it: a page has a context of its own, and starting Chromium takes longer than most tests. */
export function sharedBrowser(): Promise<Browser> {
  shared ??= startBrowser()
  return shared
}

export interface OpenPage {
  readonly page: Page
  /** Everything that the console had to complain about. */
  readonly complaints: readonly string[]
  close(): Promise<void>
}

export async function openPage(
  browser: Browser,
  address: string,
  options: BrowserContextOptions = {},
): Promise<OpenPage> {
  const context = await browser.newContext({ locale: 'en-GB', timezoneId: 'UTC', ...options })
  const page = await context.newPage()
  // A limit that only a hang reaches.
  page.setDefaultTimeout(60_000)
  const complaints: string[] = []
  page.on('console', (message) => {
    if (['error', 'warning'].includes(message.type())) complaints.push(message.text())
  })
  page.on('pageerror', (error) => complaints.push(String(error)))
  countRequests(page)
  await page.goto(address)
  return { page, complaints, close: () => context.close() }
}

interface Requests {
  readonly made: number
  /** How many of them are under way. */
  readonly open: number
}

const requests = new WeakMap<Page, Requests>()

function countRequests(page: Page): void {
  const counted = { made: 0, open: 0 }
  requests.set(page, counted)
  page.on('request', () => {
    counted.made += 1
    counted.open += 1
  })
  for (const ended of ['requestfinished', 'requestfailed'] as const)
    page.on(ended as 'requestfinished', () => {
      counted.open -= 1
    })
}

/** Undefined for a page that `openPage` did not open. */
export const requestsOf = (page: Page): Requests | undefined => requests.get(page)
