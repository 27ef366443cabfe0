/** PostgreSQL going away and coming back, and a network that does not say so. */
import { createServer, type Server, type Socket, connect as tcp } from 'node:net'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { mostStatements, openConnection } from '../../../src/store/connection/connection.ts'
import { ensureEpoch } from '../../../src/store/connection/epoch.ts'
import { isTransient } from '../../../src/store/connection/failure.ts'
import { headStatement, readHead } from '../../../src/store/connection/log-head.ts'
import { openPostgres, type PostgresOptions } from '../../../src/store/connection/postgres.ts'
import { createTarget } from '../../../src/store/connection/target/target.ts'
import type { Database } from '../../../src/store/database.ts'
import { openDatabase } from '../../../src/store/open.ts'
import { openFresh } from '../../support/databases/databases.ts'
import { findPostgres, type PostgresServer, startPostgres } from '../../support/databases/postgres-server.ts'
import { postgresStores, postgresUrl } from '../../support/databases/stores.ts'
import { collect } from '../../support/garbage.ts'

const lost = expect.toSatisfy(isTransient)
const insert = `insert into leases values ('x', 'me', now(), now())`

function openHere(options: Partial<PostgresOptions> = {}): Database {
  const database = openPostgres({ url: postgresUrl(), ...options })
  onTestFinished(() => database.close())
  return database
}

describe.skipIf(!findPostgres())('when PostgreSQL goes away and comes back', () => {
  let server: PostgresServer
  let database: Database
  beforeAll(async () => {
    server = await startPostgres()
    database = await openDatabase({ url: server.url, dataDir: 'memory' })
  })
  afterAll(() => server.dispose())
  afterAll(() => database.close())

  it('everything that was under way fails, nothing else does, and nothing was half written', async () => {
    const [used, unused] = [await database.snapshot(), await database.snapshot()]
    await Promise.all([used.head, unused.head])
    const transaction = database.transaction(async (session) => {
      await session.run(insert)
      await server.stop('immediate')
      await session.run(insert.replace('x', 'y'))
    })
    await expect(transaction).rejects.toEqual(lost)
    await expect(used.run('select 1')).rejects.toEqual(lost)
    await expect(used.run('select 1')).rejects.toEqual(lost)
    await used.close()
    await unused.close()
    const failed = await database.snapshot()
    await expect(failed.head).rejects.toEqual(lost)
    await expect(failed.run('select 1')).rejects.toEqual(lost)
    await failed.close()
    await expect(database.ping()).rejects.toEqual(lost)
    await expect(database.transaction((session) => session.run(insert))).rejects.toEqual(lost)
    await server.start()
    expect(await database.session.run('select name from leases')).toEqual([])
    await database.transaction((session) => session.run(insert))
    const snapshot = await database.snapshot()
    expect(await snapshot.run('select name from leases')).toEqual([{ name: 'x' }])
    await snapshot.close()
  })

  it('the doorbell says so, and rings again', async () => {
    const rings: (number | null)[] = []
    await database.listen((revision) => rings.push(revision))
    expect(rings).toEqual([null])
    await server.stop('fast')
    await server.start()
    await expect.poll(() => rings).toEqual([null, null])
    await database.session.run(`select pg_notify('rollcall_feed_public', '42')`)
    await expect.poll(() => rings).toEqual([null, null, 42])
  })

  it('a standby is a reason to try again later', async () => {
    await server.stop('fast')
    server.demote()
    await server.start()
    await expect(database.transaction((session) => ensureEpoch(session, Date.now()))).rejects.toEqual(lost)
    await server.promote()
    await database.transaction((session) => ensureEpoch(session, Date.now()))
    // Another timeline: what the old primary wrote last may be missing here.
    expect(await database.session.run('select count(*) as n from epochs')).toEqual([{ n: 2 }])
  })
})

