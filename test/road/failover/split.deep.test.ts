/** A network that is split: on one side the primary and a server, on the other the standby, the consensus store and a server. */
import { describe, expect, it, onTestFinished } from 'vitest'
import { canNetwork, startMachines } from '../../support/systems/networks.ts'
import { hasPatroni } from '../../support/systems/patroni.ts'
import { expectNothingMissed, startCluster, startServers, untilAcknowledged } from './harness.ts'

const open = { DEVICE_AUTH: 'open', API_AUTH: 'open', MAX_STREAMS: 'off', ADDRESS_RATE: 'off', DEVICE_RATE: 'off' }

// A container without CAP_NET_ADMIN has no networks of its own.
describe.runIf(hasPatroni() && canNetwork())('a network between two servers that is split', () => {
  it('has the side of the majority go on, and loses nothing of either side', async () => {
    const machines = startMachines()
    onTestFinished(() => machines.dispose())
    const [, far] = machines.places
    const cluster = await startCluster({ isSynchronous: true, places: { consensus: far, nodes: machines.places } })
    const [near = expect.unreachable()] = cluster.nodes
    if ((await cluster.leader()) !== near) await cluster.switchOver()
    expect(await cluster.leader()).toBe(near)
    const serverOn = (side: 0 | 1) => ({
      env: { ...open, DATABASE_URL: cluster.hosts, HOST: machines.reached[side] },
      prefix: machines.places[side].prefix,
    })
    const servers = await startServers([serverOn(0), serverOn(1)])
    const { fleet, acknowledgedAt } = servers
    await untilAcknowledged(fleet, 200)

    machines.cut()
    const since = performance.now()
    const countOf = (side: 0 | 1): number => acknowledgedAt[side]?.filter((at) => at > since + 15_000).length ?? 0
    await expect.poll(() => countOf(1), { timeout: 120_000 }).toBeGreaterThan(100)
    // The old primary lives, and no commit of it is taken for one.
    expect(countOf(0)).toBe(0)
    machines.mend()
    await expect.poll(() => countOf(0), { timeout: 120_000 }).toBeGreaterThan(100)
    await cluster.leader()
    await expectNothingMissed(cluster, servers)
  })
})
