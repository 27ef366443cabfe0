/** Every page, by axe: light and dark, wide and narrow, full and empty. */
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { findChromium, openPage, sharedBrowser } from '../../support/clients/browser.ts'
import { declare, documentOf, remove } from '../../support/clients/desired.ts'
import { doInPage, expectShown, expectStill, inElements } from '../../support/clients/shown.ts'
import { casesOf, isDeep, isWhole } from '../../support/runner/depth.ts'
import { type RunningApp, startApp } from '../../support/servers/app.ts'
import { newContext, newGroup, shownDeployment } from '../../support/systems/emco.ts'
import { widthOf } from '../harness.ts'
import { axe, findingsOf } from './judge.ts'

/** So many lines that nothing changes in that they are folded. */
const padding = '# the same\n'.repeat(12)

/** The page, and what is there once it is drawn. */
const pages: readonly (readonly [string, string])[] = [
  ['#/', '.trend'],
  ['#/rollouts', '.rollouts li'],
  ['#/rollout/ROLLOUT', '.forecast b'],
  ['#/rollout/GROUP', '.matrix .app'],
  ['#/deployments', '.table .row'],
  ['#/deployment/p%2Bedge01/CONTEXT', '.resources .row'],
  ['#/deployment/edge-1/web-1', '.swimlanes svg'],
  ['#/deployment/edge-1/meant', '.diff .folded'],
  ['#/deployment/edge-1/withdrawn', '.diff .removed'],
  ['#/deployment/edge-1/nothing', 'main p'],
  ['#/devices', '.table .row'],
  ['#/device/edge-1', '.manifests li'],
  ['#/resources', '.table .row'],
  ['#/resource/RESOURCE', '.error-box'],
  ['#/feed', '.table .row'],
  ['#/setup', '.setup-form'],
  ['#/setup/alert-rules', '.setup-list li'],
  ['#/setup/notifications', '.setup-list li'],
  ['#/setup/api-keys', '.tabs'],
  ['#/nowhere', 'main p'],
  ['#/deployments?text=nothing+like+that', '.empty'],
]

