/** PgBouncer in front of PostgreSQL, as operators have it. */
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { openConnection } from '../../../src/store/connection/connection.ts'
import { describeOutage, isTransient } from '../../../src/store/connection/failure.ts'
import { createTarget } from '../../../src/store/connection/target/target.ts'
import { openDatabase } from '../../../src/store/open.ts'
import { type EmptyStore, postgresStores, postgresUrl } from '../../support/databases/stores.ts'
import { createRoad } from '../../support/servers/road.ts'
import { findPgBouncer, type PgBouncer, startPgBouncer } from '../../support/systems/pgbouncer.ts'

const shared = 'a pooler in front of it gives its sessions to several clients (pool_mode is transaction or statement)'

describe.skipIf(!findPgBouncer()).each(postgresStores)('behind PgBouncer, $name', (store) => {
  let pooler: PgBouncer
  let empty: EmptyStore
  let url = ''
  beforeAll(async () => {
    empty = await store.create()
    pooler = await startPgBouncer({ server: postgresUrl(), mode: 'session' })
    url = pooler.urlOf(empty.config.url ?? '')
  })
  afterAll(() => empty.drop())
  afterAll(() => pooler.dispose())

  it('has the settings of each connection, and no other', async () => {
    const settings = { statement_timeout: 4_321, jit: 'off' }
    const ask = `select current_setting('statement_timeout') as limit, current_setting('search_path') as path, pg_backend_pid() as pid`
    for (let n = 0; n < 2; n += 1) {
      const connection = openConnection({ target: createTarget(url), settings, timeout: 10_000 })
      expect(await connection.run(ask)).toEqual([{ limit: '4321ms', path: 'public', pid: expect.any(Number) }])
      await connection.check()
      await connection.close()
    }
    const other = openConnection({ target: createTarget(url), settings: {}, timeout: 10_000 })
    expect(await other.run(ask)).toMatchObject([{ limit: '0' }])
    await other.close()
  })

  it('does not lose a connection whose statement takes long', async () => {
    const database = await openDatabase({ url, dataDir: 'memory', silence: 300 })
    onTestFinished(() => database.close())
    expect(await database.session.run(`select 1 as one from pg_sleep(1)`)).toEqual([{ one: 1 }])
  })

  it('is refused at the start when its sessions are shared', async () => {
    for (const mode of ['transaction', 'statement'] as const) {
      const other = await startPgBouncer({ server: postgresUrl(), mode })
      onTestFinished(() => other.dispose())
      const opening = openDatabase({ url: other.urlOf(empty.config.url ?? ''), dataDir: 'memory' })
      await expect(opening).rejects.toThrow(shared)
      await expect(opening).rejects.toThrow('Name a pool with pool_mode = session')
    }
  })

  it('says that the pool has no connection left', async () => {
    const small = await startPgBouncer({ server: postgresUrl(), mode: 'session', size: 1 })
    onTestFinished(() => small.dispose())
    const target = createTarget(small.urlOf(empty.config.url ?? ''))
    target.isDoubted = false
    const [first, second] = [1, 2].map(() => openConnection({ target, settings: {}, timeout: 500 }))
    await first?.run('select 1')
    await expect(second?.run('select 1')).rejects.toThrow('A pooler in front may have no connection left')
    await first?.close()
    await second?.close()
  })

  it('notices that its pool is switched while it works, loses nothing, and goes on when that is undone', async () => {
    const road = await createRoad(await openDatabase({ url, dataDir: 'memory' }), { feed: { pollInterval: 3_600_000 } })
    onTestFinished(() => road.close())
    const rings: (number | null)[] = []
    await road.database.listen((revision) => rings.push(revision))
    const work = () =>
      road.database.transaction(async (session) =>
        session.run('insert into leases values ($1, $1, now(), now())', [crypto.randomUUID()]),
      )
    let written = 0
    const tryToWork = async (): Promise<unknown> => {
      try {
        await work()
        written += 1
        return null
      } catch (error) {
        return error
      }
    }
    expect(await tryToWork()).toBeNull()
    pooler.switchTo('transaction')
    const failures: unknown[] = []
    await expect
      .poll(
        async () => {
          const failure = await Promise.all([
            tryToWork(),
            tryToWork(),
            road.database.ping().catch((error: unknown) => error),
          ])
          failures.push(...failure.filter((one) => one))
          return failures.map(describeOutage)
        },
        { timeout: 20_000 },
      )
      .toContain('a pooler in front of the database does not give each connection a session of its own')
    expect(failures.every(isTransient)).toBe(true)
    pooler.switchTo('session')
    await expect.poll(tryToWork, { timeout: 20_000 }).toBeNull()
    // Whether or not it lost its session, the connection that listens hears again.
    const hears = async (): Promise<boolean> => {
      await road.database.session.run(`select pg_notify('rollcall_feed_public', '4242')`).catch(() => [])
      return rings.includes(4242)
    }
    await expect.poll(hears, { timeout: 20_000 }).toBe(true)
    expect(await road.database.session.run('select count(*)::int as n from leases')).toEqual([{ n: written }])
  })
})
