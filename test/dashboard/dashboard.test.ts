import { describe, expect, it, onTestFinished } from 'vitest'
import { findChromium, openPage, sharedBrowser } from '../support/clients/browser.ts'
import {
  attributeOf,
  boxOf,
  countOf,
  doInPage,
  expectNone,
  expectShown,
  expectStill,
  inElement,
  inElements,
  inPage,
  readStill,
  textOf,
  urlOf,
} from '../support/clients/shown.ts'
import { temporaryFolder } from '../support/folder.ts'
import { casesOf, isWhole } from '../support/runner/depth.ts'
import { startProgram } from '../support/servers/program.ts'
import { minute, send, shiftsOf, slideTo, tabThrough, useDashboard, watchShifts } from './harness.ts'

describe.runIf(findChromium())('the dashboard', () => {
  const { server, visit } = useDashboard()

  it('shows a report as it comes', async () => {
    const { page, complaints } = await visit('#/deployments')
    await page.getByRole('row', { name: /hello/ }).getByText('Installed', { exact: true }).waitFor()
    await doInPage(page, () => Object.assign(globalThis, { isSamePage: true }))
    await send(server().url, 'edge-9', 'brand-new', 'installing')
    await page
      .getByRole('row', { name: /brand-new/ })
      .getByText('Installing', { exact: true })
      .waitFor()
    await send(server().url, 'edge-9', 'brand-new', 'failed', { code: '500', message: 'the valve is stuck' })
    await page
      .getByRole('row', { name: /brand-new/ })
      .getByText('the valve is stuck')
      .waitFor()
    await expectShown(inPage(page, () => 'isSamePage' in globalThis)).toBe(true)
    expect(complaints).toEqual([])
  })

  it.runIf(isWhole)('shows the attempts, errors and report verdicts of one deployment', async () => {
    const { page, complaints } = await visit('#/deployment/edge-7/retried')
    await page.getByText('It appears here when it is reported or declared.').waitFor()
    const error = { code: '500', message: `a long story ${'that goes on '.repeat(40)}and ends` }
    await send(server().url, 'edge-7', 'retried', 'installing', null, { seq: '7', boot: 'b' })
    await send(server().url, 'edge-7', 'retried', 'failed', error, { seq: '8', boot: 'b' })
    await page.getByRole('status').getByText('Failed').waitFor()
    await page.locator('.error-box').first().getByText(error.message).waitFor()
    await send(server().url, 'edge-7', 'retried', 'installing', null, { seq: '3', boot: 'b' })
    await send(server().url, 'edge-7', 'retried', 'installing', null, { seq: '9', boot: 'b' })
    await page.getByRole('status').getByText('Installing').waitFor()
    await page.getByText('older by seq').waitFor()
    await expectShown(countOf(page.locator('[data-attempt="Attempt 2 began"]'))).toBe(1)
    expect(complaints).toEqual([])
  })

  it.runIf(isWhole)('returns to the first page of a list when a filter of the link is removed', async () => {
    const { devices } = await server().query('{ devices(first: 1) { pageInfo { endCursor } } }')
    const after = encodeURIComponent(devices.pageInfo.endCursor)
    const { page } = await visit(`#/devices?label=wing%3Deast&after=${after}`)
    await page.getByRole('button', { name: 'First page' }).waitFor()
    await page.getByLabel('Label: site=munich').fill('')
    await expectShown(urlOf(page)).toBe(`${server().url}/devices`)
  })

  it('shows the past at the slider, and returns to the present', async () => {
    const { page, complaints } = await visit('#/deployment/edge-1/hello')
    await page.getByRole('status').getByText('Installed').waitFor()
    await slideTo(page, Date.now() - 5 * minute)
    await page.getByText('Showing the state at').waitFor()
    await page.getByRole('status').getByText('Installing').waitFor()
    // The address holds the time, so a shared link shows the same.
    await expectShown(urlOf(page)).toContain('at=')
    await page.reload()
    await page.getByRole('status').getByText('Installing').waitFor()
    await page.getByRole('button', { name: 'Back to now' }).click()
    await page.getByRole('status').getByText('Installed').waitFor()
    await page.goto(`${server().url}/deployment/edge-1/hello?at=${new Date(Date.now() - 14 * minute).toISOString()}`)
    await page.getByText('No history for this time').waitFor()
    await page.getByRole('main').getByRole('button', { name: 'Back to now' }).click()
    await page.getByRole('status').getByText('Installed').waitFor()
    // The browser logs the response 410 to its console.
    expect(complaints.filter((text) => !text.includes('410'))).toEqual([])
  })

  it.each(casesOf(1, ['15m', '7d']))(
    'has now at the end of its slider, and the past an arrow key away, of %s',
    async (window) => {
      const { page } = await visit(`#/rollouts?window=${window}`)
      const slider = page.getByRole('slider')
      await page.getByText(/^History begins/).waitFor()
      // As the thumb is drawn: the browser moves a value to the nearest stop.
      const missing = inElement(slider, (input: HTMLInputElement) => (+input.max - +input.value) / +input.step)
      await expectShown(missing).toBeLessThan(1)
      await slider.focus()
      await page.keyboard.press('ArrowLeft')
      await page.getByText('Showing the state at').waitFor()
      await page.keyboard.press('End')
      await page.getByText('Showing the state at').waitFor({ state: 'detached' })
      await expectShown(urlOf(page)).toBe(`${server().url}/rollouts?window=${window}`)
    },
  )

  it('keeps filters in the address, and counts the matches', async () => {
    const { page } = await visit('#/deployments?state=FAILED')
    await page.getByRole('row', { name: /other/ }).waitFor()
    await expectNone(page.getByRole('row', { name: /hello/ }), page.getByRole('row', { name: /other/ }))
    await page.getByRole('main').getByRole('searchbox').fill('nothing like that')
    await page.getByText('No deployments match these filters.').waitFor()
    await expectShown(urlOf(page)).toContain('text=nothing+like+that')
    await page.getByRole('main').getByRole('searchbox').fill('disk')
    await page.getByRole('row', { name: /other/ }).waitFor()
    await page.getByRole('button', { name: 'Failed', exact: true }).click()
    await expectShown(urlOf(page)).not.toContain('state=')
  })

  it('keeps its scroll position with 5,000 deployments while many change', async () => {
    const many = Array.from({ length: 5_000 }, (_, index) => ({
      deviceId: `m-${index}`,
      deploymentId: `many-${index}`,
    }))
    await server().query(
      `mutation ($deployments: [DeploymentDeclaration!]!) {
        declareDeployments(input: { rollout: { name: "many" }, deployments: $deployments }) { __typename }
      }`,
      { deployments: many },
    )
    const { page, complaints } = await visit('#/deployments?text=many&order=NAME')
    await page.getByText('5,000 deployments', { exact: true }).waitFor()
    await expectShown(countOf(page.locator('.rows > .row'))).toBeLessThan(80)
    const last = page.getByRole('row', { name: /many-1045\b/ })
    await doInPage(page, () => scrollTo(0, document.documentElement.scrollHeight))
    await last.waitFor()
    await expectShown(countOf(page.locator('.rows > .row'))).toBeLessThan(80)
    // The connection state stays visible.
    await expectStill(boxOf(page.getByText('Live', { exact: true }))).toMatchObject({
      y: expect.toSatisfy((y) => y > 0),
    })
    await expectShown(attributeOf(page.getByRole('table'), 'aria-rowcount')).toBe('5001')
    await watchShifts(page)
    const place = await readStill(boxOf(last))
    await Promise.all(
      many
        .slice(1_000, 1_100)
        .map(({ deviceId, deploymentId }) => send(server().url, deviceId, deploymentId, 'installing')),
    )
    await last.getByText('Installing', { exact: true }).waitFor()
    await expectStill(boxOf(last)).toEqual(place)
    await expectStill(shiftsOf(page)).toEqual([])
    expect(complaints).toEqual([])
  })

  it.runIf(isWhole)('shifts no layout while the numbers of the overview change', async () => {
    const { page, complaints } = await visit('#/')
    await page.getByRole('heading', { name: /^Rollouts All \d* ?rollouts?$/ }).waitFor()
    await page.getByRole('img', { name: /^Deployments by state over time/ }).waitFor()
    await watchShifts(page)
    const installed = page.getByRole('link', { name: /^Installed/ })
    const before = await readStill(textOf(installed))
    await send(server().url, 'edge-3', 'another', 'installed')
    await expectShown(textOf(installed)).not.toBe(before)
    await expectStill(shiftsOf(page)).toEqual([])
    expect(complaints).toEqual([])
  })

  it('can be used by keyboard alone', async () => {
    const { page } = await visit('#/')
    await page.getByRole('heading', { name: /^Rollouts All \d* ?rollouts?$/ }).waitFor()
    const wanted = await readStill(
      inPage(page, () => document.querySelectorAll('a, button, input, select, [tabindex="0"]').length),
    )
    const reached = await tabThrough(page)
    expect(reached).toBe(wanted)
    await page.keyboard.press('/')
    await page.getByRole('combobox', { name: 'Search the fleet' }).waitFor()
    await page.keyboard.type('hello')
    await page.keyboard.press('Enter')
    await page.getByRole('row', { name: /hello/ }).waitFor()
    await expectShown(inPage(page, () => document.activeElement?.id)).toBe('main')
    await page.getByRole('row', { name: /hello/ }).getByRole('link').first().focus()
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'hello' }).waitFor()
  })

  it.runIf(isWhole)('moves between rows with the arrows', async () => {
    const { page } = await visit('#/deployments?text=many&order=NAME')
    await page.getByRole('row', { name: /many-1\b/ }).waitFor()
    await page
      .getByRole('row', { name: /many-0\b/ })
      .getByRole('link')
      .first()
      .focus()
    await page.keyboard.press('ArrowDown')
    await expectShown(inPage(page, () => document.activeElement?.textContent)).toBe('many-1')
    await page.keyboard.press('ArrowUp')
    await expectShown(inPage(page, () => document.activeElement?.textContent)).toBe('many-0')
  })

  it.runIf(isWhole)('follows the colours of the system until others are chosen, and remembers the choice', async () => {
    const { page } = await visit('#/')
    const ground = inPage(page, () => getComputedStyle(document.body).backgroundColor)
    const light = await readStill(ground)
    await page.emulateMedia({ colorScheme: 'dark' })
    await expectShown(ground).not.toBe(light)
    await page.getByRole('button', { name: /^Colours: system/ }).click()
    await expectShown(ground).toBe(light)
    await page.reload()
    await page.getByRole('button', { name: /^Colours: light/ }).waitFor()
    await expectShown(ground).toBe(light)
  })
})

