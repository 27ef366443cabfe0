/** The page as people have it: Chromium, the real server, real sockets. */
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { openDatabase } from '../../src/store/open.ts'
import { type RunningApp, startApp } from '../support/app.ts'
import { findChromium, type OpenPage, openPage, startBrowser } from '../support/browser.ts'
import { declare, documentOf, remove } from '../support/desired.ts'
import { temporaryFolder } from '../support/folder.ts'
import { startProgram } from '../support/program.ts'

const minute = 60_000

// Skipped only where there is no browser; ROLLCALL_REQUIRE_CHROMIUM=1 turns its absence into a failure.
describe.runIf(findChromium())('the dashboard', () => {
  let browser: Browser
  let server: RunningApp
  /** The first reports are of ten minutes ago. */
  let offset = -10 * minute

  beforeAll(async () => {
    browser = await startBrowser()
    const clock = (): number => Date.now() + offset
    const store = { url: null, dataDir: 'memory' }
    const on = { config: store, open: () => openDatabase(store, clock), drop: async () => {} }
    server = await startApp({ clock, on })
    await send(server.url, 'edge-1', 'hello', 'installing')
    await send(server.url, 'edge-2', 'other', 'failed', { code: '507', message: 'disk full' })
    offset = 0
    await send(server.url, 'edge-1', 'hello', 'installed')
  })
  afterAll(async () => {
    await browser?.close()
    await server?.stop()
  })

  async function visit(hash: string, url = server.url): Promise<OpenPage> {
    const open = await openPage(browser, `${url}/${hash}`)
    onTestFinished(() => open.close())
    return open
  }

  it('shows a report as it comes', async () => {
    const { page, complaints } = await visit('#/deployments')
    await page.getByRole('row', { name: /hello/ }).getByText('Installed', { exact: true }).waitFor()
    await page.evaluate(() => Object.assign(globalThis, { isSamePage: true }))
    await send(server.url, 'edge-9', 'brand-new', 'installing')
    await page
      .getByRole('row', { name: /brand-new/ })
      .getByText('Installing', { exact: true })
      .waitFor()
    await send(server.url, 'edge-9', 'brand-new', 'failed', { code: '500', message: 'the valve is stuck' })
    await page
      .getByRole('row', { name: /brand-new/ })
      .getByText('the valve is stuck')
      .waitFor()
    expect(await page.evaluate(() => 'isSamePage' in globalThis)).toBe(true)
    expect(complaints).toEqual([])
  })

  it('follows one deployment through its attempts, with its errors in full and what became of its reports', async () => {
    const { page, complaints } = await visit('#/deployment/edge-7/retried')
    await page.getByText('The deployment appears here after its first report.').waitFor()
    const error = { code: '500', message: `a long story ${'that goes on '.repeat(40)}and ends` }
    await send(server.url, 'edge-7', 'retried', 'installing', null, { seq: '7', boot: 'b' })
    await send(server.url, 'edge-7', 'retried', 'failed', error, { seq: '8', boot: 'b' })
    await page.getByRole('status').getByText('Failed').waitFor()
    await page.locator('.error-box').first().getByText(error.message).waitFor()
    await send(server.url, 'edge-7', 'retried', 'installing', null, { seq: '3', boot: 'b' })
    await send(server.url, 'edge-7', 'retried', 'installing', null, { seq: '9', boot: 'b' })
    await page.getByRole('status').getByText('Installing').waitFor()
    await page.getByText('older by seq').waitFor()
    expect(await page.locator('[data-attempt="Attempt 2 began"]').count()).toBe(1)
    expect(complaints).toEqual([])
  })

  it('shows what should run beside what runs, as both change, and how two versions of it differ', async () => {
    const [deviceId, deploymentId] = ['edge-5', 'meant']
    const document = (revision: string) => ({ deviceId, deploymentId, document: documentOf(deploymentId, revision) })
    const [id = ''] = await declare(server, [document('1.0.0')], 'first')
    const { page, complaints } = await visit(`#/deployment/${deviceId}/${deploymentId}`)
    const panel = page.getByRole('region', { name: 'Desired state' })
    const verdict = (word: string) => page.getByRole('status').getByText(word, { exact: true }).waitFor()
    await panel.getByText('The device does not report which version it has adopted.').waitFor()
    await adopt(2, 'installing')
    await verdict('Applying')
    await adopt(2, 'installed')
    await verdict('Converged')
    const then = new Date().toISOString()

    await declare(server, [document('2.0.0')], 'because of what was found')
    await verdict('Stale')
    await verdict('Installed')
    await panel.getByText('Still on version 2. Version 3 not picked up yet.').waitFor()
    await panel.getByText('because of what was found').waitFor()
    await panel.getByText('1 line added, 1 line removed').waitFor()
    expect(await panel.locator('.diff .removed code').allTextContents()).toEqual([expect.stringContaining('1.0.0')])
    expect(await panel.locator('.diff .added code').allTextContents()).toEqual([expect.stringContaining('2.0.0')])
    await adopt(3, 'installed')
    await verdict('Converged')

    await remove(server, [id], 'the site closes')
    await verdict('Stale')
    await panel.getByText('Withdrawn. The device should remove it.').waitFor()
    const whole = documentOf(deploymentId, '2.0.0').trimEnd().split('\n')
    await panel.getByText(`0 lines added, ${whole.length} lines removed`).waitFor()
    // Any two of them, and the address says which.
    await panel.getByLabel('From version').selectOption('nothing')
    await panel.getByLabel('To version').selectOption('2')
    await panel.getByText(`${whole.length} lines added, 0 lines removed`).waitFor()
    expect(page.url()).toContain('from=nothing&to=2')
    await adopt(4, 'removed')
    await verdict('Converged')

    // The past knows no later versions.
    await page.goto(`${server.url}/#/deployment/${deviceId}/${deploymentId}?at=${then}`)
    await verdict('Installed')
    await panel.getByText('Up to date with version 2.').waitFor()
    expect(await panel.getByLabel('To version').locator('option').allTextContents()).toEqual([
      expect.stringMatching(/^version 2,/),
      expect.stringMatching(/^nothing/),
    ])

    await page.goto(`${server.url}/#/device/${deviceId}`)
    const manifests = page.getByRole('region', { name: /^Manifest versions/ }).locator('.manifests > li')
    await manifests.nth(2).waitFor()
    expect(await manifests.allInnerTexts()).toEqual([
      expect.stringMatching(/^4\b[\s\S]*the site closes[\s\S]*withdrawn meant/),
      expect.stringMatching(/^3\b[\s\S]*because of what was found[\s\S]*declared meant/),
      expect.stringMatching(/^2\b[\s\S]*first[\s\S]*declared meant/),
    ])
    const properties = {
      ...{ id: deviceId, vendor: 'Presses', modelNumber: 'P-400', serialNumber: '0007' },
      ...{ cpus: [{ cores: 4, architecture: 'arm64' }], memory: '8Gi', supportedDeploymentTypes: ['helm'] },
    }
    expect((await server.post(`/api/v1/capabilities/${deviceId}`, { properties })).ok).toBe(true)
    await page.reload()
    await page.getByText('Presses P-400').waitFor()
    await page
      .getByRole('region', { name: /^Capabilities/ })
      .getByText('"arm64"')
      .waitFor()
    expect(complaints).toEqual([])

    async function adopt(adoptedManifestVersion: number, state: string): Promise<void> {
      const body = { deploymentId, adoptedManifestVersion, status: { state }, components: [] }
      expect((await server.post(`/device/${deviceId}/deployment/${deploymentId}/status`, body)).ok).toBe(true)
    }
  })

  it('tells those that are installed from those that only say so of an older version', async () => {
    const meant = (deviceId: string, revision: string) => ({
      deviceId,
      deploymentId: 'counted',
      document: documentOf('counted', revision),
    })
    const devices = ['edge-61', 'edge-62', 'edge-63']
    for (const deviceId of devices) {
      await declare(server, [meant(deviceId, '1')])
      const body = {
        deploymentId: 'counted',
        adoptedManifestVersion: 2,
        status: { state: 'installed' },
        components: [],
      }
      await server.post(`/device/${deviceId}/deployment/counted/status`, body)
    }
    const { page } = await visit('#/deployments?text=counted&convergence=STALE')
    await page.getByText('No deployments match these filters.').waitFor()
    for (const deviceId of devices.slice(0, 2)) await declare(server, [meant(deviceId, '2')])
    await page.getByText('2 deployments', { exact: true }).waitFor()
    await page
      .getByRole('row', { name: /edge-61/ })
      .getByText('Stale')
      .first()
      .waitFor()
    await page.getByRole('button', { name: 'Stale', exact: true }).click()
    await page.getByRole('row', { name: /edge-63/ }).waitFor()
    await page.goto(`${server.url}/#/`)
    await page.getByRole('link', { name: /^Stale\s*\d/ }).click()
    await page.getByRole('row', { name: /edge-62/ }).waitFor()
    expect(page.url()).toContain('convergence=STALE')
    await page.goto(`${server.url}/#/rollouts?text=counted`)
    await page.getByRole('img', { name: 'counted: 1 installed, 2 installed, older version' }).waitFor()
    await page.goto(`${server.url}/#/feed?kind=desired`)
    await page.getByText('target version 3').first().waitFor()
  })

  it('begins a list anew when what a link has narrowed it to is taken away', async () => {
    const { devices } = await server.query('{ devices(first: 1) { pageInfo { endCursor } } }')
    const after = encodeURIComponent(devices.pageInfo.endCursor)
    const { page } = await visit(`#/devices?label=wing%3Deast&after=${after}`)
    await page.getByRole('button', { name: 'First page' }).waitFor()
    await page.getByRole('button', { name: /^wing: east/ }).click()
    await expect.poll(() => page.url()).toBe(`${server.url}/#/devices`)
  })

  it('looks back as far as the slider is moved, and comes back', async () => {
    const { page, complaints } = await visit('#/deployment/edge-1/hello')
    await page.getByRole('status').getByText('Installed').waitFor()
    await slideTo(page, Date.now() - 5 * minute)
    await page.getByText('Showing the state at').waitFor()
    await page.getByRole('status').getByText('Installing').waitFor()
    // The address holds the time: a shared link shows the same.
    expect(page.url()).toContain('at=')
    await page.reload()
    await page.getByRole('status').getByText('Installing').waitFor()
    await page.getByRole('button', { name: 'Back to now' }).click()
    await page.getByRole('status').getByText('Installed').waitFor()
    await slideTo(page, Date.now() - 14 * minute)
    await page.getByText('No history for this time').waitFor()
    await page.getByRole('main').getByRole('button', { name: 'Back to now' }).click()
    await page.getByRole('status').getByText('Installed').waitFor()
    // What cannot be answered is an answer to the browser's console, too.
    expect(complaints.filter((text) => !text.includes('410'))).toEqual([])
  })

  it('keeps filters in the address, and counts what they leave', async () => {
    const { page } = await visit('#/deployments?state=FAILED')
    await page.getByRole('row', { name: /other/ }).waitFor()
    expect(await page.getByRole('row', { name: /hello/ }).count()).toBe(0)
    await page.getByRole('main').getByRole('searchbox').fill('nothing like that')
    await page.getByText('No deployments match these filters.').waitFor()
    expect(page.url()).toContain('text=nothing+like+that')
    await page.getByRole('main').getByRole('searchbox').fill('disk')
    await page.getByRole('row', { name: /other/ }).waitFor()
    await page.getByRole('button', { name: 'Failed', exact: true }).click()
    expect(page.url()).not.toContain('state=')
  })

  it('stays whole and in its place with thousands, of which many change', async () => {
    const many = Array.from({ length: 5_000 }, (_, index) => ({
      deviceId: `m-${index}`,
      deploymentId: `many-${index}`,
    }))
    await server.query(
      `mutation ($deployments: [DeploymentDeclaration!]!) {
        declareDeployments(input: { rollout: { name: "many" }, deployments: $deployments }) { __typename }
      }`,
      { deployments: many },
    )
    const { page, complaints } = await visit('#/deployments?text=many&order=NAME')
    await page.getByText('5,000 deployments', { exact: true }).waitFor()
    expect(await page.locator('.rows > .row').count()).toBeLessThan(80)
    await page.evaluate(() => scrollTo(0, document.documentElement.scrollHeight))
    await page.getByRole('row', { name: /many-999\b/ }).waitFor()
    const last = page.getByRole('row', { name: /many-999\b/ })
    expect(await page.locator('.rows > .row').count()).toBeLessThan(80)
    // Whether it is live is still seen.
    expect((await page.getByText('Live', { exact: true }).boundingBox())?.y).toBeGreaterThan(0)
    expect(await last.getAttribute('aria-rowindex')).toBe('5001')
    await watchShifts(page)
    const place = await last.boundingBox()
    await Promise.all(
      many
        .slice(900, 1_000)
        .map(({ deviceId, deploymentId }) => send(server.url, deviceId, deploymentId, 'installing')),
    )
    await last.getByText('Installing', { exact: true }).waitFor()
    expect(await last.boundingBox()).toEqual(place)
    expect(await shifts(page)).toEqual([])
    expect(complaints).toEqual([])
  })

  it('moves nothing while the numbers of the overview move', async () => {
    const { page, complaints } = await visit('#/')
    await page.getByRole('heading', { name: 'Rollouts all' }).waitFor()
    await page.getByRole('img', { name: /^Deployments by state over time/ }).waitFor()
    await watchShifts(page)
    const installed = page.getByRole('link', { name: /^Installed/ })
    const before = await installed.textContent()
    await send(server.url, 'edge-3', 'another', 'installed')
    await expect.poll(() => installed.textContent()).not.toBe(before)
    expect(await shifts(page)).toEqual([])
    expect(complaints).toEqual([])
  })

  it('is reached by keyboard, every part of it', async () => {
    const { page } = await visit('#/')
    await page.getByRole('heading', { name: 'Rollouts all' }).waitFor()
    const wanted = await page.evaluate(
      () => document.querySelectorAll('a, button, input, select, [tabindex="0"]').length,
    )
    const reached = await tabThrough(page)
    expect(reached).toBe(wanted)
    await page.keyboard.press('/')
    await page.keyboard.type('hello')
    await page.keyboard.press('Enter')
    await page.getByRole('row', { name: /hello/ }).waitFor()
    expect(await page.evaluate(() => document.activeElement?.id)).toBe('main')
    await page.getByRole('row', { name: /hello/ }).getByRole('link').first().focus()
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'hello' }).waitFor()
  })

  it('moves between rows with the arrows', async () => {
    const { page } = await visit('#/deployments?text=many&order=NAME')
    await page.getByRole('row', { name: /many-1\b/ }).waitFor()
    await page
      .getByRole('row', { name: /many-0\b/ })
      .getByRole('link')
      .first()
      .focus()
    await page.keyboard.press('ArrowDown')
    expect(await page.evaluate(() => document.activeElement?.textContent)).toBe('many-1')
    await page.keyboard.press('ArrowUp')
    expect(await page.evaluate(() => document.activeElement?.textContent)).toBe('many-0')
  })

  it('has the colours of the system until others are chosen, and remembers those', async () => {
    const { page } = await visit('#/')
    const ground = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor)
    const light = await ground()
    await page.emulateMedia({ colorScheme: 'dark' })
    expect(await ground()).not.toBe(light)
    await page.getByRole('button', { name: /^Colours: system/ }).click()
    expect(await ground()).toBe(light)
    await page.reload()
    await page.getByRole('button', { name: /^Colours: light/ }).waitFor()
    expect(await ground()).toBe(light)
  })
})

