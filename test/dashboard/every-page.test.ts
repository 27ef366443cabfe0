/** Every page while reports pour in: nothing moves, nothing is cut, and each number was the API's at one revision. */
import type { Page } from 'playwright-core'
import { beforeAll, describe, expect, it } from 'vitest'
import { findChromium } from '../support/browser.ts'
import { declare, documentOf } from '../support/desired.ts'
import { type Emco, newContext, newGroup, shownDeployment } from '../support/emco.ts'
import { send, shifts, useDashboard, watchShifts } from './harness.ts'

const fleet = Array.from({ length: 12 }, (_, index) => ({ deviceId: `oven-${index}`, deploymentId: `vision-${index}` }))
const states = ['installing', 'failed', 'installed', 'pending'] as const

// Skipped only where there is no browser; ROLLCALL_REQUIRE_CHROMIUM=1 turns its absence into a failure.
describe.runIf(findChromium())('every page of the dashboard', () => {
  const { server, visit } = useDashboard()
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

  it.each([1440, 768, 375])('moves nothing while reports pour in, %i pixels wide', async (width) => {
    const { page, complaints } = await visit('')
    await page.setViewportSize({ width, height: 900 })
    for (const [address, drawn] of pages) {
      await page.goto(`${server().url}/${addressOf(address)}`)
      await page.locator(drawn).first().waitFor()
      await page.waitForLoadState('networkidle')
      await watchShifts(page)
      // On the page of one object, each state follows each.
      await pour(/^(deployment|resource)\//.test(address) ? 4 : 2)
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

  it.each(cards)('shows at /%s only what the API answered at one revision: %s', async (address, part, expected) => {
    const selector = part.replace('ROLLOUT', encodeURIComponent(ids.ROLLOUT ?? ''))
    const { page } = await visit(addressOf(address))
    await page.locator(selector).filter({ hasNotText: 'Loading…' }).first().waitFor()
    const first = Number((await server().query('{ revision }')).revision)
    await page.evaluate((selector) => {
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
      Object.assign(globalThis, { shown })
    }, selector)
    await pour(4)
    const last = Number((await server().query('{ revision }')).revision)
    const answers = await answersAt(first, last)
    const possible = new Set(answers.map(expected))
    await expect.poll(async () => (await shown(page)).at(-1)).toBe(expected(answers.at(-1) as Answer))
    expect((await shown(page)).filter((text) => text !== '' && !possible.has(text))).toEqual([])
  })

  /** What the API answers at each of these revisions. */
  async function answersAt(first: number, last: number): Promise<readonly Answer[]> {
    const answers: Answer[] = []
    for (let revision = first; revision <= last; revision += 10) {
      const revisions = Array.from({ length: Math.min(10, last + 1 - revision) }, (_, index) => revision + index)
      const variables = { rollouts: [ids.ROLLOUT] }
      const answer = await server().query(
        `query ($rollouts: [ID!]) { ${revisions.map((each) => questionAt(each)).join('\n')} }`,
        variables,
      )
      for (const each of revisions)
        answers.push(Object.fromEntries(names.map((name) => [name, answer[`${name}${each}`]])) as Answer)
    }
    return answers
  }
})

const counted = '{ installed installing failed pending }'

/** Its resource is FAILED. */
const brokenDeployment = (name: string): object => ({
  ...shownDeployment(name, false),
  status: {
    conditions: [
      { type: 'Progressing', status: 'False', reason: 'ProgressDeadlineExceeded', message: 'It took more than 600 s.' },
    ],
  },
})

/** What is asked as of one revision. */
const questions = {
  fleet: (at: number) => `deploymentCounts(atRevision: "${at}") ${counted}`,
  broken: (at: number) =>
    `deploymentCounts(filter: { states: [INSTALLED], readiness: [FAILED, PENDING] }, atRevision: "${at}") { total }`,
  rollout: (at: number) => `deploymentCounts(filter: { rolloutIds: $rollouts }, atRevision: "${at}") ${counted}`,
  device: (at: number) => `deploymentCounts(filter: { deviceIds: ["oven-0"] }, atRevision: "${at}") ${counted}`,
  one: (at: number) =>
    `deployment(deploymentId: "vision-0", deviceId: "oven-0", atRevision: "${at}") { state error { code } }`,
  ready: (at: number) => `resourceCounts(atRevision: "${at}") { total readiness { ready } }`,
} as const

type Name = keyof typeof questions
// biome-ignore lint/suspicious/noExplicitAny: answers are checked by what they print.
type Answer = Readonly<Record<Name, any>>

const names = Object.keys(questions) as readonly Name[]
const questionAt = (at: number): string => names.map((name) => `${name}${at}: ${questions[name](at)}`).join('\n')

type Counts = Readonly<Record<'installed' | 'installing' | 'failed' | 'pending', number>>

/** As a bar names them: a state without deployments is left out. */
const partsOf = ({ installed, installing, failed, pending }: Counts, broken = 0): string =>
  [
    [installed - broken, 'installed'],
    [broken, 'installed, not working'],
    [installing, 'installing'],
    [failed, 'failed'],
    [pending, 'pending'],
  ]
    .flatMap(([count, word]) => (count === 0 ? [] : [`${count} ${word}`]))
    .join(', ') || 'none'

const sumOf = ({ installed, installing, failed, pending }: Counts): number => installed + installing + failed + pending

function headlineOf(counts: Counts, words: string, broken = 0): string {
  const [part, whole] = [counts.installed - broken, sumOf(counts)]
  const share = Math.floor((part / whole) * 1_000) / 10
  return `${part} of ${whole} deployments ${words}${share >= 10 ? Math.floor(share) : share} %`
}

/** An address, an element of its page, and what it shows if the API has these answers. */
const cards: readonly (readonly [string, string, (answer: Answer) => string])[] = [
  ['', '.hero .bar', ({ fleet, broken }) => `Deployments by state: ${partsOf(fleet, broken.total)}`],
  ['', '.hero h1', ({ fleet, broken }) => headlineOf(fleet, 'installed and working', broken.total)],
  ['', '.facts li:first-child b', ({ fleet }) => `${fleet.failed}`],
  ['rollouts', '.rollouts li:has([href*="ROLLOUT"]) .bar', ({ rollout }) => `vision: ${partsOf(rollout)}`],
  ['rollout/ROLLOUT', '.hero .bar', ({ rollout }) => `Deployments by state: ${partsOf(rollout)}`],
  ['rollout/ROLLOUT', '.headline', ({ rollout }) => headlineOf(rollout, 'installed')],
  ['deployments?state=FAILED', '.table-bar [role=status]', ({ fleet }) => plural(fleet.failed, 'deployment')],
  ['device/oven-0', '.hero .bar', ({ device }) => `Deployments by state: ${partsOf(device)}`],
  ['devices?text=oven-0', '.table .row .bar', ({ device }) => `Deployments of oven-0: ${partsOf(device)}`],
  ['deployment/oven-0/vision-0', '.headline .mark', ({ one }) => markOf(one)],
  [
    'resources?readiness=READY',
    '.table-bar [role=status]',
    ({ ready }) => `${ready.readiness.ready} of ${plural(ready.total, 'resource')}`,
  ],
]

const markOf = ({ state, error }: { readonly state: string; readonly error: object | null }): string =>
  state === 'PENDING' && error ? 'Waiting' : `${state[0]}${state.slice(1).toLowerCase()}`

const plural = (count: number, word: string): string => `${count} ${word}${count === 1 ? '' : 's'}`

const shown = (page: Page): Promise<readonly string[]> =>
  page.evaluate(() => [...(globalThis as unknown as { readonly shown: ReadonlySet<string> }).shown])
