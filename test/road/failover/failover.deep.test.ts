/** PostgreSQL fails over under load, as Patroni does it: what was acknowledged is kept, once, and a server writes soon after a primary can be written to. */
import { describe, expect, it } from 'vitest'
import { isDeep } from '../../support/runner/depth.ts'
import { hasPatroni, type PatroniCluster } from '../../support/systems/patroni.ts'
import {
  delaysAfter,
  expectNothingMissed,
  startCluster,
  startServers,
  takesWrites,
  untilAcknowledged,
  wait,
  writableAt,
} from './harness.ts'

/**
 * Each begins with a whole cluster, and returns what ends the fault. The last one leaves Patroni without a synchronous standby for a while, so no other
 * follows it.
 */
const faults: Readonly<Record<string, (cluster: PatroniCluster) => Promise<() => Promise<void>>>> = {
  async switchover(cluster) {
    await cluster.leader()
    await cluster.switchOver()
    return async () => {}
  },
  async 'a killed standby'(cluster) {
    const primary = await cluster.leader()
    const node = cluster.nodes.find((one) => one !== primary) ?? expect.unreachable()
    await node.kill()
    return async () => node.start()
  },
  async 'a killed primary'(cluster) {
    const node = await cluster.leader()
    await node.kill()
    return async () => node.start()
  },
  async 'a consensus store that does not answer'(cluster) {
    const leader = await cluster.leader()
    cluster.stopConsensus()
    // Patroni gives up the lead, since another may have it.
    while (await takesWrites(leader.url)) await wait(100)
    cluster.continueConsensus()
    return async () => {}
  },
  async 'a primary that stands still and wakes after another was promoted'(cluster) {
    const node = await cluster.leader()
    node.freeze()
    return async () => node.thaw()
  },
}

/** What a machine that is busy takes longer is measured with psql: a server needs several questions until it writes. */
const probes = 5
const ways = ['hosts', 'proxied'] as const

describe.runIf(hasPatroni() && isDeep)('a failover of a synchronous PostgreSQL', () => {
  it.each(ways)(
    'costs no report and no subscriber a change: %s',
    async (way) => {
      const cluster = await startCluster({ isSynchronous: true })
      const server = { env: { DATABASE_URL: cluster[way] } }
      const servers = await startServers([server, server])
      const { fleet, acknowledgedAt } = servers
      const delays: Record<string, number> = {}
      for (const [name, cause] of Object.entries(faults)) {
        await untilAcknowledged(fleet, 200)
        const heal = await cause(cluster)
        const { at, takes } = await writableAt(
          way === 'hosts' ? cluster.nodes.map(({ url }) => url) : [cluster.proxied],
        )
        await untilAcknowledged(fleet, 200)
        await heal()
        delays[name] = Math.max(...delaysAfter(at, acknowledgedAt)) - probes * takes
      }
      await cluster.primary()
      await untilAcknowledged(fleet, 200)
      await expectNothingMissed(cluster, servers)
      for (const [name, delay] of Object.entries(delays)) expect(delay, name).toBeLessThan(2_000)
    },
    900_000,
  )
})
