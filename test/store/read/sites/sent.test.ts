/** What a server of a site reads of its database to send it: in parts of any size, nothing is missing, and what a row refers to is there. */
import { afterEach, describe, expect, it } from 'vitest'
import { registerDevices } from '../../../../src/ingest/commands/devices/register.ts'
import { recordReport } from '../../../../src/ingest/commands/report.ts'
import { setRolloutLabels } from '../../../../src/ingest/commands/rollout-labels.ts'
import { readHead } from '../../../../src/store/connection/log-head.ts'
import { factsAfter } from '../../../../src/store/read/sites/sent-facts.ts'
import { statesAfter } from '../../../../src/store/read/sites/sent-states.ts'
import { changedTargets } from '../../../../src/store/read/sites/sent-targets.ts'
import { report } from '../../../support/clients/reports.ts'
import { everyStore } from '../../../support/databases/stores.ts'
import { createRoad, type Road } from '../../../support/servers/road.ts'

const device = (deviceId: string, parent: string | null = null) => ({
  ...{ deviceId, name: null, labels: null, parent, expectedInterval: null, tokenHash: `of ${deviceId}` },
})

describe.each(everyStore)('what a site sends, on $name', (store) => {
  const ending: (() => Promise<void>)[] = []
  afterEach(async () => {
    for (const end of ending.splice(0).reverse()) await end()
  })

  async function start(): Promise<Road> {
    const on = await store.create()
    const road = await createRoad(await on.open())
    ending.push(() => on.drop(), road.close)
    return road
  }

  /** Each in a batch of its own. */
  async function fill({ writer }: Road): Promise<void> {
    await writer.submit(registerDevices([device('c/1', 'later')]))
    for (const n of [1, 2, 3])
      await writer.submit(recordReport(report({ reporter: `edge-${n}`, deploymentId: `d-${n}` })))
    // Its parent changes after it did, and a deployment moves to a device that was created after it.
    await writer.submit(registerDevices([device('later', 'last')]))
    await writer.submit(recordReport(report({ reporter: 'edge-1', deploymentId: 'd-1', deviceId: 'c/9' })))
  }

  it.each([1, 2, 5, 1_000])('has the present in parts of %i, each with the devices that it refers to', async (most) => {
    const road = await start()
    await fill(road)
    const { session } = road.database
    const [targets, states] = [new Map<number, number | undefined>(), new Map<number, number>()]
    for (let after = 0, isLast = false; !isLast; ) {
      const part = await statesAfter(session, after, most)
      for (const { key, parent } of part.targets) targets.set(key, parent)
      for (const { key, target } of part.states) states.set(key, target)
      expect([...states.values()].filter((key) => !targets.has(key))).toEqual([])
      expect([...targets.values()].filter((key) => key !== undefined && !targets.has(key))).toEqual([])
      expect(part.isLast || part.to > after).toBe(true)
      ;({ to: after, isLast } = part)
    }
    const keys = await session.run<{ key: number }>('select key from deployments union select key from targets')
    expect([...targets.keys(), ...states.keys()].toSorted((a, b) => a - b)).toEqual(
      keys.map(({ key }) => key).toSorted((a, b) => a - b),
    )
  })

  it.each([1, 2, 1_000])('has changed devices in parts of %i batches and more, each with its parent', async (most) => {
    const road = await start()
    await fill(road)
    const { session } = road.database
    const { writes } = await readHead(session)
    const found = new Map<number, number | undefined>()
    for (let after = 0; after < writes; ) {
      const part = await changedTargets(session, after, writes, most)
      for (const { key, parent } of part.targets) found.set(key, parent)
      expect([...found.values()].filter((key) => key !== undefined && !found.has(key))).toEqual([])
      expect(part.writes).toBeGreaterThan(after)
      after = part.writes
    }
    const keys = await session.run<{ key: number }>('select key from targets order by key')
    expect([...found.keys()].toSorted((a, b) => a - b)).toEqual(keys.map(({ key }) => key))
  })

  it('has each fact with its report, in parts of any size, and passes what stays at the site', async () => {
    const road = await start()
    const { database, writer } = road
    const { revision: first } = await readHead(database.session)
    await fill(road)
    const [rollout] = await database.session.run<{ key: number }>('select key from rollouts order by key limit 1')
    await writer.submit(setRolloutLabels(rollout?.key ?? 0, [{ key: 'a', value: 'b' }], null))
    const { revision: head } = await readHead(database.session)
    const whole = await factsAfter(database.session, {
      ...{ after: first, most: 1_000, reportsAfter: 0, unknown: new Set<number>() },
    })
    expect(whole.upTo).toBe(head)
    const one = []
    for (let after = first, reportsAfter = 0; after < head; ) {
      const part = await factsAfter(database.session, { after, most: 1, reportsAfter, unknown: new Set<number>() })
      one.push(...part.facts)
      after = part.upTo ?? head
      reportsAfter = part.newestReport
    }
    expect(one).toEqual(whole.facts)
    expect(one.filter(({ report }) => report !== undefined)).toHaveLength(4)
    expect(one.flatMap(({ changes }) => changes.map(({ kind }) => kind))).not.toContain('ROLLOUT_LABELS_CHANGED')
  })
})
