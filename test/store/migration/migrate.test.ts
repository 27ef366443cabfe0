import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { generateDrizzleJson, generateMigration } from 'drizzle-kit/api'
import { is } from 'drizzle-orm'
import { getTableConfig, PgTable } from 'drizzle-orm/pg-core'
import { describe, expect, it, onTestFinished } from 'vitest'
import { type Migration, migrate, missingMigrations, readMigrations } from '../../../src/store/migration/migrate.ts'
import * as schema from '../../../src/store/tables/schema.ts'
import { openFresh } from '../../support/databases/databases.ts'
import { postgresStores, stores } from '../../support/databases/stores.ts'
import { startChild } from '../../support/servers/child.ts'

const folder = join(import.meta.dirname, '../../../drizzle')
const known = await readMigrations()

function migration(tag: string, ...statements: string[]): Migration {
  return { tag, text: statements.join('--> statement-breakpoint') }
}

describe('the migrations', () => {
  it('make the tables that schema.ts describes', async () => {
    const [newest = ''] = (known.at(-1)?.tag ?? '').split('_')
    const snapshot = JSON.parse(readFileSync(join(folder, `meta/${newest}_snapshot.json`), 'utf8'))
    const present = generateDrizzleJson(schema, snapshot.id)
    expect(await generateMigration(snapshot, present)).toEqual([])
  })

  it('stay those of the running program while a newer version is installed in its folder', async () => {
    expect(await readMigrations()).toBe(known)
  })
})

describe.each(stores)('migrating on $name', (store) => {
  it('makes each column and index that schema.ts describes, also where its SQL is by hand', async () => {
    const { session } = await openFresh(store)
    const described = Object.values(schema).flatMap((one) => (is(one, PgTable) ? [getTableConfig(one)] : []))
    const columns = described.flatMap(({ name, columns: all }) =>
      all.map((column) => `${name}.${column.name} ${column.getSQLType()}${column.notNull ? ' not null' : ''}`),
    )
    const found = await session.run<{ line: string }>(
      `select relname || '.' || attname || ' ' || format_type(atttypid, atttypmod) || case when attnotnull then ' not null' else '' end as line
       from pg_attribute join pg_class c on c.oid = attrelid
       where relnamespace = 'public'::regnamespace and relkind in ('r', 'p') and not relispartition and relname <> 'migrations'
         and attnum > 0 and not attisdropped`,
    )
    // drizzle writes a space before the precision of a time, and one within that of a number.
    const linesOf = (lines: readonly string[]) =>
      lines.map((line) => line.replace(' (', '(').replace(', ', ',')).toSorted()
    expect(linesOf(found.map(({ line }) => line))).toEqual(linesOf(columns))
    const indexes = described.flatMap(({ name, indexes: all }) => all.map(({ config }) => `${name} ${config.name}`))
    const made = await session.run<{ line: string }>(
      `select t.relname || ' ' || i.relname as line from pg_index join pg_class t on t.oid = indrelid join pg_class i on i.oid = indexrelid
       where t.relnamespace = 'public'::regnamespace and not t.relispartition and not indisprimary`,
    )
    expect(made.map(({ line }) => line).toSorted()).toEqual(indexes.toSorted())
  })

  it('applies what is missing, also when it was merged after a later one, and only once', async () => {
    const database = await openFresh(store)
    const later = [...known, migration('0900_later', 'create table later (n int)')]
    await migrate(database, later)
    const both = [...known, migration('0800_earlier', 'create table earlier (n int)'), ...later.slice(-1)]
    await migrate(database, both)
    await migrate(database, both)
    expect(await database.session.run('select * from earlier, later')).toEqual([])
  })

  it('leaves a newer version’s database as it is', async () => {
    const database = await openFresh(store)
    await migrate(database, [...known, migration('9999_newer', 'alter table leases add column newer int')])
    await migrate(database)
    expect(await missingMigrations(database.session)).toEqual([])
    expect(await database.session.run('select newer from leases')).toEqual([])
  })

  it('leaves nothing of one that fails', async () => {
    const database = await openFresh(store)
    const broken = migration('0900_broken', 'create table half (n int)', 'create table half (n int)')
    await expect(migrate(database, [...known, broken])).rejects.toMatchObject({ code: '42P07' })
    expect(await database.session.run(`select to_regclass('half') as half`)).toEqual([{ half: null }])
    expect(await database.session.run(`select 1 from migrations where tag = '0900_broken'`)).toEqual([])
  })

  it('says what a database lacks', async () => {
    const database = await openFresh(store)
    await database.session.run('delete from migrations where tag = $1', [known[0]?.tag])
    expect(await missingMigrations(database.session)).toEqual([known[0]?.tag])
  })
})

describe.each(postgresStores)('a migration of tables in use on $name', (store) => {
  it('waits for no reader while others wait behind it, and gives way where both would wait for each other', async () => {
    const database = await openFresh(store)
    const reader = await database.snapshot()
    await reader.run('select count(*) from targets')
    const both = migration(
      '0900_both',
      'alter table rollouts add column newer int',
      'alter table targets add column newer int',
    )
    let isDone = false
    const migrating = migrate(database, [...known, both]).then(() => {
      isDone = true
    })
    const waits = `select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`
    await expect.poll(() => database.session.run(waits), { interval: 5 }).not.toEqual([])
    // The migration has the lock of one table, and waits for the other, which the reader has. The reader waits for nothing: this is no deadlock.
    for (const table of ['rollouts', 'targets']) await database.session.run(`select count(*) from ${table}`)
    await expect.poll(() => database.session.run(waits), { interval: 5 }).not.toEqual([])
    await reader.run('select count(*) from rollouts')
    await database.session.run('select count(*) from targets')
    expect(isDone).toBe(false)
    await reader.close()
    await migrating
    expect(await database.session.run('select r.newer, t.newer from rollouts r, targets t')).toEqual([])
  })
})

describe.each(postgresStores)('processes that start at the same moment on $name', (store) => {
  it('find one database, in one epoch', async () => {
    const empty = await store.createBare()
    onTestFinished(() => empty.drop())
    const script = `
      const { openDatabase } = await import('./src/store/open.ts')
      const database = await openDatabase({ url: process.env.URL, dataDir: 'memory' })
      console.log('head', (await database.session.run('select epoch_base from log_head'))[0].epoch_base)
      await database.close()`
    const processes = Array.from({ length: 4 }, () => startChild(script, { URL: empty.config.url ?? '' }))
    const heads = await Promise.all(processes.map((process) => process.said(/^head \d+$/)))
    expect(new Set(heads).size).toBe(1)
    expect(await Promise.all(processes.map(({ ended }) => ended))).toEqual([0, 0, 0, 0])
  })
})
