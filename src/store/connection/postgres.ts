/** PostgreSQL ≥ 15 by postgres.js: a pool for reading, one connection for the writer, one for the doorbell. */

import type { Database, LogHead, Session } from '../database.ts'
import { type Connection, type ConnectionOptions, openConnection, silenceLimit } from './connection.ts'
import { createPool } from './connection-pool.ts'
import { createDoorbell } from './doorbell.ts'
import { lost } from './failure.ts'
import { headText } from './log-head.ts'
import { openSnapshot, sessionOf, transact } from './transaction.ts'

/** Milliseconds. A writer that is frozen inside its transaction must not block the others for longer than this. */
const frozenAfter = 5_000
/** Milliseconds that a snapshot may be held without a statement. */
const forgottenAfter = 30_000
/** Milliseconds beyond the server's own time-out: the server's error names what timed out, a silent network does not. */
const grace = 5_000

export interface PostgresOptions {
  readonly url: string
  /** Concurrent connections for reading. */
  readonly readers?: number
  /** Milliseconds to wait for one of them. */
  readonly waitLimit?: number
  /** Milliseconds a reading statement may take. */
  readonly readLimit?: number
  /** Milliseconds a statement of the writer may take, waiting for the lock included. */
  readonly writeLimit?: number
  /** Milliseconds without an answer after which a connection is checked. */
  readonly silence?: number
}

export function openPostgres({
  url,
  readers = 8,
  waitLimit = 10_000,
  readLimit = 15_000,
  writeLimit = 30_000,
  silence = silenceLimit,
}: PostgresOptions): Database {
  const connect = (
    limit: number,
    settings: Record<string, string | number>,
    more: Pick<ConnectionOptions, 'isPipelined' | 'cancelProcess'> = {},
  ): Connection =>
    openConnection({
      url,
      settings: { statement_timeout: limit, ...settings },
      timeout: limit + grace,
      silence,
      isWorking,
      ...more,
    })
  // To compile a statement takes longer than the statement should.
  const readSettings = { idle_in_transaction_session_timeout: forgottenAfter, jit: 'off' }
  const writeSettings = {
    // A batch touches some rows of large tables, by their keys; the planner does not know how few and would read them all.
    enable_hashjoin: 'off',
    enable_mergejoin: 'off',
    // Generic plans for all values: to plan takes longer than to write a small batch.
    plan_cache_mode: 'force_generic_plan',
    jit: 'off',
    idle_in_transaction_session_timeout: frozenAfter,
    tcp_keepalives_idle: 5,
    tcp_keepalives_interval: 2,
    tcp_keepalives_count: 3,
    // The kernel of a frozen process still acknowledges packets. This ends a session whose client does not read its answers.
    tcp_user_timeout: frozenAfter,
  }
  const pool = createPool(() => connect(readLimit, readSettings, { isPipelined: true, cancelProcess }), {
    size: readers,
    timeout: waitLimit,
  })
  const writer = createPool(() => connect(writeLimit, writeSettings), { size: 1, timeout: writeLimit })
  const aside = createPool(
    () => openConnection({ url, settings: { statement_timeout: grace }, timeout: grace, silence }),
    {
      size: 1,
      timeout: grace,
    },
  )
  const doorbell = createDoorbell((notified) =>
    openConnection({ url, settings: {}, timeout: grace, silence, notified }),
  )

  const run: Session['run'] = async (text, parameters) => {
    const connection = await pool.take()
    try {
      return await connection.run(text, parameters)
    } finally {
      pool.give(connection)
    }
  }

  /** For questions while the other connections may not answer. */
  async function askAside<T extends object>(text: string, process: number): Promise<T[]> {
    const connection = await aside.take()
    try {
      return await connection.run<T>(text, [process])
    } finally {
      aside.give(connection)
    }
  }

  async function isWorking(process: number): Promise<boolean> {
    const text = `select state not like 'idle%' as working from pg_stat_activity where pid = $1::int`
    const [found] = await askAside<{ working: boolean | null }>(text, process)
    return found?.working ?? false
  }

  /** If the cancellation is impossible, the server ends the statement at `readLimit`. */
  function cancelProcess(process: number): void {
    askAside('select pg_cancel_backend($1::int)', process).catch(() => undefined)
  }

  return {
    kind: 'postgres',
    location: withoutPassword(url),
    session: sessionOf(run),
    async snapshot(signal) {
      const connection = await pool.take(signal)
      return openSnapshot({
        run: connection.run,
        begin: () => connection.runAll<LogHead>(`begin isolation level repeatable read read only; ${headText}`),
        async end() {
          // Nothing was written, so the COMMIT is not awaited. The next statement on the connection follows it.
          connection.runAll('commit').catch(() => undefined)
          pool.give(connection)
        },
        signal,
        cancel: connection.cancel,
      })
    },
    async transaction(work) {
      const connection = await writer.take()
      try {
        return await transact(connection.run, connection.number, work)
      } finally {
        writer.give(connection)
      }
    },
    async append<T extends object>(number: number, text: string, parameters: readonly unknown[]) {
      const connection = await writer.take()
      // The connection is released before the answer: its next statement follows this one.
      try {
        if (connection.number !== number) throw lost()
        return connection.append<T>(text, parameters)
      } finally {
        writer.give(connection)
      }
    },
    listen: doorbell.listen,
    onAccessChange: doorbell.onAccessChange,
    mail: {
      async send(channel, messages) {
        const connection = await writer.take()
        try {
          const text = 'select count(pg_notify($1, message)) from unnest($2::text[]) as message'
          await connection.run(text, [channel, `{${messages.map(quote).join()}}`])
        } finally {
          writer.give(connection)
        }
      },
      receive: doorbell.receive,
    },
    async ping() {
      await run('select 1')
    },
    async close() {
      await Promise.all([pool, writer, aside, doorbell].map((part) => part.close()))
    },
  }
}

function quote(message: string): string {
  return `"${message.replace(/["\\]/g, '\\$&')}"`
}

function withoutPassword(url: string): string {
  if (!URL.canParse(url)) return 'postgres'
  const { protocol, username, host, pathname } = new URL(url)
  return `${protocol}//${username ? `${username}@` : ''}${host}${pathname}`
}
