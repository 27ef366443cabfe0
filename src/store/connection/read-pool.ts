/** Connections for reading from one server, the primary or a standby. */
import { type LogHead, type Session, type Snapshot, statisticsTarget } from '../database.ts'
import { openConnection, silenceLimit } from './connection.ts'
import { createPool } from './connection-pool.ts'
import type { HeadStatement } from './log-head.ts'
import type { SideConnection } from './side-connection.ts'
import type { Target } from './target/target.ts'
import { openSnapshot } from './transaction.ts'

interface ReadPool {
  /** A single statement. */
  readonly run: Session['run']
  /** `head`: reads the head that the snapshot has. */
  snapshot(head: HeadStatement, signal?: AbortSignal): Promise<CancellableSnapshot>
  close(): Promise<void>
}

export interface CancellableSnapshot extends Snapshot {
  /** Gives up the connection: the server does not answer. */
  cancel(): void
}

export interface ReadPoolOptions {
  readonly target: Target
  /** Concurrent connections. */
  readonly readers?: number
  /** Milliseconds to wait for one of them. */
  readonly waitLimit?: number
  /** Milliseconds a statement may take. */
  readonly readLimit?: number
  /** Milliseconds without an answer after which a connection is checked. */
  readonly silence?: number
}

/** Milliseconds that a snapshot may be held without a statement. */
const forgottenAfter = 30_000
/** Milliseconds beyond the server's own time-out: the server's error names what timed out, a silent network does not. */
export const grace = 5_000

export function openReadPool(
  { target, readers = 8, waitLimit = 10_000, readLimit = 15_000, silence = silenceLimit }: ReadPoolOptions,
  side: SideConnection,
): ReadPool {
  const pool = createPool(
    () =>
      openConnection({
        target,
        // To compile a statement takes longer than the statement should.
        settings: {
          statement_timeout: readLimit,
          idle_in_transaction_session_timeout: forgottenAfter,
          jit: 'off',
          default_statistics_target: statisticsTarget,
        },
        timeout: readLimit + grace,
        silence,
        isPipelined: true,
        isBounded: true,
        isWorking: side.isWorking,
        cancelProcess: side.cancel,
        explain: side.explain,
      }),
    { size: readers, timeout: waitLimit },
  )

  return {
    async run(text, parameters) {
      const connection = await pool.take()
      try {
        return await connection.run(text, parameters)
      } finally {
        pool.give(connection)
      }
    },
    async snapshot(head, signal) {
      const connection = await pool.take(signal)
      const snapshot = openSnapshot({
        kind: 'postgres',
        run: connection.run,
        async begin() {
          const begun = connection.run('begin isolation level repeatable read read only')
          const [, , rows] = await Promise.all([
            begun,
            connection.check(),
            connection.run<LogHead>(head.text, head.parameters),
          ])
          return rows
        },
        async end() {
          // Nothing was written, so the COMMIT is not awaited. The next statement on the connection follows it.
          connection.runAll('commit').catch(() => undefined)
          pool.give(connection)
        },
        signal,
        cancel: connection.cancel,
      })
      return { ...snapshot, cancel: connection.cancel }
    },
    close: pool.close,
  }
}
