/** The sockets and streams that one caller may hold open: what they take of the server's memory, and how long a change keeps it busy with them. */
import { expect, it } from 'vitest'
import { maxAnswerSize } from '../../src/api/graphql/guards/limits.ts'
import { stores } from '../support/databases/stores.ts'
import { childEnvironment } from '../support/servers/child.ts'
import { jsonYardstick } from '../support/stall.ts'
import { holdStreams, results } from './attacker/held-limits.ts'
import { startTarget, type Target } from './attacker/target.ts'

const count = 300
/** Bytes of one stream: its socket, its operation and its place in the feed. */
const mostOfOne = 100 << 10

it.each(stores)('streams of one caller take little memory each and no long turn on $name', async (store) => {
  const empty = await store.create()
  const { url, dataDir } = empty.config
  let stall = 0
  let target: Target | undefined
  try {
    const env: Record<string, string> = url === null ? { DATA_DIR: dataDir } : { DATABASE_URL: url }
    // Behind a proxy, whose clients are limited. On loopback none is.
    target = await startTarget({ ...childEnvironment(), ...env, TRUSTED_PROXIES: '127.0.0.1' }, ({ cpu }) => {
      stall = Math.max(stall, cpu)
    })
    const { url: base, vitals } = target
    const end = (all: Awaited<ReturnType<typeof holdStreams>>): void => {
      for (const socket of all) socket.terminate()
    }
    // The first ones also fill caches and compile.
    end(await holdStreams(base, 50))
    const before = await vitals('collect')
    const all = await holdStreams(base, count)
    const held = await vitals('collect')
    expect((held.heap + held.external - before.heap - before.external) / count).toBeLessThan(mostOfOne)

    stall = 0
    const told = results(all, count)
    const body = JSON.stringify({ deploymentId: 'd', status: { state: 'installed' }, components: [] })
    const headers = { 'content-type': 'application/json' }
    const { status } = await fetch(`${base}/device/e/deployment/d/status`, { method: 'POST', headers, body })
    expect(status).toBe(201)
    await told
    // A stall is recorded after it.
    await vitals()
    expect(stall).toBeLessThan(jsonYardstick(maxAnswerSize))

    end(all)
    await expect.poll(async () => (await vitals('collect')).heap - before.heap).toBeLessThan((count * mostOfOne) / 4)
  } finally {
    await target?.stop()
    await empty.drop()
  }
})
