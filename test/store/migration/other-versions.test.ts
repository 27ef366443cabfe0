/** A database that this version cannot work on: one of an unreleased build, and one that a newer version has changed too much. */
import { describe, expect, it, onTestFinished } from 'vitest'
import { openPostgres } from '../../../src/store/connection/postgres.ts'
import { whatIsMissing } from '../../../src/store/migration/complete.ts'
import { migrate } from '../../../src/store/migration/migrate.ts'
import { openDatabase } from '../../../src/store/open.ts'
import { openFresh } from '../../support/databases/databases.ts'
import { nextVersion } from '../../support/databases/next-version.ts'
import { everyStore, postgresStores, type Store } from '../../support/databases/stores.ts'
import { startChild } from '../../support/servers/child.ts'

const unreleased =
  'an unreleased build of Rollcall made this database, which no version reads: save what you need with that build (rollcall export), and start this version on a new database'
const tooNew =
  'a newer version of Rollcall has changed this database (0001_next), so that this one cannot work on it: start the newer version, or restore a backup from before it'

/** What an unreleased build left of its migrations. */
const ofUnreleased = [
  'create table migrations (tag text primary key, applied_at timestamptz not null default now())',
  "insert into migrations (tag) values ('0000_road'), ('0053_entry-size')",
]

async function openEmpty(store: Store) {
  const bare = await store.createBare()
  onTestFinished(() => bare.drop())
  const database = openPostgres({ url: bare.config.url ?? '', readers: 1 })
  onTestFinished(() => database.close())
  return { bare, database }
}

describe.each(everyStore)('a database of an unreleased build on $name', (store) => {
  it('is refused, and left as it is', async () => {
    const database = await openFresh(store)
    const { session } = database
    await session.run('drop table migrations')
    for (const statement of ofUnreleased) await session.run(statement)
    await expect(migrate(database)).rejects.toThrow(unreleased)
    expect(await session.run('select count(*)::int as n from migrations')).toEqual([{ n: 2 }])
    expect(await whatIsMissing(session)).toBe(unreleased)
  })
})

describe.each(postgresStores)('on $name', (store) => {
  it('a server says so in one sentence and ends', async () => {
    const { bare, database } = await openEmpty(store)
    for (const statement of ofUnreleased) await database.session.run(statement)
    await expect(openDatabase(bare.config)).rejects.toThrow(unreleased)
    const server = startChild("await import('./src/main.ts')", { DATABASE_URL: bare.config.url ?? '', PORT: '0' })
    await server.said(new RegExp(unreleased.replaceAll(/[()]/g, '.')))
    expect(await server.ended).toBe(1)
  })

  it('a version goes on beside the next one, and not beside one that needs more', async () => {
    const { bare, database } = await openEmpty(store)
    await migrate(database)
    await migrate(database, await nextVersion('alter table leases add column newer int'))
    await (await openDatabase(bare.config)).close()
    expect(await whatIsMissing(database.session)).toBe(null)
    await database.session.run("delete from migrations where tag = '0001_next'")
    await migrate(database, await nextVersion('drop table leases;', "comment on table migrations is '0001_next'"))
    await expect(openDatabase(bare.config)).rejects.toThrow(tooNew)
    expect(await whatIsMissing(database.session)).toBe('the database lacks our tables')
    await database.session.run('create table leases (name text primary key)')
    expect(await whatIsMissing(database.session)).toBe(tooNew)
  })
})
