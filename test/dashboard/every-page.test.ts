/** Every page while reports pour in: nothing moves, nothing is cut, and each number was the API's at one revision. */
import type { Page } from 'playwright-core'
import { beforeAll, describe, expect, it } from 'vitest'
import { findChromium } from '../support/browser.ts'
import { declare, documentOf } from '../support/desired.ts'
import { send, shifts, useDashboard, watchShifts } from './harness.ts'

const fleet = Array.from({ length: 12 }, (_, index) => ({ deviceId: `oven-${index}`, deploymentId: `vision-${index}` }))
const states = ['installing', 'failed', 'installed', 'pending'] as const

// Skipped only where there is no browser; ROLLCALL_REQUIRE_CHROMIUM=1 turns its absence into a failure.
describe.runIf(findChromium())('every page of the dashboard', () => {
  const { server, visit } = useDashboard()
  let rollout = ''
  let turn = 0

  beforeAll(async () => {
    const { declareDeployments } = await server().query(
      `mutation ($devices: [DeviceInput!]!, $deployments: [DeploymentDeclaration!]!) {
        registerDevices(input: { devices: $devices }) { __typename }
        saveAlertRule(input: { name: "never", metric: FAILED, threshold: 1000 }) { __typename }
        declareDeployments(input: { rollout: { name: "vision" }, deployments: $deployments }) {
          ... on DeclareDeploymentsSuccess { rollout { id } }
        }
      }`,
      {
        devices: fleet.map(({ deviceId }) => ({ deviceId, labels: [{ key: 'site', value: 'munich' }] })),
        deployments: fleet,
      },
    )
    rollout = declareDeployments.rollout.id
    await pour(8)
    await declare(
      server(),
      [{ deviceId: 'oven-0', deploymentId: 'meant', document: documentOf('meant', '1') }],
      'the first version',
    )
  })

  /** Every deployment changes in each round. */
  async function pour(rounds: number): Promise<void> {
    for (let round = 0; round < rounds; round += 1) {
      turn += 1
      await Promise.all(
        fleet.map(({ deviceId, deploymentId }, index) =>
          send(server().url, deviceId, deploymentId, states[(index + turn) % states.length] ?? '', {
            code: `E${index % 2}`,
            message: 'the disk is full',
          }),
        ),
      )
    }
  }

  const pages: readonly (readonly [string, string])[] = [
    ['', '.causes li'],
    ['rollouts', '.rollouts li'],
    ['rollout/ROLLOUT', '.table .row'],
    ['deployments', '.table .row'],
    ['deployment/oven-0/vision-0', '.swimlanes svg'],
    ['deployment/oven-0/meant', '.beside'],
    ['devices', '.table .row'],
    ['device/oven-0', '.changes li'],
    ['resources', 'main .empty'],
    ['setup', '.setup-form'],
    ['setup/alert-rules', '.setup-list li'],
    ['setup/notifications', '.empty'],
    ['setup/api-keys', '.empty'],
  ]

  it.each([1440, 375])('moves nothing while reports pour in, %i pixels wide', async (width) => {
    const { page, complaints } = await visit('')
    await page.setViewportSize({ width, height: 900 })
    for (const [address, drawn] of pages) {
      await page.goto(`${server().url}/${address.replace('ROLLOUT', rollout)}`)
      await page.locator(drawn).first().waitFor()
      await page.waitForLoadState('networkidle')
      await watchShifts(page)
      await pour(2)
      await page.waitForLoadState('networkidle')
      expect({ address, shifts: await shifts(page) }).toEqual({ address, shifts: [] })
      const wide = await page.evaluate(() => document.documentElement.scrollWidth)
      expect({ address, wide }).toEqual({ address, wide: width })
    }
    expect(complaints).toEqual([])
  })

  it('says what people changed last, and who did', async () => {
    const { page } = await visit('')
    const declaration = page.getByRole('region', { name: 'What changed last' }).getByRole('listitem')
    await declaration.filter({ hasText: /^Declaration.*by everyone “?the first version/ }).waitFor()
    await declaration.first().getByRole('link').click()
    await page.getByRole('heading', { name: /^meant/ }).waitFor()
  })

  it.each([1440, 768, 375])('hides no value of a list, %i pixels wide', async (width) => {
    const { page } = await visit('devices')
    await page.setViewportSize({ width, height: 900 })
    const cut = () =>
      page.evaluate(() =>
        [...document.querySelectorAll<HTMLElement>('.row .label, .row .where, .row .when, .row .mark, .row .share')]
          .filter((element) => element.offsetParent === null || element.scrollWidth > element.clientWidth + 1)
          .map((element) => element.outerHTML),
      )
    await page
      .getByRole('row', { name: /oven-3\b/ })
      .getByText('site: munich')
      .waitFor()
    expect(await cut()).toEqual([])
    for (const list of ['deployments?text=vision', 'rollouts']) {
      await page.goto(`${server().url}/${list}`)
      await page
        .getByText(/^vision/)
        .first()
        .waitFor()
      expect({ list, cut: await cut() }).toEqual({ list, cut: [] })
    }
    // What the list says on a wide screen, it says on a phone.
    await page.goto(`${server().url}/deployments?text=meant`)
    const row = page.getByRole('row', { name: /meant/ })
    await row.waitFor()
    for (const part of ['.version', '.when', '.where', '.state']) expect(await row.locator(part).isVisible()).toBe(true)
  })

  it.each([
    ['', '.hero .bar', {}],
    ['rollouts', '.rollout-line .bar', { rollout: true }],
    ['rollout/ROLLOUT', '.hero .bar', { rollout: true }],
    ['device/oven-0', '.hero .bar', { device: 'oven-0' }],
    ['devices?text=oven-0', '.table .row .bar', { device: 'oven-0' }],
  ])('shows at /%s only numbers that the API gave at one revision', async (address, bar, scope) => {
    const filter = {
      ...('rollout' in scope ? { rolloutIds: [rollout] } : {}),
      ...('device' in scope ? { deviceIds: [scope.device] } : {}),
    }
    const { page } = await visit(address.replace('ROLLOUT', rollout))
    await page.locator(bar).first().waitFor()
    const first = Number((await server().query('{ revision }')).revision)
    await page.evaluate((selector) => {
      const shown = new Set<string>()
      const look = (): void => {
        const label = document.querySelector(selector)?.getAttribute('aria-label') ?? ''
        // A Set keeps the order of additions: the last is what is shown now.
        shown.delete(label)
        shown.add(label)
        requestAnimationFrame(look)
      }
      requestAnimationFrame(look)
      Object.assign(globalThis, { shown })
    }, bar)
    await pour(4)
    const last = Number((await server().query('{ revision }')).revision)
    const possible = new Set<string>()
    for (let revision = first; revision <= last; revision += 40) {
      const until = Math.min(revision + 39, last)
      const parts = Array.from({ length: until - revision + 1 }, (_, index) => revision + index)
      const counts = await server().query(
        `query ($filter: DeploymentFilter) { ${parts
          .map((each) => `r${each}: deploymentCounts(atRevision: "${each}", filter: $filter) { ${fields} }`)
          .join('\n')} }`,
        { filter },
      )
      for (const each of Object.values<Record<string, number>>(counts)) possible.add(describeCounts(each))
    }
    const { now } = await server().query(
      `query ($filter: DeploymentFilter) { now: deploymentCounts(filter: $filter) { ${fields} } }`,
      { filter },
    )
    await expect.poll(async () => numbersOf(await shown(page)).at(-1)).toBe(describeCounts(now))
    expect(numbersOf(await shown(page)).filter((numbers) => !possible.has(numbers))).toEqual([])
  })
})

const fields = 'installed installing failed pending'

/** As the bar names them: a state without deployments is left out. */
const describeCounts = (counts: Record<string, number>): string =>
  fields
    .split(' ')
    .filter((name) => (counts[name] ?? 0) > 0)
    .map((name) => `${counts[name]} ${name}`)
    .join(', ') || 'none'

const shown = (page: Page): Promise<readonly string[]> =>
  page.evaluate(() => [...(globalThis as unknown as { readonly shown: ReadonlySet<string> }).shown])

/** The label of a bar without its subject. */
const numbersOf = (labels: readonly string[]): readonly string[] =>
  labels.filter((label) => label !== '').map((label) => label.slice(label.lastIndexOf(': ') + 2))