describe.runIf(findChromium())('to axe the dashboard is clean', () => {
  let browser: Browser
  let server: RunningApp
  const ids: Record<string, string> = { CONTEXT: newContext() }

  beforeAll(async () => {
    browser = await sharedBrowser()
    server = await startApp()
    const { declareDeployments } = await server.query(`mutation {
      registerDevices(input: { devices: [
        { deviceId: "gateway", labels: [{ key: "site", value: "munich" }] }
        { deviceId: "edge-1", name: "First", parent: "gateway", labels: [{ key: "site", value: "munich" }] }
      ] }) { __typename }
      declareDeployments(input: { rollout: { name: "web" }, deployments: [
        { deviceId: "edge-1", deploymentId: "web-1", application: "web", applicationVersion: "2.0", components: ["front", "back"] }
        { deviceId: "edge-2", deploymentId: "web-2", application: "web", applicationVersion: "2.0" }
      ] }) { ... on DeclareDeploymentsSuccess { rollout { id } } }
    }`)
    ids.ROLLOUT = declareDeployments.rollout.id
    const error = { code: '507', message: 'disk full' }
    const reports = [
      {
        status: { state: 'pending', error: { code: 'WAIT', message: 'for others' } },
        components: [{ name: 'front', state: 'pending' }],
      },
      { status: { state: 'installing' }, components: [{ name: 'front', state: 'installing' }] },
      {
        status: { state: 'failed', error },
        components: [
          { name: 'front', state: 'failed', error },
          { name: 'back', state: 'installed' },
        ],
      },
      {
        status: { state: 'installing' },
        components: [
          { name: 'front', state: 'installed' },
          { name: 'back', state: 'installed' },
        ],
      },
      { status: { state: 'failed', error }, components: [] },
    ]
    for (const report of reports)
      expect(
        (await server.post('/device/edge-1/deployment/web-1/status', { deploymentId: 'web-1', ...report })).status,
      ).toBe(201)

    const meant = (deploymentId: string, revision: string) => ({
      deviceId: 'edge-1',
      deploymentId,
      document: documentOf(deploymentId, revision) + padding,
    })
    const properties = {
      ...{ id: 'edge-1', vendor: 'Presses', modelNumber: 'P-400', serialNumber: '0007' },
      ...{ cpus: [{ cores: 4, architecture: 'arm64' }], memory: '8Gi', supportedDeploymentTypes: ['helm'] },
    }
    expect((await server.post('/api/v1/capabilities/edge-1', { properties })).ok).toBe(true)
    const [, withdrawn = ''] = await declare(server, [meant('meant', '1'), meant('withdrawn', '1')], 'first')
    const installed = { adoptedManifestVersion: 2, status: { state: 'installed' }, components: [] }
    for (const deploymentId of ['meant', 'withdrawn'])
      await server.post(`/device/edge-1/deployment/${deploymentId}/status`, { deploymentId, ...installed })
    await declare(server, [meant('meant', '2')], 'because of what was found')
    await remove(server, [withdrawn])

    await server.query(`mutation {
      saveAlertRule(input: { name: "many fail", metric: FAILED, threshold: 90 }) { __typename }
      createWebhook(input: { name: "pager", url: "https://hooks.example/rollcall" }) { __typename }
      createAlertmanager(input: { name: "main", url: "https://alertmanager.example" }) { __typename }
    }`)

    const emco = newGroup(server)
    await emco.act('Created', 'Approved', `Instantiated ${ids.CONTEXT}`)
    await emco.apply(ids.CONTEXT ?? '', [
      { name: 'sink' },
      { cluster: 'p+edge02', name: 'sink', status: 'Retrying' },
      { app: 'source', name: 'source', status: 'Failed' },
      // So many that phones have to scroll among them.
      ...['store', 'gate', 'meter'].map((name) => ({ app: name, name })),
    ])
    await emco.show(ids.CONTEXT ?? '', { deploymentStatuses: [shownDeployment('sink', false)] })
    const { rollouts, resources } = await server.query(`{
      rollouts(filter: { kinds: [DEPLOYMENT_INTENT_GROUP] }) { nodes { id } }
      resources(filter: { readiness: [PENDING] }) { nodes { id } }
    }`)
    ids.GROUP = rollouts.nodes[0].id
    ids.RESOURCE = resources.nodes[0].id
  })
  afterAll(() => server?.stop())

  // Each colour and each width. In the quick suite each page has one of both, in turn.
  it.each([
    ['light', 1440] as const,
    ['dark', 375] as const,
    ...(isDeep
      ? ([
          ['dark', 1440],
          ['light', 375],
        ] as const)
      : []),
  ])('in %s colours, %i pixels wide', async (colorScheme, width) => {
    const shown = pages.filter((_, index) => isWhole || index % 5 === (colorScheme === 'light' ? 0 : 2))
    const { page, complaints, close } = await openPage(browser, `${server.url}/`, {
      colorScheme,
      viewport: { width, height: 900 },
      // Nothing is judged while it fades.
      reducedMotion: 'reduce',
      bypassCSP: true,
    })
    onTestFinished(close)
    await page.addScriptTag({ content: axe })
    for (const [hash, drawn] of shown) {
      await doInPage(
        page,
        (address) => location.assign(address),
        hash.replace(/[A-Z]{2,}$/, (name) => ids[name] ?? name),
      )
      await page.locator(drawn).first().waitFor()
      await expectShown(findingsOf(page), hash).toEqual([])
      await expectStill(widthOf(page), hash).toBe(width)
    }
    expect(complaints).toEqual([])
  })

  it.runIf(isWhole)('on an empty server and in the past, too', async () => {
    const empty = await startApp()
    onTestFinished(() => empty.stop())
    const { page, close } = await openPage(browser, `${empty.url}/`, { bypassCSP: true })
    onTestFinished(close)
    await page.getByText('No reports yet').waitFor()
    await page.addScriptTag({ content: axe })
    await expectShown(findingsOf(page)).toEqual([])
    await page.setViewportSize({ width: 375, height: 800 })
    const cutOff = (commands: Element[]) => commands.filter((pre) => pre.scrollWidth > pre.clientWidth).length
    await expectStill(inElements(page.locator('.command pre'), cutOff)).toBe(0)
    await page.goto(`${server.url}/#/?at=${new Date().toISOString()}`)
    await page.getByText('Showing the state at').waitFor()
    await page.addScriptTag({ content: axe })
    await expectShown(findingsOf(page)).toEqual([])
    await page.keyboard.press('/')
    await page.getByRole('combobox', { name: 'Search the fleet' }).fill('edge')
    await page.getByRole('option').first().waitFor()
    await expectShown(findingsOf(page)).toEqual([])
  })
})

it.runIf(findChromium()).each(casesOf(1, ['light', 'dark']))(
  'the sign-in is clean in %s colours',
  async (colorScheme) => {
    const server = await startApp({ env: { API_AUTH: 'key', API_ADMIN_KEY: 'an-admin-key-for-tests-only' } })
    onTestFinished(() => server.stop())
    const browser = await sharedBrowser()
    const { page, close } = await openPage(browser, `${server.url}/`, { colorScheme, bypassCSP: true })
    onTestFinished(close)
    await page.getByLabel('API key or token').waitFor()
    await page.addScriptTag({ content: axe })
    await expectShown(findingsOf(page)).toEqual([])
  },
)
