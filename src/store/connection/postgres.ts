/**
 * PostgreSQL ≥ 15 by postgres.js. A server has these connections:
 *
 *   reader         a pool, for snapshots and single statements
 *   writer         one, for transactions and for statements that do not wait for those before them
 *   writerReader   one with the writer's settings: reads what the next batch needs while the writer's statements are executed
 *   side           one, which asks whether a silent connection still works, and cancels statements
 *   doorbell       one, which listens
 *   own            one for each change of tables, because it takes long
 */
import type { Database } from '../database.ts'
import { openConnection, silenceLimit } from './connection.ts'
import { createPool } from './connection-pool.ts'
import { createDoorbell } from './doorbell.ts'
import { lost } from './failure.ts'
import { headStatement } from './log-head.ts'
import { grace, openReadPool, type ReadPoolOptions } from './read-pool.ts'
import { createSideConnection } from './side-connection.ts'
import { createTarget, type DatabaseAddress } from './target/target.ts'
import { sessionOf, transact } from './transaction.ts'

/** Milliseconds. A writer that is frozen inside its transaction must not block the others for longer than this. */
const frozenAfter = 5_000

/** Milliseconds that a change of tables may take: to validate a constraint reads the table. */
const alterLimit = 3_600_000

export interface PostgresOptions extends Omit<ReadPoolOptions, 'target'> {
  readonly url: string | DatabaseAddress
  /** Milliseconds a statement of the writer may take, waiting for the lock included. */
  readonly writeLimit?: number
  /** The tables are being made, so a failing statement is not explained by missing tables. */
  readonly isMigrating?: boolean
}

export function openPostgres({ url, writeLimit = 30_000, isMigrating = false, ...reading }: PostgresOptions): Database {
  const { silence = silenceLimit } = reading
  const target = createTarget(url)
  const writeSettings = {
    // A batch touches some rows of large tables, by their keys; the planner does not know how few and would read them all.
    enable_hashjoin: 'off',
    enable_mergejoin: 'off',
    // A plan is kept while the tables grow. For a table that is still empty it would be a scan.
    enable_seqscan: 'off',
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
  const asking = createSideConnection({ target, timeout: grace, silence })
  const side = isMigrating ? { ...asking, explain: async (error: unknown) => error } : asking
  const reader = openReadPool({ target, ...reading }, side)
  const openForWriter = (isPipelined: boolean) =>
    createPool(
      () =>
        openConnection({
          target,
          settings: { statement_timeout: writeLimit, ...writeSettings },
          timeout: writeLimit + grace,
          silence,
          isWorking: side.isWorking,
          explain: side.explain,
          isPipelined,
        }),
      { size: 1, timeout: writeLimit },
    )
  const writer = openForWriter(false)
  const writerReader = openForWriter(true)
  const openOwn = (lockLimit: number) =>
    openConnection({
      target,
      settings: { statement_timeout: alterLimit, lock_timeout: lockLimit },
      timeout: alterLimit + grace,
      silence,
      isWorking: side.isWorking,
      cancelProcess: side.cancel,
    })
  const doorbell = createDoorbell(target.schema, (notified) =>
    openConnection({ target, settings: {}, timeout: grace, silence, notified }),
  )

  return {
    kind: 'postgres',
    location: target.location,
    session: sessionOf(reader.run),
    snapshot: (signal) => reader.snapshot(headStatement, signal),
    async transaction(work) {
      const connection = await writer.take()
      try {
        return await transact(connection.run, connection.number, work, undefined, connection.check)
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
    async readBeside(work) {
      const connection = await writerReader.take()
      try {
        return await work(connection)
      } finally {
        writerReader.give(connection)
      }
    },
    async alter(statements, lockLimit, signal) {
      signal?.throwIfAborted()
      const connection = openOwn(lockLimit)
      const cancel = (): void => connection.cancel()
      signal?.addEventListener('abort', cancel)
      try {
        // Unprepared statements in one text are one transaction.
        await connection.runAll(statements.join(';\n'))
      } finally {
        signal?.removeEventListener('abort', cancel)
        await connection.close()
      }
    },
    async onOwnConnection(lockLimit, work) {
      const connection = openOwn(lockLimit)
      try {
        await work(connection.runAll)
      } finally {
        await connection.close()
      }
    },
    listen: doorbell.listen,
    onAccessChange: doorbell.onAccessChange,
    mail: {
      async send(channel, messages) {
        const connection = await writer.take()
        try {
          // One parameter each: the quotes of JSON are neither escaped nor parsed, as they are in an array.
          const calls = messages.map((_, index) => `pg_notify($1, $${index + 2})`)
          await connection.run(`select ${calls.join(', ')}`, [channel, ...messages])
        } finally {
          writer.give(connection)
        }
      },
      receive: doorbell.receive,
    },
    async ping() {
      await reader.run('select 1')
    },
    async close() {
      await Promise.all([reader, writer, writerReader, side, doorbell].map((part) => part.close()))
    },
  }
}