describe.runIf(findChromium())('the dashboard of a server that is killed', () => {
  it('shows that it is disconnected, and misses nothing after the restart', async () => {
    const DATA_DIR = temporaryFolder()
    const first = startProgram({ DATA_DIR })
    onTestFinished(() => first.dispose())
    const url = await first.listening
    const browser = await sharedBrowser()
    await send(url, 'edge-1', 'd-0', 'installing')

    const feed = await openPage(browser, `${url}/#/feed`)
    onTestFinished(feed.close)
    // High enough for all of its rows.
    const viewport = { width: 1280, height: 2_000 }
    const list = await openPage(browser, `${url}/#/deployments?order=NAME`, { viewport })
    onTestFinished(list.close)
    await feed.page.getByText('0 changes since this list opened').waitFor()
    await list.page.getByText('1 deployment', { exact: true }).waitFor()
    for (const state of ['installed', 'installing']) await send(url, 'edge-1', 'd-0', state)
    await feed.page.getByText('2 changes since this list opened').waitFor()

    await first.dispose()
    for (const { page } of [feed, list]) await page.getByText('Last update at').waitFor()
    await expectShown(countOf(list.page.getByRole('row', { name: /d-0/ }))).toBe(1)

    const second = startProgram({ DATA_DIR, PORT: new URL(url).port })
    onTestFinished(() => second.dispose())
    await second.listening
    for (let index = 0; index < 30; index += 1)
      await send(url, 'edge-1', `d-${index}`, 'failed', { code: '1', message: 'no' })
    for (const { page } of [feed, list]) await page.getByText('Live', { exact: true }).waitFor()
    await feed.page.getByText('32 changes since this list opened').waitFor()
    const told = inElements(feed.page.locator('time'), (times) => times.map(({ title }: HTMLElement) => title))
    const revisions = (await readStill(told)).map((title) => BigInt(/revision (\d+)/.exec(title)?.[1] ?? 0))
    expect(revisions.slice(1).every((revision, index) => revision === (revisions[index] ?? 0n) - 1n)).toBe(true)
    await list.page.getByText('30 deployments', { exact: true }).waitFor()
    await list.page.getByRole('row', { name: /d-0/ }).getByText('Failed', { exact: true }).waitFor()
    // The browser logs refused connections. Nothing else may be logged.
    for (const { complaints } of [feed, list])
      expect(complaints.filter((text) => !/ERR_|WebSocket connection/.test(text))).toEqual([])
  })
})
