/** Two real servers: what one has sent is what the other shows, also through three levels. */
import { afterEach, expect, it } from 'vitest'
import { pglite, usualStore } from '../support/databases/stores.ts'
import { type RunningApp, startApp } from '../support/servers/app.ts'

const running: RunningApp[] = []
afterEach(async () => {
  for (const app of running.splice(0).reverse()) await app.stop()
})

async function start(options: Parameters<typeof startApp>[0]): Promise<RunningApp> {
  const app = await startApp(options)
  running.push(app)
  return app
}

async function register(above: RunningApp, path: string): Promise<Record<string, string>> {
  const { registerSite } = await above.query(
    'mutation ($path: String!) { registerSite(input: { path: $path }) { ... on RegisterSiteSuccess { token } } }',
    { path },
  )
  return { UPSTREAM_URL: above.url, UPSTREAM_TOKEN: registerSite.token }
}

const shown = async (app: RunningApp): Promise<{ deploymentId: string }[]> => {
  const { deployments } = await app.query(
    '{ deployments(first: 100) { nodes { deploymentId state attempt error { code } device { deviceId } components { name state } } } }',
  )
  return deployments.nodes.toSorted((a: { deploymentId: string }, b: { deploymentId: string }) =>
    a.deploymentId.localeCompare(b.deploymentId),
  )
}

const say = (app: RunningApp, device: string, id: string, state: string, more: object = {}) =>
  app.post(`/device/${device}/deployment/${id}/status`, {
    ...{ deploymentId: id, status: { state, ...more }, components: [{ name: 'web', state }] },
  })

it('show the same at the end', async () => {
  const company = await start({ store: usualStore })
  const plant = await start({ store: pglite, env: await register(company, 'eu/berlin') })
  const cell = await start({ store: pglite, env: await register(plant, 'cell-3') })
  for (const n of [1, 2, 3]) await say(cell, `edge-${n}`, `d-${n}`, 'installing')
  await say(plant, 'edge-1', 'd-9', 'installed')
  await say(cell, 'edge-1', 'd-1', 'failed', { error: { code: '507', message: 'disk full' } })
  await expect.poll(() => shown(plant), { timeout: 20_000 }).toHaveLength(4)
  await say(cell, 'edge-2', 'd-2', 'installed')
  const all = [...(await shown(cell)), ...(await shown(plant)).slice(3)]
  await expect.poll(() => shown(plant), { timeout: 20_000 }).toEqual(all)
  await expect.poll(() => shown(company), { timeout: 20_000 }).toEqual(all)
  const warned = [company, plant, cell].flatMap(({ logged }) => logged.filter(({ level }) => level === 'error'))
  expect(warned).toEqual([])
})