// Skipped only where there is no browser; ROLLCALL_REQUIRE_CHROMIUM=1 turns its absence into a failure.
describe.runIf(findChromium())('the dashboard of a server that is killed', () => {
  it('says so, catches up when there is one again, and has missed nothing', async () => {
    const DATA_DIR = temporaryFolder()
    const first = startProgram({ DATA_DIR })
    onTestFinished(() => first.dispose())
    const url = await first.listening
    const browser = await startBrowser()
    onTestFinished(() => browser.close())
    await send(url, 'edge-1', 'd-0', 'installing')

    const feed = await openPage(browser, `${url}/#/feed`)
    // High enough for all of its rows.
    const viewport = { width: 1280, height: 2_000 }
    const list = await openPage(browser, `${url}/#/deployments?order=NAME`, { viewport })
    await feed.page.getByText('0 changes since this page opened').waitFor()
    await list.page.getByText('1 deployment', { exact: true }).waitFor()
    for (const state of ['installed', 'installing']) await send(url, 'edge-1', 'd-0', state)
    await feed.page.getByText('2 changes since this page opened').waitFor()

    await first.dispose()
    for (const { page } of [feed, list]) await page.getByText('Showing data from').waitFor()
    expect(await list.page.getByRole('row', { name: /d-0/ }).count()).toBe(1)

    const second = startProgram({ DATA_DIR, PORT: new URL(url).port })
    onTestFinished(() => second.dispose())
    await second.listening
    for (let index = 0; index < 30; index += 1)
      await send(url, 'edge-1', `d-${index}`, 'failed', { code: '1', message: 'no' })
    for (const { page } of [feed, list]) await page.getByText('Live', { exact: true }).waitFor()
    await feed.page.getByText('32 changes since this page opened').waitFor()
    const told = await feed.page
      .locator('time')
      .evaluateAll((times) => times.map((time) => (time as { title?: string }).title ?? ''))
    const revisions = told.map((title) => BigInt(/revision (\d+)/.exec(title)?.[1] ?? 0))
    expect(revisions.slice(1).every((revision, index) => revision === (revisions[index] ?? 0n) - 1n)).toBe(true)
    await list.page.getByText('30 deployments', { exact: true }).waitFor()
    await list.page.getByRole('row', { name: /d-0/ }).getByText('Failed', { exact: true }).waitFor()
    // The browser itself complains of connections that are refused; nothing else may.
    for (const { complaints } of [feed, list])
      expect(complaints.filter((text) => !/ERR_|WebSocket connection/.test(text))).toEqual([])
  })
})

