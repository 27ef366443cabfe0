/** The log, the reports and the audit log in partitions: divided under writers and dropped under readers. */
import { describe, expect, it, onTestFinished } from 'vitest'
import { recordAudit } from '../../src/ingest/commands/api-access.ts'
import { recordReport } from '../../src/ingest/commands/report.ts'
import { createPartitioning, createRetention, dropDelay } from '../../src/ingest/duties/history.ts'
import { readHead } from '../../src/store/connection/log-head.ts'
import type { Database } from '../../src/store/database.ts'
import { readLog } from '../../src/store/read/changes/changes.ts'
import { resolvePast } from '../../src/store/read/past.ts'
import { smallest } from '../../src/store/write/partition-bounds.ts'
import { dividePartition, findExpired, listPartitions, partitionedTables } from '../../src/store/write/partitions.ts'
import { pruneHistory } from '../../src/store/write/retention.ts'
import { change, closeAfterEach, cursors, open, takeUntil } from '../feed/harness.ts'
import { startFleet } from '../support/clients/fleet.ts'
import { follow } from '../support/clients/follow.ts'
import { divideTables } from '../support/databases/partitions.ts'
import { expectKept, expectSound, revisionsBetween } from '../support/databases/soundness.ts'
import { everyStore, postgresStores } from '../support/databases/stores.ts'
import { isWhole } from '../support/runner/depth.ts'
import { createRoad, type Road } from '../support/servers/road.ts'

closeAfterEach()

const day = 86_400_000
const never = new AbortController().signal
const names = partitionedTables.map(({ name }) => name)
const [logTable] = partitionedTables

async function countsOf(database: Database): Promise<Record<string, number[]>> {
  const counted = names.map(async (name) => {
    const partitions = await listPartitions(database.session, name)
    const rows = partitions.map(({ name: one }) =>
      database.session.run<{ n: number }>(`select count(*) as n from ${one}`),
    )
    return [name, (await Promise.all(rows)).map(([row]) => row?.n ?? 0)] as const
  })
  return Object.fromEntries(await Promise.all(counted))
}

const line = { kind: 'MUTATION', caller: 'a', credential: 'key', address: '', outcome: 'done', detail: null } as const
const audit = (road: Road, action: string) =>
  road.writer.submit(recordAudit([{ ...line, action, at: Date.now(), times: 1 }]))