describe.each(postgresStores)('a connection on $name', (store) => {
  it('that ends while it is idle affects no caller', async () => {
    const database = await openFresh(store)
    await Promise.all([1, 2, 3].map(() => database.ping()))
    const ended = `select count(pg_terminate_backend(pid)) as n from pg_stat_activity
      where datname = current_database() and pid <> pg_backend_pid()`
    const [row] = await database.transaction((session) => session.run<{ n: number }>(ended))
    expect(row?.n).toBeGreaterThan(0)
    await expect.poll(() => database.ping().then(() => 'answered', String)).toBe('answered')
  })

  it('is given up by a question that takes too long, for the next that waits', async () => {
    const { session } = openHere({ readers: 1, readLimit: 200 })
    const [slow, next] = [session.run('select pg_sleep(60)'), session.run('select 1 as one')]
    await expect(slow).rejects.toMatchObject({ code: '57014' })
    expect(await next).toEqual([{ one: 1 }])
  })

  it('prepares the read of the head, which all snapshots and repeated queries need', async () => {
    const database = openHere({ url: await urlOf(await openFresh(store)), readers: 1 })
    const { revision } = await readHead(database.session)
    for (let n = 0; n < 2; n += 1) {
      const snapshot = await database.snapshot()
      expect((await snapshot.head).revision).toBe(revision)
      await snapshot.close()
    }
    const question = 'select statement as text from pg_prepared_statements where statement like $1'
    const kept = await database.session.run(question, ['%from log_head%'])
    expect(kept).toEqual([{ text: headStatement.text }])
  })

  it('keeps no answer to an appended statement', async () => {
    const connection = openConnection({ target: createTarget(postgresUrl()), settings: {}, timeout: 10_000 })
    onTestFinished(() => connection.close())
    const ask = (): Promise<object[]> => connection.append('select $1::int as n', ['1'])
    const answers: WeakRef<object>[] = []
    for (let n = 0; n < 10; n += 1) answers.push(new WeakRef(await ask()))
    await ask()
    // A WeakRef holds its object until the end of the turn that made it.
    await new Promise(setImmediate)
    collect()
    expect(answers.filter((answer) => answer.deref() !== undefined)).toEqual([])
  })

  it('is replaced after it has prepared a number of different statements', async () => {
    const database = openHere({ url: await urlOf(await openFresh(store)), readers: 1 })
    const question = 'select pg_backend_pid() as process, count(*) as kept from pg_prepared_statements where $1'
    const ask = async () => (await database.session.run<{ process: number; kept: number }>(question, [true]))[0]
    async function prepare(begin: number, count: number): Promise<void> {
      const snapshot = await database.snapshot()
      await Promise.all(
        Array.from({ length: count }, (_, n) => snapshot.run(`select $1::int + ${begin + n} as n`, [1])),
      )
      await snapshot.close()
    }
    const first = await ask()
    // The snapshot reads the head, too.
    await prepare(0, mostStatements - 3)
    expect(await ask()).toEqual({ process: first?.process, kept: mostStatements - 1 })
    await prepare(mostStatements, 1)
    const second = await ask()
    expect(second?.process).not.toBe(first?.process)
    expect(second?.kept).toBeLessThan(2)
  })

  it('is refused in time when all are in use', async () => {
    const database = await openFresh(store)
    const full = openHere({ url: await urlOf(database), readers: 1, waitLimit: 200 })
    const snapshot = await full.snapshot()
    await expect(full.ping()).rejects.toEqual(lost)
    await snapshot.close()
    await full.ping()
  })

  it('that is never given back is missed only until the server ends it', async () => {
    const database = await openFresh(store)
    const full = openHere({ url: await urlOf(database), readers: 1 })
    const forgotten = await full.snapshot()
    await forgotten.head
    const waiting = full.ping()
    await database.session.run(
      `select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and state = 'idle in transaction'`,
    )
    await waiting
    await expect(forgotten.run('select 1')).rejects.toEqual(lost)
  })

  it('to a server that has fallen silent is given up', async () => {
    const silence = await startSilence()
    onTestFinished(() => silence.close())
    const connection = openConnection({ target: createTarget(silence.url), settings: {}, timeout: 1_000 })
    onTestFinished(() => connection.close())
    expect(await connection.run('select 1 as one')).toEqual([{ one: 1 }])
    silence.fall()
    await expect(connection.run('select 2')).rejects.toEqual(lost)
    expect(connection.isLost).toBe(true)
    await expect(connection.run('select 3')).rejects.toEqual(lost)
  })

  it('of the writer does not keep its lock when the writer freezes', async () => {
    const database = await openFresh(store)
    const [row] = await database.transaction((session) =>
      session.run<{ limit: string }>(`select current_setting('idle_in_transaction_session_timeout') as limit`),
    )
    expect(row).toEqual({ limit: '5s' })
  })
})

async function urlOf(database: Database): Promise<string> {
  const [row] = await database.session.run<{ name: string }>('select current_database() as name')
  const url = new URL(postgresUrl())
  url.pathname = `/${row?.name}`
  return url.href
}

/** PostgreSQL behind a wire that can go dead without ending. */
async function startSilence(): Promise<{ readonly url: string; fall(): void; close(): Promise<void> }> {
  const target = new URL(postgresUrl())
  const sockets: Socket[] = []
  const server: Server = createServer((socket) => {
    const upstream = tcp(Number(target.port || 5432), target.hostname)
    sockets.push(socket, upstream)
    for (const each of [socket, upstream]) each.on('error', () => {})
    socket.pipe(upstream).pipe(socket)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  const url = new URL(target)
  url.hostname = '127.0.0.1'
  url.port = String(typeof address === 'object' && address ? address.port : 0)
  return {
    url: url.href,
    fall() {
      for (const socket of sockets) socket.unpipe().pause()
    },
    async close() {
      for (const socket of sockets) socket.destroy()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
