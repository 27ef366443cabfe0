/** The indexes of a migration are built while reports go on, whatever else blocks the database. */
import { describe, expect, it, onTestFinished } from 'vitest'
import { openPostgres } from '../../../src/store/connection/postgres.ts'
import type { Database } from '../../../src/store/database.ts'
import { buildAhead } from '../../../src/store/migration/build-ahead.ts'
import { migrate, missingMigrations, readMigrations } from '../../../src/store/migration/migrate.ts'
import { postgresStores, type Store } from '../../support/databases/stores.ts'

const known = await readMigrations()

/** A database before the migrations that index large tables, with some large tables. */
async function openOld(store: Store) {
  const bare = await store.createBare()
  onTestFinished(() => bare.drop())
  const open = (): Database => {
    const database = openPostgres({ url: bare.config.url ?? expect.unreachable() })
    onTestFinished(() => database.close())
    return database
  }
  const database = open()
  await migrate(
    database,
    known.filter(({ tag }) => tag < '0032'),
  )
  const { session } = database
  await session.run(`insert into change_log (first_revision, last_revision, at, changes)
    select r, r, now(), to_json(repeat('x', 100)) from generate_series(1, 60000) r`)
  await session.run(`insert into targets (key, kind, provider, name, display_name)
    select r, 'DEVICE', '', 'edge-' || r, repeat('pump ', 20) || r from generate_series(1, 60000) r`)
  return { database, open }
}

/** A backup, for which PostgreSQL does not finish an index. Call the result to end it. */
async function holdUp({ onOwnConnection }: Database): Promise<() => Promise<void>> {
  const [held, ended] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const holding = onOwnConnection?.(1_000, async (run) => {
    await run('begin isolation level repeatable read')
    await run('select 1')
    held.resolve()
    await ended.promise
    await run('commit')
  })
  await held.promise
  return async () => {
    ended.resolve()
    await holding
  }
}

const builds = `select pid, relid::regclass::text as "table", phase from pg_stat_progress_create_index
  where command = 'CREATE INDEX CONCURRENTLY' and datname = current_database()`

async function expectBuilding(database: Database, table: string): Promise<number> {
  const found = () => database.session.run<{ pid: number; table: string; phase: string }>(builds)
  await expect.poll(found).toMatchObject([{ table, phase: 'waiting for old snapshots' }])
  return (await found())[0]?.pid ?? expect.unreachable()
}

/** As a report does, of a server that does not know the migration. */
async function expectWritable({ session }: Database): Promise<void> {
  await session.run(`insert into change_log (first_revision, last_revision, at, changes)
    select max(first_revision) + 1, max(first_revision) + 1, now(), '[]' from change_log`)
  await session.run(`update targets set display_name = 'pump' where key = 1`)
}

async function expectMigrated({ session }: Database): Promise<void> {
  expect(await missingMigrations(session)).toEqual([])
  expect(await session.run('select 1 from pg_index where not indisvalid')).toEqual([])
}

describe.each(postgresStores)('the indexes of large tables on $name', (store) => {
  it('are built before their migration, by one of several servers, and block no report', async () => {
    const { database, open } = await openOld(store)
    const end = await holdUp(database)
    const servers = [open(), open()]
    const migrating = Promise.all(servers.map((server) => migrate(server)))
    await expectBuilding(database, 'change_log')
    await expectWritable(database)
    expect(await missingMigrations(database.session)).toContain('0032_cheaper-report')
    const endNext = await holdUp(database)
    await end()
    await expectBuilding(database, 'targets')
    await expectWritable(database)
    await endNext()
    await migrating
    await expectMigrated(database)
  })

  it('are built anew after a server that ended while it built', async () => {
    const { database, open } = await openOld(store)
    const end = await holdUp(database)
    const failing = expect(migrate(open())).rejects.toThrow()
    await database.session.run(`select pg_terminate_backend(${await expectBuilding(database, 'change_log')})`)
    await failing
    await end()
    expect(await database.session.run('select indexrelid::regclass from pg_index where not indisvalid')).toHaveLength(1)
    // Also on a table that is small by then.
    await database.session.run('truncate change_log')
    await migrate(open())
    await expectMigrated(database)
  })

  it('fail with the reason when an old transaction does not end', async () => {
    const { database } = await openOld(store)
    const end = await holdUp(database)
    const tag = '9999_newer'
    const statements = [
      '-- Why.\nCREATE INDEX IF NOT EXISTS "change_log_said" ON "change_log" USING btree ((changes::text))',
    ]
    let applied = 0
    const build = (lockLimit?: number) =>
      buildAhead(database, { tag, statements }, async () => void applied++, lockLimit)
    await expect(build(50)).rejects.toThrow(
      'the index change_log_said of change_log cannot be built, because an older transaction is open',
    )
    expect(applied).toBe(0)
    await end()
    await build()
    expect(applied).toBe(1)
    expect(await database.session.run('select 1 from pg_index where not indisvalid')).toEqual([])
  })
})