describe.each(everyStore)('the tables of the history on $name', (store) => {
  it('are divided ahead of the writes, and answer as one', async () => {
    const [road] = await open(store)
    const { revision: start } = await readHead(road.database.session)
    for (let n = 0; n < 3; n += 1) {
      await change(road)
      await audit(road, `${n}`)
      await divideTables(road.database, 1)
    }
    for (let n = 0; n < 3; n += 1) {
      await change(road)
      await audit(road, `${n + 3}`)
    }
    expect(await countsOf(road.database)).toEqual({
      change_log: [2, 1, 1, 2],
      reports: [2, 1, 1, 2],
      audit_log: [2, 1, 1, 2],
      past_deployments: [1, 1, 1, 2],
    })
    expect((await readLog(road.database.session, start, 100)).map(({ revision }) => revision)).toEqual(
      revisionsBetween(start, start + 6),
    )
    const vacuumed = await road.database.session.run<{ options: string[] | null }>(
      `select c.reloptions as options from pg_inherits join pg_class c on c.oid = inhrelid
       where inhparent = any ($1::text[]::regclass[]) and c.relkind = 'r'`,
      [`{${names.join()}}`],
    )
    expect(vacuumed).toHaveLength(16)
    for (const { options } of vacuumed) expect(options).toContain('autovacuum_vacuum_insert_scale_factor=0.02')
    await expectSound(road.database)
  })

  it.runIf(isWhole || store.name === 'PostgreSQL')(
    'are divided by the duty once they are large, and are one table until then',
    async () => {
      const [road] = await open(store)
      await change(road)
      const duty = createPartitioning({ database: road.database, kept: null, signal: never })
      const turn = { now: Date.now() + 100 * day, listeningSince: 0, isOver: () => false }
      expect(await duty.run(turn)).toBe(true)
      expect(await countsOf(road.database)).toEqual({
        change_log: [1],
        reports: [1],
        audit_log: [0],
        past_deployments: [0],
      })
      // As if as many changes had been made: the writer continues after the head.
      await road.database.session.run(
        'update log_head set revision = revision + $1::bigint, next_key = next_key + $1::bigint',
        [smallest],
      )
      expect(await duty.run(turn)).toBe(true)
      expect(await countsOf(road.database)).toEqual({
        change_log: [1, 0, 0],
        reports: [1, 0, 0],
        audit_log: [0],
        past_deployments: [0],
      })
      expect(await duty.run(turn)).toBe(true)
      expect((await countsOf(road.database)).change_log).toHaveLength(3)
      // What receives the writes has not expired, nor what is empty because it will receive them.
      for (const table of partitionedTables)
        expect(await findExpired(road.database.session, table, turn.now)).toEqual([])
    },
  )

  it.runIf(isWhole)('keep a partition of reports with one row that has not expired, wherever it is', async () => {
    const [road] = await open(store)
    const { session } = road.database
    const [, reports] = partitionedTables
    if (!reports) return expect.unreachable()
    const now = Date.now()
    await session.run(
      `insert into reports (deployment_key, key, verdict, received_at, state, dialect)
       select n, n - 2000, 'STALE', $1::timestamptz - case when n = 1 then 0 else 2 end * interval '1 day', 'FAILED', 'margo'
       from generate_series(1, 1000) as n`,
      [new Date(now).toISOString()],
    )
    await divideTables(road.database, 0)
    expect(await findExpired(session, reports, now - day)).toEqual([])
    expect(await findExpired(session, reports, now + 1)).toHaveLength(1)
  })

  it.runIf(isWhole)('keep taking writes while a division is unfinished, and the next one finishes it', async () => {
    const [road] = await open(store)
    const start = await change(road)
    const dying: Database = {
      ...road.database,
      async alter(statements, ...rest) {
        if (statements.length > 1) throw new Error('the server died')
        return road.database.alter(statements, ...rest)
      },
    }
    const last = async () => {
      const partition = (await listPartitions(road.database.session, 'change_log')).at(-1)
      return partition ?? expect.unreachable()
    }
    if (!logTable) return expect.unreachable()
    await expect(dividePartition(dying, logTable, await last(), start + 3)).rejects.toThrow('died')
    await change(road)
    await change(road)
    expect(await last()).toMatchObject({ to: null, cut: start + 3 })
    // It goes on where the other one stopped, whatever bound it would choose itself.
    await dividePartition(road.database, logTable, await last(), start + 1_000)
    await change(road)
    expect((await countsOf(road.database)).change_log).toEqual([3, 1])
    expect(await last()).toMatchObject({ from: start + 3, to: null, cut: null })
  })

  it('lose what has expired by partitions, under subscribers and readers that had begun', async () => {
    const [road] = await open(store)
    const { database } = road
    const { revision: start, tail } = await readHead(database.session)
    for (let n = 0; n < 4; n += 1) await change(road)
    await audit(road, 'old')
    await divideTables(database, 0)
    const { revision: middle, at } = await readHead(database.session)
    const [newest] = await database.session.run<{ at: number }>('select max(at) as at from change_log')
    let now = 0
    const retention = createRetention({ database, kept: day, signal: never, monotonic: () => now })
    const round = (time: number) => retention.run({ now: time, listeningSince: 0, isOver: () => false })
    const files = async () => Object.values(await countsOf(database)).map((counts) => counts.length)

    // Its newest row has not expired.
    await round((newest?.at ?? 0) + day)
    expect(await readHead(database.session)).toMatchObject({ tail })
    const due = at + day + 1
    await expect.poll(() => Date.now()).toBeGreaterThan(at)
    await change(road)
    const live = follow(road, middle)
    // The tail is never after the newest change, so it could not be rounded right after it.
    await database.session.run(`update log_head set at = at + interval '20 seconds'`)
    await round(due)
    // The history has ended, and what it had is there for those that began before. All callers see its time, so it is rounded.
    expect(await readHead(database.session)).toMatchObject({ tail: middle, tailAt: Math.ceil(at / 10_000) * 10_000 })
    expect((await countsOf(database)).change_log).toEqual([4, 1])
    // Nor is it removed row by row meanwhile.
    await round(due + day / 4)
    expect((await countsOf(database)).change_log).toEqual([4, 1])
    now += dropDelay
    await round(due)
    expect(await files()).toEqual([1, 1, 1, 1])
    expect((await countsOf(database)).change_log).toEqual([1])

    const end = await change(road)
    const [reset, ...rest] = await takeUntil(road.changes({ filter: {}, after: start + 1 }), end)
    expect(reset).toEqual({ cursor: middle, change: null, reset: 'CURSOR_EXPIRED' })
    expect(cursors(rest)).toEqual(revisionsBetween(middle, end))
    await expect.poll(() => live.revisions()).toEqual(revisionsBetween(middle, end))
    expect(live.resets()).toEqual([])
    await live.leave()
    const snapshot = await database.snapshot()
    const past = (atRevision: number) => resolvePast(snapshot, { asOf: null, atRevision: `${atRevision}` })
    await expect(past(middle - 1)).rejects.toMatchObject({ code: 'HISTORY_EXPIRED' })
    expect(await past(middle)).toBe(middle)
    await snapshot.close()
  })
})

