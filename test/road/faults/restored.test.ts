/** A copy of the database is put back while servers run and subscribers have received more than it contains: each gets a reset. */
import { cpSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { recordReport } from '../../../src/ingest/commands/report.ts'
import { readHead } from '../../../src/store/connection/log-head.ts'
import type { Database } from '../../../src/store/database.ts'
import { openDatabase } from '../../../src/store/open.ts'
import { type Follower, follow } from '../../support/clients/follow.ts'
import { report } from '../../support/clients/reports.ts'
import { findPostgres, type PostgresServer, startPostgres } from '../../support/databases/postgres-server.ts'
import { expectSound, revisionsBetween } from '../../support/databases/soundness.ts'
import { temporaryFolder } from '../../support/folder.ts'
import { isWhole } from '../../support/runner/depth.ts'
import { startNode } from '../../support/servers/child.ts'
import { createRoad, type Road } from '../../support/servers/road.ts'

describe.skipIf(!findPostgres())('a backup that is restored under running servers', () => {
  let server: PostgresServer
  beforeAll(async () => {
    server = await startPostgres()
  })
  afterAll(() => server.dispose())

  async function openRoad(wrap: (database: Database) => Database = (database) => database): Promise<Road> {
    const road = await createRoad(wrap(await openDatabase({ url: server.url, dataDir: 'memory' })), {
      feed: { pollInterval: wrap === deaf ? 3_600_000 : 100 },
      writer: { commitTimeout: 60_000 },
    })
    onTestFinished(() => road.close())
    return road
  }

  async function backUp(): Promise<void> {
    await server.stop('fast')
    server.backUp()
    await server.start()
  }

  async function restore(): Promise<void> {
    await server.stop('immediate')
    server.restore()
    await server.start()
  }

  it('tells every subscriber who is ahead, and none who is not', async () => {
    const roads = [await openRoad(), await openRoad()] as const
    const [one, other] = roads
    const start = (await readHead(one.database.session)).revision
    await change(one)
    const kept = await change(other)
    await backUp()
    await change(one)
    const lost = await change(other)
    const ahead = roads.map((road) => follow(road, start))
    for (const follower of ahead) await expect.poll(() => follower.revisions()).toEqual(revisionsBetween(start, lost))

    await restore()
    for (const follower of ahead) await expect.poll(() => follower.resets()).toHaveLength(1)
    const next = [await change(one), await change(other)]
    const { epochBase } = await readHead(one.database.session)
    expect(epochBase).toBeGreaterThan(lost)
    expect(next).toEqual([epochBase + 1, epochBase + 2])
    for (const follower of ahead) {
      await expect.poll(() => follower.events.at(-1)?.cursor).toBe(epochBase + 2)
      expectTold(follower, [...revisionsBetween(start, lost)], epochBase, next)
      await follower.leave()
    }
    // Subscribers that were away: one had received what is lost, the other had not.
    const late = [follow(one, lost), follow(other, kept)] as const
    for (const follower of late) await expect.poll(() => follower.events.at(-1)?.cursor).toBe(epochBase + 2)
    expectTold(late[0], [], epochBase, next)
    expect(late[1].events.map(({ cursor, reset }) => [cursor, reset])).toEqual(next.map((cursor) => [cursor, null]))
    for (const follower of late) await follower.leave()
    await expectSound(one.database)
  })

  it('is noticed by the writer that was idle meanwhile, before it writes', async () => {
    const road = await openRoad(deaf)
    const start = (await readHead(road.database.session)).revision
    await change(road)
    await backUp()
    const follower = follow(road, start)
    const lost = await change(road, 'born-and-lost')
    await expect.poll(() => follower.revisions().at(-1)).toBe(lost)
    await restore()
    // What the writer remembers of this deployment never happened here: it is born again.
    const next = await change(road, 'born-and-lost')
    const { epochBase } = await readHead(road.database.session)
    expect(epochBase).toBeGreaterThan(lost)
    expect(next).toBe(epochBase + 1)
    await expect.poll(() => follower.events.at(-1)?.cursor).toBe(next)
    expect(follower.resets()).toMatchObject([{ cursor: epochBase, reset: 'CURSOR_EXPIRED' }])
    expect(follower.events.at(-1)?.change).toMatchObject({ deploymentId: 'born-and-lost', from: null })
    await follower.leave()
    await expectSound(road.database)
  })

  it('is noticed by the next subscriber', async () => {
    const road = await openRoad(deaf)
    const kept = await change(road)
    await backUp()
    const lost = await change(road)
    await expect.poll(() => road.feed.hub.last).toBe(lost)
    await restore()
    const late = [follow(road, lost), follow(road, kept)] as const
    await expect.poll(() => late[0].resets()).toHaveLength(1)
    const next = await change(road)
    for (const follower of late) await expect.poll(() => follower.events.at(-1)?.cursor).toBe(next)
    expectTold(late[0], [], next - 1, [next])
    expect(late[1].events.map(({ cursor }) => cursor)).toEqual([next])
    for (const follower of late) await follower.leave()
  })

  it.runIf(isWhole)('is noticed by a writer that had only heard of what is lost', async () => {
    const [writing, hearing] = [await openRoad(), await openRoad(deaf)]
    const start = await change(writing)
    await change(hearing)
    await backUp()
    const lost = await change(writing)
    await writing.close()
    const follower = follow(hearing, start)
    await expect.poll(() => follower.revisions().at(-1)).toBe(lost)
    await restore()
    const next = await change(hearing)
    expect(next).toBe((await readHead(hearing.database.session)).epochBase + 1)
    expect(next).toBeGreaterThan(lost)
    await expect.poll(() => follower.events.at(-1)?.cursor).toBe(next)
    expect(follower.resets()).toHaveLength(1)
    await follower.leave()
  })
})

describe('a data directory that is put back', () => {
  it('tells every subscriber who is ahead, after npm run new-epoch', async () => {
    const dataDir = temporaryFolder()
    const backup = join(temporaryFolder(), 'copy')
    const open = async (): Promise<Road> => createRoad(await openDatabase({ url: null, dataDir }))
    const first = await open()
    const kept = await change(first)
    await first.close()
    cpSync(dataDir, backup, { recursive: true })
    const second = await open()
    const lost = await change(second)
    await second.close()
    rmSync(dataDir, { recursive: true })
    cpSync(backup, dataDir, { recursive: true })
    const command = startNode(['src/bin.ts', 'new-epoch', '--yes'], { DATA_DIR: dataDir })
    expect(await command.ended).toBe(0)

    const road = await open()
    onTestFinished(() => road.close())
    const next = await change(road)
    expect(next).toBeGreaterThan(lost)
    const late = [follow(road, lost), follow(road, kept)] as const
    for (const follower of late) await expect.poll(() => follower.events.at(-1)?.cursor).toBe(next)
    expectTold(late[0], [], next - 1, [next])
    expect(late[1].events.map(({ cursor, reset }) => [cursor, reset])).toEqual([[next, null]])
    for (const follower of late) await follower.leave()
    await expectSound(road.database)
  })

  it.runIf(isWhole)('tells them also when the clock was ahead as the log was born', async () => {
    const dataDir = temporaryFolder()
    const backup = join(temporaryFolder(), 'copy')
    const open = async (now?: () => number): Promise<Road> =>
      createRoad(await openDatabase({ url: null, dataDir }, now))
    const first = await open(() => Date.now() + 7_200_000)
    await change(first)
    await first.close()
    cpSync(dataDir, backup, { recursive: true })
    const second = await open()
    let lost = 0
    for (let n = 0; n < 20; n += 1) lost = await change(second)
    await second.close()
    rmSync(dataDir, { recursive: true })
    cpSync(backup, dataDir, { recursive: true })
    const command = startNode(['src/bin.ts', 'new-epoch', '--yes'], { DATA_DIR: dataDir })
    expect(await command.ended).toBe(0)

    const road = await open()
    onTestFinished(() => road.close())
    const next: number[] = []
    for (let n = 0; n < 40; n += 1) next.push(await change(road))
    const late = follow(road, lost)
    await expect.poll(() => late.events.at(-1)?.cursor).toBe(next.at(-1))
    expectTold(late, [], (next[0] ?? 0) - 1, next)
    await late.leave()
  })
})

let turn = 0
/** A report that certainly changes something; its revision. */
async function change({ writer }: Road, deploymentId = 'd-1'): Promise<number> {
  turn += 1
  const command = recordReport(report({ deploymentId, state: 'FAILED', error: { code: `${turn}`, message: '' } }))
  return (await writer.submit(command)).revision
}

/** Hears no doorbell: what its own writer notices is all that it has. */
function deaf(database: Database): Database {
  return { ...database, listen: async (ring) => ring(null) }
}

function expectTold(follower: Follower, before: readonly number[], base: number, after: readonly number[]): void {
  expect(follower.events.map(({ cursor, reset }) => [cursor, reset])).toEqual([
    ...before.map((cursor) => [cursor, null]),
    [base, 'CURSOR_EXPIRED'],
    ...after.map((cursor) => [cursor, null]),
  ])
}
