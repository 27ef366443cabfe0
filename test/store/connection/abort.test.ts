/** A snapshot whose reader has stopped waiting. */
import { describe, expect, it, onTestFinished } from 'vitest'
import { openPostgres } from '../../../src/store/connection/postgres.ts'
import type { Database } from '../../../src/store/database.ts'
import { openFresh } from '../../support/databases/databases.ts'
import { pglite, postgresStores, type Store, stores } from '../../support/databases/stores.ts'

const gone = new Error('no caller waits')

describe.each(stores)('on $name a snapshot', (store) => {
  it('fails with the reason of its abort, in running and in later statements, and disturbs no other', async () => {
    const database = await openFresh(store)
    const controller = new AbortController()
    const snapshot = await database.snapshot(controller.signal)
    const running = snapshot.run('select count(*) from generate_series(1, 300000)')
    controller.abort(gone)
    await expect(running).rejects.toBe(gone)
    await expect(snapshot.run('select 1')).rejects.toBe(gone)
    await snapshot.close()
    await expect(database.snapshot(controller.signal)).rejects.toBe(gone)
    const next = await database.snapshot()
    expect(await next.run('select 1 as one')).toEqual([{ one: 1 }])
    await next.close()
    await database.transaction((session) => session.run('select 1'))
  })

  it('that is closed cannot be aborted later', async () => {
    const database = await openFresh(store)
    const controller = new AbortController()
    const snapshot = await database.snapshot(controller.signal)
    expect(await snapshot.run('select 1 as one')).toEqual([{ one: 1 }])
    await snapshot.close()
    const next = await database.snapshot()
    const running = next.run('select count(*)::int as n from generate_series(1, 300000)')
    controller.abort(gone)
    expect(await running).toEqual([{ n: 300_000 }])
    await next.close()
  })
})

describe('embedded', () => {
  it('a caller that stops waiting for its turn does not block the others', async () => {
    const database = await openFresh(pglite)
    const controller = new AbortController()
    const first = await database.snapshot()
    const second = database.snapshot(controller.signal)
    const third = database.snapshot()
    controller.abort(gone)
    await expect(second).rejects.toBe(gone)
    await first.close()
    await (await third).close()
  })
})

describe.each(postgresStores)('on $name', (store) => {
  it('the statement is cancelled, and the connection’s place is free again', async () => {
    const [narrow, watcher] = await openNarrow(store)
    const isAsleep = async (): Promise<boolean> => {
      const rows = await watcher.session.run(
        `select from pg_stat_activity where datname = current_database() and wait_event = 'PgSleep'`,
      )
      return rows.length > 0
    }
    const controller = new AbortController()
    const snapshot = await narrow.snapshot(controller.signal)
    const sleeping = snapshot.run('select pg_sleep(50)')
    await expect.poll(isAsleep).toBe(true)
    const waiting = narrow.session.run('select 1 as one')
    controller.abort(gone)
    await expect(sleeping).rejects.toBe(gone)
    expect(await waiting).toEqual([{ one: 1 }])
    await expect.poll(isAsleep).toBe(false)
  })

  it('a caller that stops waiting for a connection leaves the queue', async () => {
    const [narrow] = await openNarrow(store)
    const controller = new AbortController()
    const first = await narrow.snapshot()
    const second = narrow.snapshot(controller.signal)
    const third = narrow.snapshot()
    controller.abort(gone)
    await expect(second).rejects.toBe(gone)
    await first.close()
    await (await third).close()
  })
})

/** A database with one connection for reading, and another that observes it. */
async function openNarrow(store: Store): Promise<[Database, Database]> {
  const empty = await store.create()
  onTestFinished(() => empty.drop())
  const watcher = await empty.open()
  const narrow = openPostgres({ url: empty.config.url ?? '', readers: 1, readLimit: 60_000 })
  onTestFinished(async () => {
    await Promise.all([watcher.close(), narrow.close()])
  })
  return [narrow, watcher]
}
