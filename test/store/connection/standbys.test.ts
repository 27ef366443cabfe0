/** Snapshots that are read from streaming standbys: what they include, and which server they read. */
import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { recordReport } from '../../../src/ingest/commands/report.ts'
import { beginEpoch } from '../../../src/store/connection/epoch.ts'
import { includes, readHead } from '../../../src/store/connection/log-head.ts'
import { openPostgres } from '../../../src/store/connection/postgres.ts'
import { openStandby, type Standby } from '../../../src/store/connection/standbys/standby.ts'
import { type StandbyHooks, withStandbys } from '../../../src/store/connection/standbys/standbys.ts'
import type { Database } from '../../../src/store/database.ts'
import { openDatabase } from '../../../src/store/open.ts'
import { report } from '../../support/clients/reports.ts'
import { findPostgres } from '../../support/databases/postgres-server.ts'
import {
  look,
  type Pair,
  pause,
  problems,
  resume,
  startPair,
  states,
  untilLevel,
  untilUsed,
} from '../../support/databases/standby-pair.ts'
import { createRoad, type Road } from '../../support/servers/road.ts'

const patient = { timeout: 60_000 }

let n = 0
const change = async ({ writer }: Road): Promise<number> => {
  n += 1
  const { revision } = await writer.submit(recordReport(report({ deploymentId: `d-${n}` })))
  return revision
}

async function openRoad(database: Database): Promise<Road> {
  const road = await createRoad(database)
  onTestFinished(() => road.close())
  return road
}

describe('a position of the log', () => {
  const at = (epochBase: number, revision: number, writes: number) => ({ epochBase, revision, writes })
  it.each([
    { it: 'itself', one: at(0, 5, 5), other: at(0, 5, 5), answer: true },
    { it: 'an earlier revision', one: at(0, 6, 6), other: at(0, 5, 5), answer: true },
    { it: 'no later revision', one: at(0, 5, 9), other: at(0, 6, 6), answer: false },
    { it: 'no later batch without a change', one: at(0, 5, 5), other: at(0, 5, 6), answer: false },
    { it: 'the epoch before, whose lost batches were more', one: at(100, 101, 3), other: at(0, 6, 9), answer: true },
    { it: 'no later epoch', one: at(0, 6, 9), other: at(100, 100, 3), answer: false },
  ])('includes $it', ({ one, other, answer }) => {
    expect(includes(one, other)).toBe(answer)
  })
})

