/**
 * `npm run screenshots`: the pictures of README and docs, docs/images/*.png, light and dark. The simulated fleet's plan is played with
 * a clock that leaps from report to report, so that they show most of an hour; beside it an intent group.
 */
import { mkdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { createApi } from '../../src/apps/cli/api.ts'
import { createNetwork, planDeliveries } from '../../src/apps/simulate/delivery.ts'
import { planFleet } from '../../src/apps/simulate/fleet.ts'
import { registerFleet } from '../../src/apps/simulate/register.ts'
import { createSender } from '../../src/apps/simulate/sender.ts'
import { createSchedule } from '../../src/apps/simulate/stage.ts'
import { createLog } from '../../src/platform/log/log.ts'
import { createApp } from '../../src/server/app.ts'
import { parseConfig } from '../../src/server/config/config.ts'
import { openDatabase } from '../../src/store/open.ts'
import { openPage, startBrowser } from './clients/browser.ts'
import { groupOf, shownDeployment } from './systems/emco.ts'

const folder = join(import.meta.dirname, '../../docs/images')
const seed = 11
/** So many milliseconds of the plan, over so many of the pictures' time. */
const [played, shown] = [185_000, 56 * 60_000]
const minute = 60_000
/** Bytes: the README is read on phones, too. */
const largest = 200_000

let offset = -shown
const clock = (): number => Date.now() + offset

const config = parseConfig({ DATA_DIR: 'memory', LOG_LEVEL: 'warn', PORT: '0' })
const browser = await startBrowser()
try {
  await serve(async (url) => {
    const rollout = await playFleet(url)
    offset = 0
    const group = await playGroup(url)
    mkdirSync(folder, { recursive: true })
    for (const colorScheme of ['light', 'dark'] as const) {
      await picture(url, `overview-${colorScheme}`, '#/?window=1h', '.causes li', colorScheme)
      await picture(url, `rollout-${colorScheme}`, `#/rollout/${rollout}`, '.causes li', colorScheme, 1_040)
      await picture(url, `clusters-${colorScheme}`, `#/rollout/${group}`, '.matrix', colorScheme)
    }
  })
  // On a server of its own: it is no part of that fleet, and the time of a log does not go back.
  offset = -20 * minute
  await serve(async (url) => {
    const deployment = await playDesired(url)
    for (const colorScheme of ['light', 'dark'] as const)
      await picture(url, `desired-${colorScheme}`, deployment, '.diff tr', colorScheme)
  })
} finally {
  await browser.close()
}

async function serve(draw: (url: string) => Promise<void>): Promise<void> {
  const app = await createApp({
    config,
    database: await openDatabase(config.store, clock),
    log: createLog({ level: 'warn' }),
    clock,
  })
  try {
    const { url } = await app.listen()
    await draw(url)
  } finally {
    await app.close()
  }
}

/** Its largest rollout's id. */
async function playFleet(url: string): Promise<string> {
  const fleet = planFleet({ devices: 260, rollouts: 3, seed, run: 'november' })
  const began = clock()
  const clockOf = (at: number): number => began + (at / played) * shown
  const api = createApi(url)
  const { tokens, rolloutIds } = await registerFleet(api, fleet)
  const network = createNetwork(seed)
  const schedule = createSchedule(
    fleet.deployments.map((deployment) => planDeliveries(deployment, seed, network, clockOf)),
  )
  const sender = createSender({
    url,
    tokenOf: (reporter) => tokens.get(reporter),
    obtainToken: async () => {},
    tryFailed: () => {},
    signal: new AbortController().signal,
  })
  for (const { at, report, isHeld } of schedule.until(played)) {
    offset = clockOf(at) - Date.now()
    await sender.send([report], isHeld)
  }
  return rolloutIds[2] ?? ''
}

async function playGroup(url: string): Promise<string> {
  const key = {
    project: 'monitoring',
    compositeApp: 'edge-metrics',
    compositeAppVersion: 'v2',
    name: 'edge-metrics-europe',
  }
  const emco = groupOf({ url }, key)
  const run = '7713382281003461120'
  const clusters = ['hamburg', 'lyon', 'porto', 'gdansk'].map((site) => `europe+${site}`)
  const apps = {
    collector: { Deployment: 'collector', ConfigMap: 'collector-config', Service: 'collector' },
    dashboards: { Deployment: 'grafana', Service: 'grafana' },
    storage: { StatefulSet: 'prometheus', Service: 'prometheus' },
  }
  const applied = Object.entries(apps).flatMap(([appName, objects]) =>
    clusters.flatMap((cluster) =>
      Object.entries(objects).map(([kind, name]) => ({ app: appName, cluster, kind, name, namespace: 'monitoring' })),
    ),
  )
  await emco.act('Created', 'Approved', `Instantiated ${run}`)
  await emco.apply(
    run,
    applied.map((each) => (each.cluster === 'europe+gdansk' ? { ...each, status: 'Retrying' } : each)),
  )
  const metadata = (name: string): object => ({ metadata: { name, namespace: 'monitoring' } })
  for (const cluster of clusters.slice(0, 3)) {
    const isBroken = cluster === 'europe+porto'
    const pod = {
      ...metadata('collector-7d9f8c-x2x9l'),
      status: {
        phase: 'Pending',
        containerStatuses: [
          {
            name: 'collector',
            ready: false,
            restartCount: 7,
            state: { waiting: { reason: 'CrashLoopBackOff', message: 'back-off 5m0s restarting failed container' } },
          },
        ],
      },
    }
    const deployment = (name: string, isReady = true) => ({ ...shownDeployment(name, isReady), ...metadata(name) })
    await emco.show(
      run,
      {
        deploymentStatuses: [deployment('collector', !isBroken)],
        configMapStatuses: [metadata('collector-config')],
        serviceStatuses: [metadata('collector')],
        ...(isBroken ? { podStatuses: [pod] } : {}),
      },
      { app: 'collector', cluster },
    )
    await emco.show(
      run,
      { deploymentStatuses: [deployment('grafana')], serviceStatuses: [metadata('grafana')] },
      { app: 'dashboards', cluster },
    )
  }
  const { rollout } = await createApi(url).ask<{ rollout: { id: string } }>(
    'query ($key: RolloutKey!) { rollout(key: $key) { id } }',
    { key },
  )
  return rollout.id
}

/** A device that is on a version older than its target: the address of its deployment. */
async function playDesired(url: string): Promise<string> {
  const api = createApi(url)
  const [deviceId, deploymentId] = ['press-07', 'line-vision']
  const declare = (revision: string, reason: string, more = '') =>
    api.ask(`mutation ($input: DeclareDeploymentsInput!) { declareDeployments(input: $input) { __typename } }`, {
      input: {
        rollout: { name: 'line-vision-autumn' },
        reason,
        deployments: [{ deviceId, deploymentId, document: visionDocument(deploymentId, revision, more) }],
      },
    })
  await declare('3.1.4', 'commissioning of line 7')
  for (const state of ['installing', 'installed']) {
    offset += minute
    const components = ['camera-feed', 'model-server'].map((name) => ({ name, state }))
    const body = { deploymentId, adoptedManifestVersion: 2, status: { state }, components }
    await fetch(`${url}/api/v1/clients/${deviceId}/deployments/${deploymentId}/status`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
  }
  offset = -4 * minute
  await declare('3.2.0', 'the new model finds scratches, too', '    confidence:\n      value: 0.82\n')
  offset = 0
  return `#/deployment/${deviceId}/${deploymentId}`
}

function visionDocument(id: string, revision: string, more: string): string {
  return `apiVersion: application.margo.org/v1alpha1
kind: ApplicationDeployment
metadata:
  annotations:
    id: ${id}
    applicationId: line-vision
  name: line-vision
  namespace: plant
spec:
  deploymentProfile:
    type: helm
    components:
      - name: camera-feed
        properties:
          repository: oci://registry.example/charts/camera-feed
          revision: 1.9.2
      - name: model-server
        properties:
          repository: oci://registry.example/charts/model-server
          revision: ${revision}
          wait: true
  parameters:
    site:
      value: hamburg
${more}`
}

async function picture(
  url: string,
  name: string,
  hash: string,
  drawn: string,
  colorScheme: 'light' | 'dark',
  height = 800,
): Promise<void> {
  const { page, close } = await openPage(browser, `${url}/${hash}`, {
    colorScheme,
    viewport: { width: 1280, height },
    reducedMotion: 'reduce',
  })
  const element = page.locator(drawn).first()
  await element.waitFor()
  await page.waitForLoadState('networkidle')
  const title = { '.matrix': '#matrix', '.diff tr': '#desired' }[drawn]
  if (title) await page.locator(title).evaluate((element) => scrollTo(0, element.getBoundingClientRect().top - 110))
  await page.evaluate(() => new Promise((drawnTwice) => requestAnimationFrame(() => requestAnimationFrame(drawnTwice))))
  const path = join(folder, `${name}.png`)
  await page.screenshot({ path })
  await close()
  const { size } = statSync(path)
  console.log(`${path}: ${Math.round(size / 1_000)} kB`)
  if (size > largest) throw new Error(`${path} has ${size} bytes: more than ${largest}`)
}