describe.each(postgresStores)('a change of partitions on $name', (store) => {
  it('under load loses nothing, and a reader that holds the log delays it and no writer', async () => {
    const empty = await store.create()
    onTestFinished(() => empty.drop())
    const roads = [await createRoad(await empty.open()), await createRoad(await empty.open())] as const
    onTestFinished(async () => void (await Promise.all(roads.map((road) => road.close()))))
    const [{ database }, other] = roads
    const { revision: start } = await readHead(database.session)
    const follower = follow(other, start)
    const fleet = startFleet(2, (device) => (said) => roads[device ? 1 : 0].writer.submit(recordReport(said)))
    await expect.poll(() => fleet.acknowledged).toBeGreaterThan(50)
    const reader = await database.snapshot()
    await reader.run('select count(*) from change_log')
    const dividing = divideTables(other.database, 1_000)
    const waits = `select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock' and query like 'alter%'`
    await expect.poll(() => database.session.run(waits), { interval: 5 }).not.toEqual([])
    const during = fleet.acknowledged + 50
    await expect.poll(() => fleet.acknowledged).toBeGreaterThan(during)
    await reader.close()
    await dividing
    const enough = fleet.acknowledged + 1_000
    await expect.poll(() => fleet.acknowledged).toBeGreaterThan(enough)
    const played = await fleet.finish()
    await expectKept(database, played)
    await expectSound(database)
    const { revision } = await readHead(database.session)
    await expect.poll(() => follower.revisions()).toEqual(revisionsBetween(start, revision))
    await follower.leave()
    expect((await countsOf(database)).change_log?.every((count) => count > 0)).toBe(true)
  })

  it('is not all: rows that are removed one by one hold no writer up either', async () => {
    const [road, other] = await open(store, {}, 2)
    await change(road)
    const locked = Promise.withResolvers<void>()
    const release = Promise.withResolvers<void>()
    const holding = other?.database.transaction(async ({ run }) => {
      await run('select 1 from change_log for update')
      locked.resolve()
      await release.promise
    })
    await locked.promise
    const pruning = pruneHistory(road.database, Date.now() + day, 100)
    const waits = `select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock' and query like '%delete from change_log%'`
    await expect.poll(() => road.database.session.run(waits), { interval: 5 }).not.toEqual([])
    const revision = await change(road)
    release.resolve()
    await holding
    expect(await pruning).toBeGreaterThan(0)
    expect((await readHead(road.database.session)).tail).toBeLessThan(revision)
  })
})
