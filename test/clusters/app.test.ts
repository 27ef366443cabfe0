import { afterEach, expect, it } from 'vitest'
import { startApp } from '../support/servers/app.ts'
import { newContext, newGroup } from '../support/systems/emco.ts'
import { startKubernetes } from '../support/systems/kubernetes.ts'
import { showing } from './harness.ts'

const closing: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close()
})

it('a server that is configured to watches clusters, and says in its metrics how that goes', async () => {
  const cluster = await startKubernetes((close) => void closing.push(close))
  const [known, unknown] = [newContext(), newContext()]
  cluster.put('web', `${known}-web`, showing('a'))
  cluster.put('db', `${unknown}-db`, showing('b'))
  const env = { CLUSTERS: 'p+edge01=edge, p+edge02=nowhere', KUBECONFIG: cluster.kubeconfig }
  const server = await startApp({ env })
  closing.push(() => server.stop())
  const emco = newGroup(server)
  await emco.act('Created', 'Approved', `Instantiated ${known}`)
  const present = async () => (await emco.status('?status=ready&output=summary')).readyCounts?.Ready
  await expect.poll(present).toBe(1)
  const metrics = async () => (await fetch(`${server.url}/metrics`)).text()
  await expect.poll(metrics).toContain('rollcall_cluster_waiting{cluster="p+edge01"} 1')
  expect(await metrics()).toContain('rollcall_cluster_pictures_total{cluster="p+edge01",verdict="APPLIED"} 1')
  expect(await metrics()).toContain('rollcall_cluster_failures{cluster="p+edge01"} 0')
  expect(await metrics()).toMatch(/rollcall_cluster_failures\{cluster="p\+edge02"\} [1-9]/)
  expect(server.logged.map(({ msg }) => msg)).toContain(
    'a cluster cannot be watched: the kubeconfig has no context "nowhere": it has edge',
  )
})
