/** PostgreSQL ≥ 15 by postgres.js: a pool for reading, one connection for the writer, one for the doorbell. */
import type { SQL } from 'drizzle-orm'
import { PgDialect } from 'drizzle-orm/pg-core'
import postgres from 'postgres'
import { type Database, doorbellChannel, type LogHead, type Session, type Snapshot } from './database.ts'
import { headText } from './log-head.ts'
import { parsers } from './values.ts'

const dialect = new PgDialect()

/** Milliseconds. A writer that is frozen inside its transaction must not stop the others for longer than this. */
const frozenAfter = 5_000

export interface PostgresOptions {
  readonly url: string
  /** Connections for reading at once. */
  readonly readers?: number
  /** Milliseconds a reading statement may take. */
  readonly statementTimeout?: number
}

export function openPostgres({ url, readers = 8, statementTimeout = 15_000 }: PostgresOptions): Database {
  const connect = (max: number, connection: Record<string, string | number>): postgres.Sql =>
    postgres(url, {
      max,
      types: Object.fromEntries(
        Object.entries(parsers).map(([oid, parse]) => [
          `t${oid}`,
          { to: Number(oid), from: [Number(oid)], parse, serialize: String },
        ]),
      ),
      connection: { application_name: 'rollcall', TimeZone: 'UTC', ...connection },
      connect_timeout: 5,
      keep_alive: 5,
      backoff: (retries) => Math.min(0.05 * 2 ** retries, 1),
      onnotice: () => {},
    })
  // Compiling a read takes longer than any of them does.
  const pool = connect(readers, { statement_timeout: statementTimeout, jit: 'off' })
  const writer = connect(1, {
    statement_timeout: 60_000,
    idle_in_transaction_session_timeout: frozenAfter,
    tcp_keepalives_idle: 5,
    tcp_keepalives_interval: 2,
    tcp_keepalives_count: 3,
  })
  const listener = connect(1, {})
  /** postgres.js does not end a connection that is reserved: closing waits for their last statements. */
  const ending = new Set<Promise<void>>()
  const end = (connection: postgres.ReservedSql): Promise<void> => {
    const ended = commit(connection).finally(() => ending.delete(ended))
    ending.add(ended)
    return ended
  }

  return {
    kind: 'postgres',
    location: withoutPassword(url),
    session: sessionOf(pool),
    async snapshot() {
      const connection = await pool.reserve()
      const session = sessionOf(connection)
      try {
        const [, [head]] = await Promise.all([
          // A query of postgres.js begins when it is awaited; this one must be first.
          connection.unsafe('begin isolation level repeatable read read only').execute(),
          session.run<LogHead>(headText),
        ])
        if (!head) throw new Error('the database has no log head: it was not migrated')
        return { ...session, head, close: once(() => end(connection)) } satisfies Snapshot
      } catch (error) {
        await end(connection)
        throw error
      }
    },
    transaction: <T>(work: (session: Session) => Promise<T>) =>
      writer.begin((connection) => work(sessionOf(connection))) as Promise<T>,
    async listen(ring) {
      await listener.listen(
        doorbellChannel,
        (revision) => ring(Number(revision)),
        () => ring(null),
      )
    },
    async ping() {
      await pool.unsafe('select 1')
    },
    async close() {
      await Promise.all(ending)
      await Promise.all([pool, writer, listener].map((connections) => connections.end({ timeout: 5 })))
    },
  }
}

function sessionOf(connection: postgres.Sql | postgres.TransactionSql): Session {
  const run = async <T extends object>(text: string, parameters: readonly unknown[] = []): Promise<T[]> => {
    const rows = await connection.unsafe(text, parameters as postgres.ParameterOrJSON<never>[], { prepare: true })
    return rows as unknown as T[]
  }
  return {
    run,
    rows<T extends object>(query: SQL) {
      const { sql, params } = dialect.sqlToQuery(query)
      return run<T>(sql, params)
    },
  }
}

/** Nothing was written: whatever happens to the COMMIT, the connection goes back. */
async function commit(connection: postgres.ReservedSql): Promise<void> {
  await connection.unsafe('commit').catch(() => undefined)
  connection.release()
}

function once(act: () => Promise<void>): () => Promise<void> {
  let done: Promise<void> | null = null
  return () => {
    done ??= act()
    return done
  }
}

function withoutPassword(url: string): string {
  if (!URL.canParse(url)) return 'postgres'
  const { protocol, username, host, pathname } = new URL(url)
  return `${protocol}//${username ? `${username}@` : ''}${host}${pathname}`
}
