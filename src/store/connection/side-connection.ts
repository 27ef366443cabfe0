/** One more connection, for questions about the others while they may not answer. */
import { explainFailure, whatIsMissing } from '../migration/complete.ts'
import { coalesce } from './coalesce.ts'
import { type ConnectionOptions, openConnection } from './connection.ts'
import { createPool } from './connection-pool.ts'

export interface SideConnection {
  /** Whether the server's process with that id is executing a statement. */
  isWorking(process: number): Promise<boolean>
  /** Cancels the statement of that process. If this is impossible, the server ends the statement at its time-out. */
  cancel(process: number): void
  /** The error of a statement, or what the database lacks if that is the reason. */
  explain(error: unknown): Promise<unknown>
  close(): Promise<void>
}

/** Milliseconds: `timeout` for an answer, `silence` for a new connection. */
export function createSideConnection(
  options: Pick<ConnectionOptions, 'target' | 'timeout' | 'silence'>,
): SideConnection {
  const { timeout } = options
  const pool = createPool(() => openConnection({ ...options, settings: { statement_timeout: timeout } }), {
    size: 1,
    timeout,
  })

  async function run<T extends object>(text: string, parameters?: readonly unknown[]): Promise<T[]> {
    const connection = await pool.take()
    try {
      return await connection.run<T>(text, parameters)
    } finally {
      pool.give(connection)
    }
  }

  const missing = coalesce(() => whatIsMissing({ run }))

  return {
    async isWorking(process) {
      const text = `select state not like 'idle%' as working from pg_stat_activity where pid = $1::int`
      const [found] = await run<{ working: boolean | null }>(text, [process])
      return found?.working ?? false
    },
    cancel(process) {
      run('select pg_cancel_backend($1::int)', [process]).catch(() => undefined)
    },
    explain: (error) => explainFailure(error, missing),
    close: pool.close,
  }
}