async function send(
  url: string,
  deviceId: string,
  deploymentId: string,
  state: string,
  error: { readonly code: string; readonly message: string } | null = null,
  rollcall?: object,
): Promise<void> {
  const response = await fetch(`${url}/device/${deviceId}/deployment/${deploymentId}/status`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      deploymentId,
      status: { state, ...(error ? { error } : {}) },
      components: [],
      ...(rollcall ? { rollcall } : {}),
    }),
  })
  if (!response.ok) throw new Error(await response.text())
}

/** As dragging does. */
async function slideTo(page: Page, time: number): Promise<void> {
  const slider = page.getByRole('slider')
  await slider.waitFor()
  await slider.evaluate((input, value) => {
    Object.assign(input, { value: String(value) })
    input.dispatchEvent(new Event('input', { bubbles: true }))
  }, time)
}

/** Whatever moves without having been asked to, from now on; the parts of a bar are there to grow. */
async function watchShifts(page: Page): Promise<void> {
  await page.evaluate(() => {
    const shifts: string[] = []
    Object.assign(globalThis, { shifts })
    const observer = new PerformanceObserver((list) => {
      for (const entry of list.getEntries() as unknown as readonly Shift[])
        for (const { node } of entry.sources)
          if (!node?.parentElement?.closest('.bar')) shifts.push(node?.parentElement?.outerHTML ?? 'something')
    })
    observer.observe({ type: 'layout-shift' })
  })
}

interface Shift {
  readonly sources: readonly { readonly node: Node | null }[]
}

const shifts = (page: Page): Promise<readonly string[]> =>
  page.evaluate(() => (globalThis as unknown as { readonly shifts: readonly string[] }).shifts)

/** How many different elements Tab comes to before it comes round. */
async function tabThrough(page: Page): Promise<number> {
  const mark = () =>
    page.evaluate(() => {
      const element = document.activeElement
      if (!element || element === document.body || element.hasAttribute('data-reached')) return false
      element.setAttribute('data-reached', '')
      return true
    })
  let reached = 0
  for (;;) {
    await page.keyboard.press('Tab')
    if (!(await mark())) return reached
    reached += 1
  }
}
