/** What an orchestrator put on clusters, as people see it: runs, clusters × applications, and why an object is not ready. */
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest'
import { syncWords } from '../../../src/apps/dashboard/data/labels.ts'
import type { Database } from '../../../src/store/database.ts'
import { findChromium, type OpenPage, openPage, sharedBrowser } from '../../support/clients/browser.ts'
import {
  countOf,
  expectNone,
  expectShown,
  expectStill,
  inElement,
  inElements,
  inPage,
  textsOf,
  urlOf,
} from '../../support/clients/shown.ts'
import { openPooledPglite } from '../../support/databases/pglite-pool.ts'
import { isWhole } from '../../support/runner/depth.ts'
import { type RunningApp, startApp } from '../../support/servers/app.ts'
import { type Emco, newContext, newGroup, shownDeployment } from '../../support/systems/emco.ts'
import { holdAnswers } from '../harness.ts'

const settings = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'sink-settings' }, data: {} }
const shown = (isReady: boolean): object => ({
  deploymentStatuses: [shownDeployment('sink', isReady)],
  configMapStatuses: [settings],
})

describe.runIf(findChromium())('the dashboard of an intent group', () => {
  let browser: Browser
  let server: RunningApp
  let database: Database
  let emco: Emco
  let rollout = ''
  let between = ''
  const [first, second] = [newContext(), newContext()]
  const [munich, porto] = ['p+munich', 'p+porto']

  beforeAll(async () => {
    browser = await sharedBrowser()
    database = await openPooledPglite()
    const on = { config: { url: null, dataDir: 'memory' }, open: async () => database, drop: async () => {} }
    server = await startApp({ on })
    emco = newGroup(server)
    const applied = [munich, porto].flatMap((cluster) => [
      { app: 'sink', cluster, name: 'sink' },
      { app: 'sink', cluster, kind: 'ConfigMap', name: 'sink-settings' },
      { app: 'source', cluster, name: 'source' },
    ])
    await emco.act('Created', 'Approved', `Instantiated ${first}`)
    await emco.apply(first, applied)
    await emco.act(`Terminated ${first}`)
    await emco.apply(
      first,
      applied.map((each) => ({ ...each, status: 'Deleted' })),
    )
    await emco.act(`Instantiated ${second}`)
    await emco.apply(
      second,
      applied.map((each) => ({ ...each, status: each.cluster === porto ? 'Retrying' : 'Applied' })),
    )
    between = new Date().toISOString()
    // The state at a time includes the changes of its millisecond.
    await vi.waitUntil(() => Date.now() > Date.parse(between), { interval: 1 })
    await emco.show(second, shown(false), { cluster: munich })
    const { rollouts } = await server.query('{ rollouts { nodes { id } } }')
    rollout = rollouts.nodes[0].id
  })
  afterAll(() => server?.stop())

  async function visit(hash: string): Promise<OpenPage> {
    // Only visible rows exist: high enough for all of them.
    const open = await openPage(browser, `${server.url}/${hash}`, { viewport: { width: 1280, height: 2_600 } })
    onTestFinished(() => open.close())
    return open
  }

  it('shows its runs, what was done, and each application on each cluster; one cell leads to its resources', async () => {
    const { page, complaints } = await visit(`#/rollout/${rollout}`)
    const runs = page.getByRole('region', { name: /^Runs/ }).getByRole('listitem')
    await runs.first().getByText(second).waitFor()
    await expectShown(textsOf(runs)).toEqual([
      expect.stringMatching(new RegExp(`^${second}Instantiating.*6 resources`)),
      expect.stringMatching(new RegExp(`^${first}Terminated`)),
    ])
    const actions = page.getByRole('region', { name: 'Lifecycle actions' }).locator('b')
    await expectShown(textsOf(actions)).toEqual(['Instantiated', 'Terminated', 'Instantiated', 'Approved', 'Created'])
    await page.getByRole('link', { name: 'sink on munich' }).getByText('Not ready').waitFor()
    await page.getByRole('link', { name: 'source on porto' }).getByText('Retrying').waitFor()
    await page.getByRole('region', { name: 'What is blocking' }).getByText('LessAvailable').waitFor()

    await page.getByRole('link', { name: 'sink on porto' }).click()
    const list = page.getByRole('table', { name: 'Resources of this rollout' })
    await page.getByText('2 of 6 resources').waitFor()
    await expectShown(urlOf(page)).toMatch(/app=sink&cluster=porto/)
    await expectShown(countOf(list.getByRole('row', { name: /porto/ }))).toBe(2)
    expect(complaints).toEqual([])
  })

  it.runIf(isWhole)('keeps the filter of its resources in the address, and says why each is not ready', async () => {
    const { page, complaints } = await visit(`#/rollout/${rollout}?readiness=PENDING`)
    const row = page.getByRole('table', { name: 'Resources of this rollout' }).getByRole('row', { name: /^sink/ })
    await row.getByText('LessAvailable: 0 of 1 replicas are available').waitFor()
    await page.getByText('1 of 6 resources').waitFor()
    await page.getByRole('button', { name: 'Not ready' }).click()
    await page.getByText('6 resources', { exact: true }).last().waitFor()
    await page.getByLabel('Kind').selectOption('ConfigMap')
    await page.getByText('2 of 6 resources').waitFor()
    await expectShown(urlOf(page)).toContain('kind=ConfigMap')
    await page.getByRole('button', { name: 'Retrying' }).click()
    await page.getByText('1 of 6 resources').waitFor()
    await expectShown(urlOf(page)).toContain('sync=RETRYING')
    expect(complaints).toEqual([])
  })

  it('shows what a cluster shows as it does, on every page', async () => {
    const { deployments } = await server.query(
      '{ deployments(filter: { text: "munich" }) { nodes { reporter deploymentId resources(filter: { names: ["sink"] }) { nodes { id } } } } }',
    )
    const { reporter, deploymentId, resources } = deployments.nodes.find(
      (each: { deploymentId: string }) => each.deploymentId === second,
    )
    const whole = await visit(`#/rollout/${rollout}`)
    const one = await visit(`#/deployment/${encodeURIComponent(reporter)}/${deploymentId}`)
    const fleet = await visit('#/resources?object=munich')
    const object = await visit(`#/resource/${resources.nodes[0].id}`)
    const rows = [whole, one, fleet].map(({ page }) => page.getByRole('row', { name: /^sink.*Deployment.*munich/ }))
    for (const row of rows) await row.getByText('Not ready').waitFor()
    await object.page.getByRole('status').getByText('Not ready').waitFor()
    await object.page.getByText('"readyReplicas": 0').waitFor()

    await emco.show(second, shown(true), { cluster: munich })
    for (const row of rows) await row.getByText('Ready', { exact: true }).waitFor()
    await whole.page.getByRole('link', { name: 'sink on munich' }).getByText('Ready', { exact: true }).waitFor()
    await object.page.getByRole('status').getByText('Ready', { exact: true }).waitFor()
    await object.page.getByText('"readyReplicas": 1').waitFor()
    // Above it are its rollout and its deployment.
    const crumbs = object.page.locator('.crumbs').getByRole('link')
    await expectShown(inElements(crumbs, (links) => links.map((link) => link.getAttribute('href')))).toEqual([
      `/rollout/${rollout}`,
      `/deployment/${encodeURIComponent(reporter)}/${deploymentId}`,
    ])
    // The same application is no news.
    const history = one.page.getByRole('region', { name: /^History/ })
    await history.getByText('readiness or current run changed').first().waitFor()
    await expectShown(countOf(history.getByText('revised: '))).toBeLessThanOrEqual(1)
    // A change of the reason alone has the state before it.
    const none = { ...shownDeployment('sink'), status: { observedGeneration: 1, replicas: 0 } }
    await emco.show(second, shown(false), { cluster: munich })
    await emco.show(second, { ...shown(false), deploymentStatuses: [none] }, { cluster: munich })
    const newest = object.page.getByRole('listitem').filter({ hasText: 'LessReplicas' })
    await newest.getByText('Not ready').waitFor()
    await emco.show(second, shown(true), { cluster: munich })
    for (const { complaints } of [whole, one, fleet, object]) expect(complaints).toEqual([])
  })

  it.runIf(isWhole)('counts them on the overview, each count a way to them', async () => {
    const { page, complaints } = await visit('#/')
    const { resourceCounts } = await server.query('{ resourceCounts { total readiness { unknown } } }')
    await page
      .getByRole('region', { name: /^Resources/ })
      .getByRole('link', { name: `Not observed ${resourceCounts.readiness.unknown}` })
      .click()
    await page.getByText(`${resourceCounts.readiness.unknown} of ${resourceCounts.total} resources`).waitFor()
    expect(complaints).toEqual([])
  })

  it.runIf(isWhole)('takes out what no longer matches a filter, and adds what does', async () => {
    const names = (page: OpenPage['page']) =>
      inElements(page.getByRole('table', { name: /^Resources/ }).locator('.row .main a'), (links) =>
        links.map(({ title }: HTMLElement) => title),
      )
    const applied = await visit('#/resources?sync=APPLIED')
    const retried = await visit(`#/rollout/${rollout}?sync=RETRYING`)
    await applied.page.getByText('3 of 6 resources').waitFor()
    await retried.page.getByText('3 of 6 resources').waitFor()
    const ofSink = { app: 'sink', cluster: porto, name: 'sink' }
    await emco.apply(second, [{ ...ofSink, status: 'Applied' }])
    for (const { page } of [applied, retried]) await page.getByText(/^[24] of 6 resources$/).waitFor()
    await expectShown(names(retried.page)).toEqual(['ConfigMap sink-settings', 'Deployment source'])
    await expectShown(names(applied.page)).toEqual([
      'Deployment sink',
      'ConfigMap sink-settings',
      'Deployment source',
      'Deployment sink',
    ])
    // What has entered is followed too.
    await emco.apply(second, [{ ...ofSink, status: 'Retrying' }])
    await expectShown(names(applied.page)).toHaveLength(3)
    await expectShown(names(retried.page)).toContain('Deployment sink')
    await retried.page.getByText('3 of 6 resources').waitFor()
    for (const { complaints } of [applied, retried]) expect(complaints).toEqual([])
  })

  it.runIf(isWhole)('has room for the words of each sync status', async () => {
    const { page } = await visit('#/resources?sync=RETRYING')
    await page.locator('.sync .mark').first().waitFor()
    for (const width of [1440, 900, 768]) {
      await page.setViewportSize({ width, height: 900 })
      const cut = inPage(
        page,
        (words: string[]) => {
          const cell = document.querySelector('.row .sync')
          const text = cell?.querySelector('.mark')?.lastChild
          if (!cell || !text) return ['no status']
          return words.filter((word) => {
            text.textContent = word
            return cell.scrollWidth > cell.clientWidth
          })
        },
        Object.values(syncWords),
      )
      await expectStill(cut, `${width}`).toEqual([])
    }
  })

  it.runIf(isWhole)('shows the resources of the fleet as they were', async () => {
    const { page, complaints } = await visit(`#/resources?at=${between}`)
    await page.getByText('6 resources', { exact: true }).waitFor()
    const sink = page.getByRole('row', { name: /^sink.*Deployment.*munich/ })
    await sink.getByText('Not observed').waitFor()
    await page.getByRole('button', { name: 'Back to now' }).click()
    await sink.getByText('Not observed').waitFor({ state: 'detached' })
    expect(complaints).toEqual([])
  })

  it.runIf(isWhole)('shows them as they were, and a run that is over', async () => {
    const { page, complaints } = await visit(`#/rollout/${rollout}?at=${between}`)
    const sink = page.getByRole('row', { name: /^sink.*Deployment.*munich/ })
    await sink.getByText('Not observed').waitFor()
    await page.getByRole('button', { name: 'Back to now' }).click()
    await sink.getByText('Not observed').waitFor({ state: 'detached' })
    // Until the answers about the chosen run arrive, no cause of the other one is on the page, and the cells lead to the other one.
    const cause = page.getByRole('region', { name: 'What is blocking' }).getByRole('link', { name: /source/ })
    await cause.waitFor()
    const addressOf = (locator: typeof cause) => inElement(locator, ({ href }: HTMLAnchorElement) => href)
    await expectShown(addressOf(cause)).toContain(`run=${second}`)
    const release = await holdAnswers(page, /query (Matrix|ObjectCauses)\b/)
    await page.getByRole('link', { name: first }).click()
    await sink.getByText('Deleted').waitFor()
    await cause.waitFor({ state: 'detached' })
    const cell = page.getByRole('link', { name: 'source on porto' })
    await expectShown(addressOf(cell)).toContain(`run=${second}`)
    await release()
    await expectShown(addressOf(cell)).toContain(`run=${first}`)
    await expectShown(urlOf(page)).toContain(`run=${first}`)
    expect(complaints).toEqual([])
  })

  async function read(at: string | null): Promise<string> {
    const { resources } = await server.query(
      `query ($at: DateTime) { resources(filter: { names: ["sink"], clusters: ["${munich}"], instanceIds: ["${second}"] }, asOf: $at) {
        nodes { id } } }`,
      { at },
    )
    return resources.nodes[0].id
  }

  it.runIf(isWhole)('shows one object as it was, and goes back to now, with its ID of either time', async () => {
    for (const id of [await read(null), await read(between)]) {
      const { page, complaints } = await visit(`resource/${id}?at=${between}`)
      const state = page.locator('.hero .headline')
      await state.getByText('Not observed').waitFor()
      // Nothing of what came later.
      const changes = page.getByRole('region', { name: 'Recent changes' })
      await expectNone(changes.getByText('LessAvailable'), changes.getByRole('listitem'))
      await page.getByRole('button', { name: 'Back to now' }).click()
      await state.getByText('Ready', { exact: true }).waitFor()
      await page.goto(`${server.url}/resource/${id}`)
      await state.getByText('Ready', { exact: true }).waitFor()
      expect(complaints).toEqual([])
    }
  })

  it.runIf(isWhole)('goes back to now from an ID of a time that has expired', async () => {
    const id = await read(between)
    const { page } = await visit('resources')
    await database.session.run('update log_head set tail = revision, tail_at = at')
    await page.goto(`${server.url}/resource/${id}?at=${between}`)
    await page.getByText('No history for this time').waitFor()
    await page.getByRole('main').getByRole('button', { name: 'Back to now' }).click()
    const heading = page.getByRole('heading', { name: /^sink/ })
    await heading.waitFor()
    await page.goto(`${server.url}/resource/${id}?at=${new Date().toISOString()}`)
    await heading.waitFor()
  })
})
