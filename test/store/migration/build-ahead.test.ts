/** The indexes of a migration are built while reports go on, whatever else blocks the database. */
import { describe, expect, it, onTestFinished } from 'vitest'
import { openPostgres } from '../../../src/store/connection/postgres.ts'
import type { Database } from '../../../src/store/database.ts'
import { buildAhead } from '../../../src/store/migration/build-ahead.ts'
import { migrate } from '../../../src/store/migration/migrate.ts'
import { nextTag, nextVersion } from '../../support/databases/next-version.ts'
import { postgresStores, type Store } from '../../support/databases/stores.ts'

/** What a later version may need: indexes of large tables, with a function of its own. */
const next = () =>
  nextVersion(
    `CREATE OR REPLACE FUNCTION size_of(value text) RETURNS int LANGUAGE sql IMMUTABLE AS $$ select octet_length(value) $$;`,
    '-- Why.\nCREATE UNIQUE INDEX IF NOT EXISTS "desired_documents_size" ON "desired_documents" USING btree (size_of(content), digest);',
    'CREATE INDEX IF NOT EXISTS "manifests_size" ON "manifests" USING btree (size_of(why));',
    'ALTER TABLE "manifests" ADD COLUMN "next" integer;',
  )

/** A database of this version with some large tables. */
async function openLarge(store: Store) {
  const bare = await store.createBare()
  onTestFinished(() => bare.drop())
  const open = (): Database => {
    const database = openPostgres({ url: bare.config.url ?? expect.unreachable() })
    onTestFinished(() => database.close())
    return database
  }
  const database = open()
  await migrate(database)
  const { session } = database
  await session.run(
    `insert into desired_documents (digest, content) select r, repeat('x', 1500) from generate_series(1, 8000) r`,
  )
  await session.run(
    `insert into manifests (target_key, version, at, who, why) select r, 1, now(), '', repeat('x', 1500) from generate_series(1, 8000) r`,
  )
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

/** As a server does that does not know the migration. */
async function expectWritable({ session }: Database): Promise<void> {
  await session.run(
    `insert into desired_documents (digest, content) select 'new ' || count(*), '' from desired_documents`,
  )
  await session.run(`update manifests set why = 'changed' where target_key = 1`)
}

const isApplied = async ({ session }: Database): Promise<boolean> =>
  (await session.run('select 1 from migrations where tag = $1', [nextTag])).length > 0

async function expectMigrated(database: Database): Promise<void> {
  expect(await isApplied(database)).toBe(true)
  const valid = await database.session.run(
    `select indexrelid::regclass::text as index, indisunique as "isUnique" from pg_index
     where indrelid in ('desired_documents'::regclass, 'manifests'::regclass) and indisvalid and not indisprimary order by 1`,
  )
  expect(valid).toEqual([
    { index: 'desired_documents_size', isUnique: true },
    { index: 'manifests_size', isUnique: false },
  ])
  expect(await database.session.run('select next from manifests where target_key = 1')).toEqual([{ next: null }])
  expect(await database.session.run('select 1 from pg_index where not indisvalid')).toEqual([])
}

describe.each(postgresStores)('the indexes of large tables on $name', (store) => {
  it('are built before their migration, by one of several servers, and block no report', async () => {
    const [{ database, open }, migrations] = [await openLarge(store), await next()]
    const end = await holdUp(database)
    const servers = [open(), open()]
    const migrating = Promise.all(servers.map((server) => migrate(server, migrations)))
    await expectBuilding(database, 'desired_documents')
    await expectWritable(database)
    expect(await isApplied(database)).toBe(false)
    const endNext = await holdUp(database)
    await end()
    await expectBuilding(database, 'manifests')
    await expectWritable(database)
    expect(await isApplied(database)).toBe(false)
    await endNext()
    await migrating
    await expectMigrated(database)
  })

  it('are built anew after a server that ended while it built', async () => {
    const [{ database, open }, migrations] = [await openLarge(store), await next()]
    const end = await holdUp(database)
    const failing = expect(migrate(open(), migrations)).rejects.toThrow()
    await database.session.run(`select pg_terminate_backend(${await expectBuilding(database, 'desired_documents')})`)
    await failing
    await end()
    expect(await database.session.run('select indexrelid::regclass from pg_index where not indisvalid')).toHaveLength(1)
    // Also on a table that is small by then.
    await database.session.run('truncate desired_documents')
    await migrate(open(), migrations)
    await expectMigrated(database)
  })

  it('fail with the reason when an old transaction does not end', async () => {
    const { database } = await openLarge(store)
    const end = await holdUp(database)
    const statements = ['-- Why.\nCREATE INDEX IF NOT EXISTS "manifests_why" ON "manifests" USING hash (why)']
    let applied = 0
    const build = (lockLimit?: number) =>
      buildAhead(database, { tag: nextTag, statements }, async () => void applied++, lockLimit)
    await expect(build(50)).rejects.toThrow(
      'the index manifests_why of manifests cannot be built, because an older transaction is open',
    )
    expect(applied).toBe(0)
    await end()
    await build()
    expect(applied).toBe(1)
    expect(await database.session.run('select 1 from pg_index where not indisvalid')).toEqual([])
  })
})
