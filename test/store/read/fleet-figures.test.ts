/** The numbers for monitoring are those of a recount, whatever the fleet has been through. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Database } from '../../../src/store/database.ts'
import {
  countConnectivity,
  type FleetFigures,
  readFleetFigures,
} from '../../../src/store/read/monitoring/fleet-figures.ts'
import { type EmptyStore, stores } from '../../support/databases/stores.ts'
import { inSnapshot, live } from './history.ts'

interface Recounted {
  readonly rollout: string
  readonly kind: string
  readonly state: string
  readonly convergence: string
  readonly stalled: boolean
  readonly changed_at: number
}

const recount = `select r.name as rollout, r.kind::text as kind, d.state::text as state, d.convergence::text as convergence, d.stalled, d.changed_at
  from deployments d join rollouts r on r.key = d.rollout_key where d.forgotten_at is null and d.is_current`

describe.each(stores)('the figures of the fleet on $name', (store) => {
  let empty: EmptyStore
  let database: Database
  let rows: readonly Recounted[]

  beforeAll(async () => {
    empty = await store.create()
    database = await empty.open()
    await live(database, 17, 60)
    await database.transaction((session) => session.run('update deployments set stalled = (key % 3 = 0)'))
    rows = await database.session.run<Recounted>(recount)
  })
  afterAll(async () => {
    await database.close()
    await empty.drop()
  })

  const read = (most: number): Promise<FleetFigures> =>
    inSnapshot(database, (session) => readFleetFigures(session, most))
  const numberOf = (matches: (row: Recounted) => boolean): number => rows.filter(matches).length

  it('are those of the newest rollouts that are intents, and of all deployments', async () => {
    const { fleet, rollouts } = await read(20)
    expect(rows.length).toBeGreaterThan(10)
    expect(fleet.counters.installed).toBe(numberOf((row) => row.state === 'INSTALLED'))
    expect(fleet.counters.convergenceUnknown).toBe(numberOf((row) => row.convergence === 'UNKNOWN'))
    expect(fleet.stalled).toBe(numberOf((row) => row.stalled))
    expect(fleet.stalled).toBeGreaterThan(0)
    expect(rollouts.length).toBeGreaterThan(1)
    for (const { name, counters, stalled } of rollouts) {
      const isOwn = (row: Recounted) => row.kind === 'DECLARED' && row.rollout === name.split('/').at(-1)
      const sameName = rollouts.filter((other) => other.name.split('/').at(-1) === name.split('/').at(-1))
      if (sameName.length > 1) continue
      expect([name, counters.failed, stalled]).toEqual([
        name,
        numberOf((row) => isOwn(row) && row.state === 'FAILED'),
        numberOf((row) => isOwn(row) && row.stalled),
      ])
    }
    const singles = numberOf((row) => row.kind === 'MARGO_DEPLOYMENT')
    const shown = rollouts.flatMap(({ counters: { pending, installing, installed, failed, removing, removed } }) => [
      pending + installing + installed + failed + removing + removed,
    ])
    expect(shown.reduce((sum, n) => sum + n, singles)).toBe(rows.length)
  })

  it('name no more rollouts than were asked for, the newest first', async () => {
    const all = (await read(20)).rollouts.map(({ name }) => name)
    expect((await read(1)).rollouts.map(({ name }) => name)).toEqual(all.slice(0, 1))
    expect((await read(0)).rollouts).toEqual([])
  })

  it('know since when a deployment is unfinished', async () => {
    const { oldest } = await read(0)
    for (const [state, since] of Object.entries(oldest)) {
      const times = rows.filter((row) => row.state === state).map(({ changed_at }) => changed_at)
      expect([state, since]).toEqual([state, times.length === 0 ? null : Math.min(...times)])
    }
  })

  it('count devices in service by connectivity', async () => {
    await database.transaction((session) =>
      session.run(`update targets set connectivity = 'OFFLINE' where name = 'beta'`),
    )
    const known = await database.session.run<{ connectivity: string }>(
      `select connectivity::text as connectivity from targets where kind = 'DEVICE'`,
    )
    const knownAs = (connectivity: string) => known.filter((each) => each.connectivity === connectivity).length
    const before = await countConnectivity(database.session)
    expect(before).toEqual({ UNKNOWN: knownAs('UNKNOWN'), ONLINE: knownAs('ONLINE'), OFFLINE: 1, RETRYING: 0 })
    await database.transaction((session) => session.run(`update targets set retired_at = now() where name = 'beta'`))
    expect(await countConnectivity(database.session)).toEqual({ ...before, OFFLINE: 0 })
  })
})
