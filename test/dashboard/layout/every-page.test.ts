/** Every page while reports pour in: nothing moves, nothing is cut, and each number was the API's at one revision. */
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { findChromium, type OpenPage } from '../../support/clients/browser.ts'
import { declare, documentOf } from '../../support/clients/desired.ts'
import { type Emco, newContext, newGroup, shownDeployment } from '../../support/systems/emco.ts'
import { type Answer, answersAt, cards } from '../cards.ts'
import { send, shifts, useDashboard, watchShifts } from '../harness.ts'

const fleet = Array.from({ length: 12 }, (_, index) => ({ deviceId: `oven-${index}`, deploymentId: `vision-${index}` }))
const states = ['installing', 'failed', 'installed', 'pending'] as const

// Skipped only where there is no browser; ROLLCALL_REQUIRE_CHROMIUM=1 turns its absence into a failure.
describe.runIf(findChromium())('every page of the dashboard', () => {
  const { server, open, visit } = useDashboard()
  let emco: Emco
  const context = newContext()
  /** Identifiers that addresses contain. */
  const ids: Record<string, string> = { CONTEXT: context }
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
    ids.ROLLOUT = declareDeployments.rollout.id
    emco = newGroup(server())
    await emco.act('Created', 'Approved', `Instantiated ${context}`)
    await emco.apply(
      context,
      ['p+bonn', 'p+kiel'].map((cluster) => ({ name: 'sink', cluster })),
    )
    await pour(8)
    const { resources } = await server().query('{ resources { nodes { id instance { rollout { id } } } } }')
    ids.RESOURCE = resources.nodes[0].id
    ids.GROUP = resources.nodes[0].instance.rollout.id
    await declare(
      server(),
      [{ deviceId: 'oven-0', deploymentId: 'meant', document: documentOf('meant', '1') }],
      'the first version',
    )
  })

  const addressOf = (address: string): string => address.replace(/[A-Z]+$/, (name) => ids[name] ?? name)

  /** Every deployment of a device changes in each round, and one of a cluster. Those that fail or wait have a reason, and the others have none. */
  async function pour(rounds: number): Promise<void> {
    for (let round = 0; round < rounds; round += 1) {
      turn += 1
      const sink = turn % 2 === 0 ? shownDeployment('sink') : brokenDeployment('sink')
      await emco.show(context, { deploymentStatuses: [sink] }, { cluster: 'p+bonn' })
      await Promise.all(
        fleet.map(({ deviceId, deploymentId }, index) => {
          const state = states[(index + turn) % states.length] ?? ''
          const hasReason = ['failed', 'pending'].includes(state)
          const error = hasReason ? { code: `E${index % 2}`, message: 'the disk is full' } : null
          const components = [{ name: 'web', state, ...(error && { error }) }]
          return send(server().url, deviceId, deploymentId, state, error, undefined, components)
        }),
      )
    }
  }

  const pages: readonly (readonly [string, string])[] = [
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

  /** A page of each width shows the same address, so that all see the same reports. */
  describe('moves nothing while reports pour in', () => {
    const widths = [1440, 768, 375]
    const found = new Map<
      number,
      { readonly address: string; readonly shifts: readonly string[]; readonly wide: number }[]
    >(widths.map((width) => [width, []]))
    const opened: { readonly width: number; readonly on: OpenPage }[] = []
    beforeAll(async () => {
      for (const width of widths) {
        const on = await open('')
        opened.push({ width, on })
        await on.page.setViewportSize({ width, height: 900 })
      }
      const onEach = (act: (page: Page, width: number) => Promise<unknown>): Promise<unknown> =>
        Promise.all(opened.map(({ width, on }) => act(on.page, width)))
      for (const [address, drawn] of pages) {
        await onEach(async (page) => {
          await page.goto(`${server().url}/${addressOf(address)}`)
          await page.locator(drawn).first().waitFor()
          await page.waitForLoadState('networkidle')
          await watchShifts(page)
        })
        // On the page of one object, each state follows each.
        await pour(/^(deployment|resource)\//.test(address) ? 4 : 2)
        await onEach(async (page, width) => {
          await page.waitForLoadState('networkidle')
          const wide = await page.evaluate(() => document.documentElement.scrollWidth)
          found.get(width)?.push({ address, shifts: await shifts(page), wide })
        })
      }
    })
    afterAll(() => Promise.all(opened.map(({ on }) => on.close())))

    it.each(widths)('%i pixels wide', (width) => {
      expect(found.get(width)).toEqual(pages.map(([address]) => ({ address, shifts: [], wide: width })))
      expect(opened.find((one) => one.width === width)?.on.complaints).toEqual([])
    })
  })

  it('says what people changed last, and why', async () => {
    const { page } = await visit('')
    const declaration = page.getByRole('region', { name: 'What changed last' }).getByRole('listitem')
    await declaration.filter({ hasText: /^Declaration.*meant\s*“?the first version/ }).waitFor()
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

  it('has each column of a list below its head', async () => {
    // A version of ten digits: its column is as wide as they are.
    const report = { deploymentId: 'meant', adoptedManifestVersion: 1_234_567_890, status: { state: 'pending' } }
    await server().post('/device/oven-0/deployment/meant/status', { ...report, components: [] })
    const { page } = await visit('devices')
    for (const list of ['deployments', 'devices', 'resources']) {
      await page.goto(`${server().url}/${list}`)
      await page.locator('.table .row').first().waitFor()
      const [head, row] = await page
        .locator('.table .head, .table .row')
        .evaluateAll((lines) =>
          lines.map((line) => [...line.children].map((cell) => Math.round(cell.getBoundingClientRect().x))),
        )
      expect({ list, head }).toEqual({ list, head: row })
    }
  })

  it.each([1440, 375])('moves nothing of a row when its age gets longer, %i pixels wide', async (width) => {
    const { page } = await visit('devices')
    await page.setViewportSize({ width, height: 900 })
    for (const list of ['devices', 'deployments', 'resources']) {
      await page.goto(`${server().url}/${list}`)
      await page.locator('.row .when time').first().waitFor()
      const moved = await page.evaluate(() =>
        [...document.querySelectorAll('.row:has(.when time)')].flatMap((row) => {
          const places = ['now', '59 min ago'].map((age) => {
            row.querySelector('.when time')?.replaceChildren(age)
            return [...row.children].map(
              (cell) => `${cell.getBoundingClientRect().x} ${cell.getBoundingClientRect().y}`,
            )
          })
          return places[0]?.join() === places[1]?.join() ? [] : [places]
        }),
      )
      expect({ list, moved }).toEqual({ list, moved: [] })
    }
  })

  it('moves nothing when the share of a rollout gets longer', async () => {
    const { page } = await visit(addressOf('rollout/GROUP'))
    await page.setViewportSize({ width: 375, height: 900 })
    const share = page.locator('.hero .share')
    await share.waitFor()
    const places = await share.evaluate((element) =>
      ['0 %', '50 %', '100 %'].map((text) => {
        element.replaceChildren(text)
        return element.getBoundingClientRect().x
      }),
    )
    expect(new Set(places).size).toBe(1)
  })

  /** Each page is open once, and all watch the same reports. */
  describe('shows only what the API answered at one revision', () => {
    const opened = new Map<string, OpenPage>()
    let answers: readonly Answer[] = []
    const selectorOf = (part: string): string => part.replace('ROLLOUT', encodeURIComponent(ids.ROLLOUT ?? ''))
    const pageOf = (address: string): Page => opened.get(address)?.page ?? expect.unreachable()
    beforeAll(async () => {
      for (const [address, part] of cards) {
        const selector = selectorOf(part)
        if (!opened.has(address)) opened.set(address, await open(addressOf(address)))
        await pageOf(address).locator(selector).filter({ hasNotText: 'Loading…' }).first().waitFor()
      }
      const first = Number((await server().query('{ revision }')).revision)
      for (const [address, part] of cards) await watchText(pageOf(address), selectorOf(part))
      await pour(4)
      answers = await answersAt(server(), ids.ROLLOUT, first, Number((await server().query('{ revision }')).revision))
    })
    afterAll(() => Promise.all([...opened.values()].map(({ close }) => close())))

    it.each(cards)('at /%s: %s', async (address, part, expected) => {
      const texts = () => shown(pageOf(address), selectorOf(part))
      const possible = new Set(answers.map(expected))
      await expect.poll(async () => (await texts()).at(-1)).toBe(expected(answers.at(-1) ?? expect.unreachable()))
      expect((await texts()).filter((text) => text !== '' && !possible.has(text))).toEqual([])
    })
  })
})

/** Its resource is FAILED. */
const brokenDeployment = (name: string): object => ({
  ...shownDeployment(name, false),
  status: {
    conditions: [
      { type: 'Progressing', status: 'False', reason: 'ProgressDeadlineExceeded', message: 'It took more than 600 s.' },
    ],
  },
})

/** Records every text of the element from now on, as of each frame. */
function watchText(page: Page, selector: string): Promise<void> {
  return page.evaluate((selector) => {
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
  }, selector)
}

const shown = (page: Page, selector: string): Promise<readonly string[]> =>
  page.evaluate(
    (selector) => [...((globalThis as { shown?: Record<string, ReadonlySet<string>> }).shown?.[selector] ?? [])],
    selector,
  )
