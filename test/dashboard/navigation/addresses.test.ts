/** Addresses of pages, and the times in them. */
import { describe, expect, it } from 'vitest'
import { findChromium } from '../../support/clients/browser.ts'
import {
  doInPage,
  expectGone,
  expectNone,
  expectShown,
  inPage,
  readStill,
  textsOf,
  urlOf,
} from '../../support/clients/shown.ts'
import { casesOf, isWhole } from '../../support/runner/depth.ts'
import { minute, useDashboard } from '../harness.ts'

describe.runIf(findChromium())('an address of the dashboard', () => {
  const { server, visit } = useDashboard()

  it('is a path, which links, reloads and the back button keep', async () => {
    const reported = { deploymentId: 'with/slash', status: { state: 'installed' }, components: [] }
    expect((await server().post('/device/a%2Fb/deployment/with%2Fslash/status', reported)).ok).toBe(true)
    const { page, complaints } = await visit('deployments?state=INSTALLED')
    await doInPage(page, () => Object.assign(globalThis, { isSamePage: true }))
    await page
      .getByRole('row', { name: /with\/slash/ })
      .getByRole('link')
      .first()
      .click()
    await page.getByRole('heading', { name: 'with/slash' }).waitFor()
    await expectShown(urlOf(page)).toBe(`${server().url}/deployment/a%2Fb/with%2Fslash`)
    await expectShown(inPage(page, () => 'isSamePage' in globalThis)).toBe(true)
    await page.reload()
    await page.getByRole('heading', { name: 'with/slash' }).waitFor()
    await page.goBack()
    await page.getByRole('row', { name: /with\/slash/ }).waitFor()
    await expectShown(urlOf(page)).toBe(`${server().url}/deployments?state=INSTALLED`)
    expect(complaints).toEqual([])
  })

  it('after # is the same page', async () => {
    const { page } = await visit('#/deployments?state=FAILED')
    await page.getByRole('row', { name: /other/ }).waitFor()
    await expectShown(urlOf(page)).toBe(`${server().url}/deployments?state=FAILED`)
  })

  it('with a node ID leads to the page of the object, at the same time', async () => {
    const { deployment, device, rollouts } = await server().query(
      '{ deployment(deploymentId: "hello") { id } device(deviceId: "edge-1") { id } rollouts(first: 1) { nodes { id } } }',
    )
    const [{ id }] = rollouts.nodes
    const at = `?at=${encodeURIComponent(new Date(Date.now() - minute).toISOString())}`
    for (const [node, address] of [
      [deployment.id, 'deployment/edge-1/hello'],
      [device.id, `device/edge-1${at}`],
      [id, `rollout/${id}`],
    ]) {
      const { page } = await visit(`node/${node}${address.includes('?') ? at : ''}`)
      await expectShown(urlOf(page)).toBe(`${server().url}/${address}`)
    }
    const { page } = await visit('node/nothing')
    await page.getByRole('heading', { name: 'No page shows this object' }).waitFor()
  })

  it('hides no route: only a browser that reads gets the page', async () => {
    const get = (path: string, accept: string, method = 'GET') =>
      fetch(`${server().url}${path}`, { method, headers: { accept } })
    const page = await get('/deployment/edge-1/hello', 'text/html,*/*')
    expect([page.status, page.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8'])
    expect(await page.text()).toContain('src="../../assets/main-')
    for (const [path, accept, method, status] of [
      ['/deployments', 'application/json', 'GET', 404],
      ['/deployments', 'text/html', 'POST', 404],
      ['/nowhere', '*/*', 'GET', 404],
      ['/device/edge-1/deployment/hello/status', 'text/html', 'GET', 405],
      ['/metrics', 'text/html', 'GET', 200],
    ] as const) {
      const response = await get(path, accept, method)
      expect({ path, method, status: response.status }).toEqual({ path, method, status })
      expect(response.headers.get('content-type')).not.toContain('text/html')
    }
  })

  it.runIf(isWhole)('that does not exist leads back to the overview', async () => {
    const answer = await fetch(`${server().url}/nowhere`, { headers: { accept: 'text/html' } })
    expect([answer.status, answer.headers.get('content-type')]).toEqual([404, 'text/html; charset=utf-8'])
    const { page } = await visit('nowhere')
    await page.getByRole('heading', { name: 'Page not found' }).waitFor()
    await page.getByRole('link', { name: 'Go to the overview' }).click()
    await page.getByRole('heading', { name: /^Rollouts All \d* ?rollouts?$/ }).waitFor()
  })

  it.runIf(isWhole)('of a deployment or device that is not known names it', async () => {
    const { page } = await visit('deployment/a/b')
    await page.getByRole('heading', { name: 'Deployment “b”' }).waitFor()
    await page.getByText('“a” has no deployment with this ID.').waitFor()
    await page.goto(`${server().url}/device/a`)
    await page.getByRole('heading', { name: 'Device “a”' }).waitFor()
  })

  it.each(casesOf(1, ['garbage', '1', '2999-01-01T00:00:00Z']))('with the time %s shows the present', async (at) => {
    const { page, complaints } = await visit(`?at=${at}`)
    await page.getByRole('heading', { name: /^Rollouts All \d* ?rollouts?$/ }).waitFor()
    await expectNone(page.getByText('Showing the state at'), page.getByText('Live', { exact: true }))
    expect(complaints).toEqual([])
  })

  it.runIf(isWhole)('of a page without a past says so, and keeps the time for the others', async () => {
    const at = new Date(Date.now() - 5 * minute).toISOString()
    const { page } = await visit(`feed?at=${at}`)
    await page.getByText('This page has no past. It shows the present.').waitFor()
    await page.getByText('Live', { exact: true }).waitFor()
    await page.getByRole('link', { name: 'Devices' }).click()
    await page.getByText('Showing the state at').waitFor()
  })

  it('of a past time says that its state is loading, and draws no history until its beginning is known', async () => {
    const at = new Date(Date.now() - 5 * minute).toISOString()
    const { page, complaints } = await visit('feed')
    const held = Promise.withResolvers<void>()
    await page.route('**/graphql', (route) => held.promise.then(() => route.continue()))
    for (const address of ['', 'deployments', 'device/edge-1']) {
      await page.goto(`${server().url}/${address}?at=${at}`)
      await page
        .getByRole('main')
        .getByText(/^Loading the state at \d\d:\d\d:\d\d…$/)
        .waitFor()
      const notice = page.getByRole('region', { name: 'Notices' }).getByText('Loading the state at')
      await expectNone(page.getByRole('slider'), notice)
    }
    held.resolve()
    await page.getByText('Showing the state at').waitFor()
    await page.getByRole('slider').waitFor()
    await expectGone(page.getByText('Loading the state at'))
    expect(complaints).toEqual([])
  })

  it.runIf(isWhole)('has the year of a time in another year', async () => {
    const { page } = await visit('devices?at=2019-05-04T03:02:01Z')
    await page.getByText('4 May 2019, 03:02').first().waitFor()
  })

  it('shows what to do when a page fails, and the other pages still work', async () => {
    const { page } = await visit('devices')
    await page.getByRole('row', { name: /edge-1/ }).waitFor()
    await page.route('**/graphql', (route) => route.fulfill({ json: { data: { revision: '1' } } }))
    await page.getByRole('link', { name: 'Overview' }).click()
    await page.getByRole('alert').getByRole('heading', { name: "This page can't be shown" }).waitFor()
    await page.unroute('**/graphql')
    await page.getByRole('button', { name: 'Try again' }).click()
    await page.getByRole('heading', { name: /^Rollouts All \d* ?rollouts?$/ }).waitFor()
  })

  it.each(casesOf(1, ['', 'devices', 'deployments', 'device/edge-1']))(
    'says that the database is away, and shows /%s as soon as it is back',
    async (address) => {
      const { page } = await visit('setup')
      const error = { message: 'the database is away: retry later', extensions: { code: 'UNAVAILABLE' } }
      await page.route('**/graphql', (route) => route.fulfill({ status: 503, json: { errors: [error] } }))
      await page.goto(`${server().url}/${address}`)
      await page.getByRole('main').getByText('the database is away. Retrying automatically.').first().waitFor()
      await page.unroute('**/graphql')
      await page
        .getByText(/hello|deployments? installed|edge-1/)
        .first()
        .waitFor()
      await page.getByRole('main').getByRole('alert').waitFor({ state: 'detached' })
    },
  )

  it.runIf(isWhole)('of 7 days shows the history that there is, with a legend, a zone and round times', async () => {
    const { page, complaints } = await visit('?window=7d')
    const chart = page.locator('.trend')
    await chart.getByRole('heading', { name: /^Last 7 days \(history begins \d\d:\d\d\)$/ }).waitFor()
    await expectShown(textsOf(chart.locator('.chart-legend li'))).toEqual(
      expect.arrayContaining([' Installed', ' Failed']),
    )
    const ticks = await readStill(textsOf(chart.locator('.at-tick')))
    expect(ticks.length).toBeGreaterThan(2)
    // Five or two minutes apart, because the history is ten minutes long.
    expect(ticks.filter((text) => !/^\d\d:\d[02468]$/.test(text) && !/^\d\d:\d[05]$/.test(text))).toEqual([])
    expect(complaints).toEqual([])
  })
})
