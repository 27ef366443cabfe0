/** The page of a rollout: what its problems have in common, the way to the deployments, and when it is done. */
import type { Browser, Request, Route } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { findChromium, openPage, sharedBrowser } from '../../support/clients/browser.ts'
import {
  attributeOf,
  countOf,
  expectNone,
  expectShown,
  expectStill,
  inElement,
  inElements,
  readStill,
  textOf,
  textsOf,
} from '../../support/clients/shown.ts'
import { isWhole } from '../../support/runner/depth.ts'
import { type RunningApp, startApp } from '../../support/servers/app.ts'
import { holdAnswers, minute, shiftsOf, slideTo, watchShifts, widthOf } from '../harness.ts'
import { axe, findingsOf } from '../layout/judge.ts'

const gateways = ['gw-0', 'gw-1', 'gw-2', 'gw-3']
const devices = Array.from({ length: 80 }, (_, index) => {
  const parent = gateways[Math.floor(index / 20)]
  return {
    deviceId: `${parent}/press-${index}`,
    parent,
    labels: [{ key: 'line', value: index < 40 ? 'north' : 'south' }],
  }
})

describe.runIf(findChromium())('the insight into a rollout', () => {
  let browser: Browser
  let server: RunningApp
  let offset = -15 * minute
  let halfway = ''
  const ids: Record<string, string> = {}

  /** The devices from one to another. */
  const report = async (from: number, to: number, state: string, error?: object, rollout = 'pump') => {
    const reports = devices.slice(from, to).map(({ deviceId }) => ({
      deviceId,
      deploymentId: `${rollout}-${deviceId.replace('/', '-')}`,
      status: { state, ...(error ? { error } : {}) },
      components: [],
    }))
    expect((await server.post('/reports', { reports })).ok).toBe(true)
    offset += minute / 4
  }
  const declare = async (rollout: string, application: string, some: readonly { readonly deviceId: string }[]) => {
    const { declareDeployments } = await server.query(
      `mutation ($rollout: String!, $deployments: [DeploymentDeclaration!]!) {
        declareDeployments(input: { rollout: { name: $rollout }, deployments: $deployments }) {
          ... on DeclareDeploymentsSuccess { rollout { id } }
        }
      }`,
      {
        rollout,
        deployments: some.map(({ deviceId }) => ({
          deviceId,
          deploymentId: `${rollout}-${deviceId.replace('/', '-')}`,
          application,
          applicationVersion: '2.0',
        })),
      },
    )
    ids[rollout] = declareDeployments.rollout.id
  }

  beforeAll(async () => {
    browser = await sharedBrowser()
    const clock = (): number => Date.now() + offset
    server = await startApp({ clock, begins: clock, env: { STALLED_FACTOR: 'off' } })
    await server.query(
      `mutation ($devices: [DeviceInput!]!) { registerDevices(input: { devices: $devices }) { __typename } }`,
      { devices: [...gateways.map((deviceId) => ({ deviceId })), ...devices] },
    )
    await declare('pump', 'pump', devices)
    await declare('valve', 'valve', devices.slice(0, 3))
    await declare('lamp', 'lamp', devices.slice(0, 1))
    for (const state of ['installing', 'installed']) await report(0, 1, state, undefined, 'lamp')
    for (const fan of ['fan-1', 'fan-2']) {
      await declare(fan, 'fan', devices.slice(0, 20))
      await report(0, 20, 'installing', undefined, fan)
      await report(0, fan === 'fan-1' ? 20 : 8, 'installed', undefined, fan)
      if (fan === 'fan-2') await report(8, 20, 'failed', { code: '9', message: 'no disk' }, fan)
    }
    for (let from = 0; from < 60; from += 5) {
      if (from === 40) halfway = new Date(Date.now() + offset).toISOString()
      await report(from, from + 5, 'installing')
      const error = { code: '507', message: 'disk full' }
      if (from >= 40) await report(from, from + 5, 'failed', error)
      else await report(from, from + (from === 20 ? 4 : 5), 'installed')
    }
    await report(60, 70, 'installing')
    offset = 0
  })
  afterAll(() => server?.stop())

  async function visit(rollout: string, width = 1440, query = '', colorScheme: 'light' | 'dark' = 'light') {
    const viewport = { width, height: 900 }
    const address = `${server.url}/rollout/${ids[rollout]}${query}`
    const { page, complaints, close } = await openPage(browser, address, {
      viewport,
      colorScheme,
      reducedMotion: 'reduce',
      bypassCSP: true,
    })
    onTestFinished(async () => {
      expect(complaints).toEqual([])
      await close()
    })
    return page
  }

  it('names planted causes in words, with their numbers, and opens their deployments', async () => {
    const page = await visit('pump')
    const causes = page.getByRole('region', { name: 'Likely causes' })
    const cause = causes.getByRole('listitem').filter({ hasText: 'failed' })
    await cause.getByRole('link', { name: 'Gateway gw-2' }).waitFor()
    await expectShown(textOf(causes.getByRole('heading', { level: 2 }))).toBe('Likely causes 80 deployments compared')
    await expectShown(textOf(cause)).toContain('20 deployments')
    await expectShown(textOf(cause)).toContain('100 % of the failed ones')
    await expectShown(textOf(cause)).toContain('only there')
    await expectShown(textOf(cause)).toContain(
      '20 of 20 failed deployments: gateway gw-2. Of the 20 deployments with it 100 % are failed, of the others 0 %.',
    )
    await cause.getByRole('link').click()
    await page.getByText('20 deployments', { exact: true }).last().waitFor()
    await page.getByRole('button', { name: 'Gateway gw-2 ✕' }).waitFor()

    await causes.getByRole('link', { name: 'Gateway gw-3' }).click()
    await page.getByRole('button', { name: 'Waiting ✕' }).waitFor()
    await page.getByText('10 deployments', { exact: true }).last().waitFor()
    await page.getByRole('button', { name: 'Gateway gw-3 ✕' }).waitFor()
  })

  it('says when it is done and how fast it goes, or why it cannot, now and in the past', async () => {
    const { rollout } = await server.query(`query ($id: ID!) { rollout(id: $id) { eta { at low high } } }`, {
      id: ids.pump,
    })
    const page = await visit('pump')
    const forecast = page.getByRole('region', { name: 'Forecast' })
    await forecast.getByText('from its own steps').waitFor()
    await expectShown(textsOf(forecast.locator('dt'))).toEqual(['All done', 'Likely between', '95 % done', 'Pace'])
    await expectShown(attributeOf(forecast.locator('time').first(), 'datetime')).toBe(rollout.eta.at)
    const words = (time: string) => time.slice(11, 16)
    await expectShown(textOf(forecast.locator('b').nth(1))).toBe(
      `${words(rollout.eta.low)} – ${words(rollout.eta.high)}`,
    )
    await expectShown(textOf(forecast.locator('dd').last())).toMatch(/^\d+ more installed or failed than 10 min ago$/)

    const early = await visit('valve')
    await early.getByText('No deployment has started, and there are too few earlier rollouts').waitFor()
    const done = await visit('lamp')
    await done.getByRole('region', { name: 'Outcome' }).getByText('Took').waitFor()

    const past = await visit('pump', 1440, `?at=${halfway}`)
    await past.getByText('Showing the state at').waitFor()
    const forecastThen = past.getByRole('region', { name: 'Forecast' }).getByText('95 % done')
    await expectNone(past.getByRole('link', { name: 'Gateway gw-2' }), forecastThen)
  })

  it.runIf(isWhole)('shows no forecast and no causes of another time', async () => {
    const page = await visit('pump')
    await page.getByRole('link', { name: 'Gateway gw-2' }).waitFor()
    await holdAnswers(page, /query Insight\b/)
    await slideTo(page, Date.parse(halfway))
    await page.getByText('Showing the state at').waitFor()
    await page.getByRole('link', { name: 'Gateway gw-2' }).waitFor({ state: 'detached' })
    await expectShown(textsOf(page.getByRole('region', { name: 'Forecast' }).locator('dd'))).toEqual(['… '])
  })

  it.runIf(isWhole)('says in words that it is worse than the last one, and draws both from their starts', async () => {
    const page = await visit('fan-2')
    const comparison = page.getByRole('region', { name: 'Comparison' })
    await comparison.getByText('Worse than the last one').waitFor()
    await expectShown(textOf(comparison.getByRole('status'))).toMatch(
      /fan-2 is worse than fan-1 [\da-z ]+ after the start: 12 of 20 deployments failed, there 0 of 20\.$/,
    )
    const failed = comparison.getByRole('img', { name: /^Failed, as a part/ })
    await expectShown(attributeOf(failed, 'aria-label')).toContain('At the end fan-2 60 %, fan-1 0 %.')
    await expectShown(countOf(failed.locator('polyline'))).toBe(2)
    await comparison.getByRole('checkbox', { name: 'fan-1' }).uncheck()
    await comparison.getByText('No rollout is chosen.').waitFor()
    await comparison.getByRole('checkbox', { name: 'fan-1' }).check()
    await comparison.getByRole('img', { name: /^Installed/ }).waitFor()
    await page.addScriptTag({ content: axe })
    await expectShown(findingsOf(page)).toEqual([])
    await page.route('**/graphql', async (route) => {
      if (!/query Insight\b/.test(route.request().postData() ?? '')) return route.fallback()
      const response = await route.fetch()
      const json = await response.json()
      json.data.rollout.earlier.push({ ...json.data.rollout.earlier[0], id: ids.lamp, name: 'lamp' })
      await route.fulfill({ response, json })
    })
    await page.reload()
    await failed.waitFor()
    const release = await holdAnswers(page, /query Compare\b/)
    await comparison.getByRole('checkbox', { name: 'lamp' }).check()
    await comparison.locator('.outdated').getByRole('img').first().waitFor()
    await release()
    await comparison.locator(':not(.outdated) > .chart polyline:nth-of-type(3)').first().waitFor()
    const first = await visit('fan-1')
    const outcome = first.getByRole('region', { name: 'Outcome' }).getByText('Took')
    await expectNone(first.getByRole('region', { name: 'Comparison' }), outcome)
  })

  it.runIf(isWhole).each([
    ['light', 1440],
    ['dark', 375],
  ] as const)('is clean to axe in %s colours, complete and still, %i pixels wide', async (colorScheme, width) => {
    const page = await visit('pump', width, '', colorScheme)
    await page.getByRole('link', { name: 'Gateway gw-3' }).waitFor()
    await page.waitForLoadState('networkidle')
    await page.addScriptTag({ content: axe })
    await expectShown(findingsOf(page)).toEqual([])
    const cut = inElements(page.locator('.forecast *, .diagnosis *'), (all) =>
      all
        .filter((one) => one.scrollWidth > one.clientWidth + 1 && one.clientWidth > 0)
        .map(({ outerHTML }) => outerHTML),
    )
    await expectStill(cut).toEqual([])
    await expectStill(widthOf(page)).toBe(width)
    await watchShifts(page)
    const height = inElement(page.locator('.forecast'), ({ clientHeight }) => clientHeight)
    const before = await readStill(height)
    const answered = page.waitForResponse(
      (response) => response.request().postData()?.includes('query Insight') ?? false,
    )
    await report(0, 1, 'installed', { code: '1', message: `a note for ${width}` })
    await answered
    await expectStill(height).toBe(before)
    await expectStill(shiftsOf(page)).toEqual([])
  })

  it('takes one request more', async () => {
    const { page, close } = await openPage(browser, 'about:blank')
    onTestFinished(close)
    const asked: string[] = []
    page.on('request', (request) => asked.push(`${request.url()} ${request.postData() ?? ''}`))
    await page.goto(`${server.url}/rollout/${ids.pump}`)
    await page.getByRole('link', { name: 'Gateway gw-3' }).waitFor()
    await page.waitForLoadState('networkidle')
    expect(asked.filter((text) => text.includes('query Insight'))).toHaveLength(1)
    // On a slow machine, a request may be repeated meanwhile.
    expect(new Set(asked).size).toBeLessThanOrEqual(16)
  })

  it.runIf(isWhole)('is not asked for again before it is answered, and less often where that took long', async () => {
    const { page, close } = await openPage(browser, 'about:blank')
    onTestFinished(close)
    await page.clock.install()
    const asked: Route[] = []
    const isInsight = (request: Request) => request.postData()?.includes('query Insight') ?? false
    await page.route('**/graphql', (route) => (isInsight(route.request()) ? void asked.push(route) : route.continue()))
    await page.goto(`${server.url}/rollout/${ids.valve}`)
    await expect.poll(() => asked.length).toBe(1)

    let changes = 0
    /** The page shows a change, and a while passes. */
    const changeAndWait = async (seconds: number) => {
      changes += 1
      const shown = page.waitForResponse(
        (response) => response.request().postData()?.includes('query Rollout') ?? false,
      )
      await report(0, 1, 'installing', { code: '1', message: `change ${changes}` }, 'valve')
      await page.clock.fastForward(1_000)
      await shown
      await page.clock.fastForward(seconds * 1_000)
    }
    for (let times = 0; times < 3; times += 1) await changeAndWait(6)
    expect(asked).toHaveLength(1)
    await asked[0]?.continue()
    await page.getByRole('region', { name: 'Forecast' }).waitFor()
    for (let times = 0; times < 3; times += 1) await changeAndWait(20)
    expect(asked).toHaveLength(1)
    await expect
      .poll(async () => {
        await changeAndWait(60)
        return asked.length
      })
      .toBe(2)
  })

  it('has a forecast where the comparison takes too long', async () => {
    const { page, close } = await openPage(browser, 'about:blank')
    onTestFinished(close)
    const late = { data: null, errors: [{ message: 'this took longer than 15 s', extensions: { code: 'TIMED_OUT' } }] }
    await page.route('**/graphql', (route) =>
      /query Insight.*"isDiagnosed":true/s.test(route.request().postData() ?? '')
        ? route.fulfill({ json: late })
        : route.continue(),
    )
    await page.goto(`${server.url}/rollout/${ids.pump}`)
    await page.getByText('Not compared: that took too long.').waitFor()
    await page.getByRole('region', { name: 'Forecast' }).getByText('All done').waitFor()
  })
})