describe.skipIf(!findPostgres())('a snapshot beside two streaming standbys', () => {
  let pair: Pair
  beforeAll(async () => {
    pair = await startPair(2)
  })
  afterAll(() => pair.dispose())
  beforeEach(async () => {
    for (const standby of pair.standbys) await resume(standby)
  })

  it('reads a standby, in turns, and includes each write that was acknowledged before', async () => {
    const database = await pair.open()
    const [road, other] = [await openRoad(database), await openRoad(await pair.open())]
    await untilUsed(database)
    const isEachRead = (): boolean => states(database).every(({ reads }) => reads > 5)
    for (let time = 0; time < 30 || !isEachRead(); time += 1) {
      const acknowledged = await change(time % 2 ? road : other)
      const shown = await look(database, 'present')
      expect(shown.revision).toBeGreaterThanOrEqual(acknowledged)
    }
  })

  it('reads the primary if it must, and if nothing is said', async () => {
    const database = await pair.open()
    await untilUsed(database)
    const before = database.standbys?.primaryReads() ?? 0
    expect(await look(database, 'primary')).toMatchObject({ isOnStandby: false })
    expect(await look(database, undefined)).toMatchObject({ isOnStandby: false })
    expect(database.standbys?.primaryReads()).toBe(before + 2)
  })

  it('reads the primary while replay is paused, or a standby for a revision that it has', async () => {
    const database = await pair.open()
    const road = await openRoad(database)
    await untilUsed(database)
    const known = await change(road)
    await untilLevel(database)
    expect(await look(database, 'present')).toEqual({ revision: known, isOnStandby: true })
    for (const standby of pair.standbys) await pause(standby)
    const next = await change(road)
    expect(await look(database, 'present')).toEqual({ revision: next, isOnStandby: false })
    expect(await look(database, next)).toEqual({ revision: next, isOnStandby: false })
    expect(await look(database, known)).toEqual({ revision: known, isOnStandby: true })
    for (const standby of pair.standbys) await resume(standby)
    await untilLevel(database)
    await expect.poll(() => look(database, 'present'), patient).toEqual({ revision: next, isOnStandby: true })
  })

  it('reads the standby that has the revision, if another has not', async () => {
    const database = await pair.open()
    const road = await openRoad(database)
    await untilUsed(database)
    const [one] = pair.standbys
    if (one) await pause(one)
    const next = await change(road)
    await look(database, 'present')
    await expect.poll(() => states(database)[1]?.lag?.revisions, patient).toBe(0)
    const before = states(database).map(({ reads }) => reads)
    for (let time = 0; time < 10; time += 1)
      expect(await look(database, next)).toEqual({ revision: next, isOnStandby: true })
    expect(states(database).map(({ reads }, index) => reads - (before[index] ?? 0))).toEqual([0, 10])
  })

  it('has the present for a revision that the primary does not have either', async () => {
    const database = await pair.open()
    const road = await openRoad(database)
    await untilUsed(database)
    const { revision } = await look(database, Number.MAX_SAFE_INTEGER)
    expect(revision).toBe((await readHead(road.database.session)).revision)
  })

  it('leaves out a standby that is too far behind, and comes back to it', async () => {
    const database = await pair.open(1_000)
    const road = await openRoad(database)
    await untilUsed(database)
    const known = await change(road)
    await untilLevel(database)
    for (const standby of pair.standbys) await pause(standby)
    await change(road)
    const behind = 'it is more than 1 s behind'
    await expect.poll(() => problems(database), patient).toEqual([behind, behind])
    // A caller that would be content with an older state gets the present.
    expect(await look(database, known)).toMatchObject({ isOnStandby: false })
    expect(states(database)[0]?.lag?.seconds).toBeGreaterThan(1)
    for (const standby of pair.standbys) await resume(standby)
    await untilUsed(database)
    await expect.poll(() => look(database, known), patient).toMatchObject({ isOnStandby: true })
  })

  it('does not read a standby that is still in another epoch than the primary', async () => {
    const database = await pair.open()
    const road = await openRoad(database)
    await untilUsed(database)
    const known = await change(road)
    for (const standby of pair.standbys) await pause(standby)
    await database.transaction((session) => beginEpoch(session, Date.now()))
    await expect.poll(() => look(database, known), patient).toMatchObject({ isOnStandby: false })
    for (const standby of pair.standbys) await resume(standby)
    await untilUsed(database)
    await expect.poll(() => look(database, 'present'), patient).toMatchObject({ isOnStandby: true })
  })

  it('reads the primary while a standby is down, loses no reader, and comes back', async () => {
    const database = await pair.open()
    const road = await openRoad(database)
    await untilUsed(database)
    const held = await database.snapshot(undefined, 'present')
    for (const standby of pair.standbys) await standby.stop('immediate')
    for (let time = 0; time < 5; time += 1) {
      const acknowledged = await change(road)
      expect(await look(database, 'present')).toEqual({ revision: acknowledged, isOnStandby: false })
    }
    await expect(held.run('select count(*) from deployments')).rejects.toThrow()
    expect(held.isStandbyLost?.()).toBe(true)
    await held.close()
    for (const standby of pair.standbys) await standby.start()
    await untilUsed(database)
    await expect.poll(() => look(database, 'present'), patient).toMatchObject({ isOnStandby: true })
  })

  it('waits once for a standby that does not get there in time', async () => {
    const [standby] = pair.standbys
    if (!standby) throw new Error('no standby')
    const waits: number[] = []
    const open = (hooks: StandbyHooks): Standby => {
      const own = openStandby({ url: standby.url, patience: 100, ...hooks })
      const reach: Standby['reach'] = (position) => {
        waits.push(position.revision)
        return own.reach(position)
      }
      return { ...own, reach }
    }
    const database = await withStandbys(openPostgres({ url: pair.primary.url }), {
      standbys: [open],
      lagLimit: 60_000,
      checkInterval: 3_600_000,
    })
    const road = await openRoad(database)
    await untilUsed(database)
    await pause(standby)
    const next = await change(road)
    for (let time = 0; time < 3; time += 1)
      expect(await look(database, 'present')).toEqual({ revision: next, isOnStandby: false })
    expect(waits.filter((revision) => revision === next)).toHaveLength(1)
  })

  it('is said to be left out when a read finds out, not at the next check', async () => {
    const [standby] = pair.standbys
    if (!standby) throw new Error('no standby')
    const open = (hooks: StandbyHooks) => openStandby({ url: standby.url, patience: 100, ...hooks })
    const database = await withStandbys(openPostgres({ url: pair.primary.url }), {
      standbys: [open],
      lagLimit: 60_000,
      checkInterval: 3_600_000,
    })
    onTestFinished(() => database.close())
    const noticed: (string | null)[] = []
    database.standbys?.onChange(({ problem }) => noticed.push(problem))
    await untilUsed(database)
    await standby.stop('immediate')
    expect(await look(database, 'present')).toMatchObject({ isOnStandby: false })
    expect(noticed).toEqual(['it cannot be reached'])
    await standby.start()
  })
})

describe.skipIf(!findPostgres())('a standby that is promoted', () => {
  it('is left out at once, while the old primary lives and both are written', async () => {
    const pair = await startPair()
    onTestFinished(() => pair.dispose())
    const database = await pair.open()
    const road = await openRoad(database)
    await untilUsed(database)
    const known = await change(road)
    await pair.standbys[0]?.promote()
    // A server that an operator points at the new primary.
    const elsewhere = await openRoad(await openPromoted(pair))
    const foreign = await change(elsewhere)
    expect(foreign).toBeGreaterThan(known + 2 ** 40)
    for (const freshness of ['present', known] as const)
      expect(await look(database, freshness)).toEqual({ revision: known, isOnStandby: false })
    const next = await change(road)
    expect(next).toBeLessThan(foreign)
    expect(await look(database, next)).toEqual({ revision: next, isOnStandby: false })
    await expect.poll(() => problems(database)[0], patient).toMatch(/promoted/)
    // A revision of the other history is none of this one: the answer is the present.
    expect(await look(database, foreign)).toEqual({ revision: next, isOnStandby: false })
  })
})

function openPromoted({ standbys }: Pair): Promise<Database> {
  return openDatabase({ url: standbys[0]?.url ?? '', dataDir: 'memory' })
}
