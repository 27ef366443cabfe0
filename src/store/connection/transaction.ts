/** Transactions and snapshots on any connection. A caller that uses one after its end gets an error, and not another caller's transaction. */
import type { SQL } from 'drizzle-orm'
import { PgDialect } from 'drizzle-orm/pg-core'
import type { LogHead, Session, Snapshot, WritingSession } from '../database.ts'
import { orAborted } from './abort.ts'
import { noLogHead } from './failure.ts'

const dialect = new PgDialect()

export type Run = Session['run']

export function sessionOf(run: Run): Session {
  return {
    run,
    rows<T extends object>(query: SQL) {
      const { sql, params } = dialect.sqlToQuery(query)
      return run<T>(sql, params)
    },
  }
}

export async function transact<T>(
  run: Run,
  connection: number,
  work: (session: WritingSession) => Promise<T>,
  begin: readonly string[] = ['begin'],
  /** Whether the session is still the one that was opened. */
  check?: () => Promise<void>,
): Promise<T> {
  const failures: unknown[] = []
  const use = limited(async (text, parameters) => {
    try {
      return await run(text, parameters)
    } catch (error) {
      failures.push(error)
      throw error
    }
  })
  try {
    for (const statement of begin) await run(statement)
    await check?.()
    const result = await work({ ...sessionOf(use.run), connection })
    // PostgreSQL answers COMMIT with a silent ROLLBACK when a statement has failed.
    if (failures.length > 0) throw failures[0]
    use.end()
    await run('commit')
    return result
  } catch (error) {
    use.end()
    await run('rollback').catch(() => undefined)
    throw error
  }
}

interface SnapshotOptions {
  readonly kind: Snapshot['kind']
  readonly run: Run
  /** Begins a read-only transaction and answers with the head. Statements may follow before the answer. */
  readonly begin: () => Promise<LogHead[]>
  /** Commits and releases the connection. Called exactly once. */
  readonly end: () => Promise<void>
  /** Absent: other callers have connections of their own. */
  readonly isWanted?: () => boolean
  readonly signal?: AbortSignal | undefined
  /** Cancels the running statement. Absent: the statement continues. */
  readonly cancel?: () => void
}

export function openSnapshot({
  kind,
  run,
  begin,
  end,
  isWanted = () => false,
  signal,
  cancel,
}: SnapshotOptions): Snapshot {
  const use = limited(run)
  const head = orAborted(begin(), signal).then(([first]) => {
    if (!first) throw noLogHead()
    return first
  })
  // Readers get the error.
  head.catch(() => undefined)
  const runBehind: Run = <T extends object>(text: string, parameters?: readonly unknown[]) => {
    if (signal?.aborted) return Promise.reject<T[]>(signal.reason)
    const answer = use.run<T>(text, parameters)
    answer.catch(() => undefined)
    return orAborted(
      head.then(() => answer),
      signal,
    )
  }
  let closed: Promise<void> | null = null
  const abort = (): void => {
    cancel?.()
    void close()
  }
  const close = (): Promise<void> => {
    use.end()
    signal?.removeEventListener('abort', abort)
    closed ??= end()
    return closed
  }
  if (signal?.aborted) abort()
  else signal?.addEventListener('abort', abort)
  return { ...sessionOf(runBehind), kind, head, derived: new Map(), isWanted, close }
}

function limited(run: Run): { readonly run: Run; end(): void } {
  let isOver = false
  return {
    run: (text, parameters) =>
      isOver ? Promise.reject(new Error('the transaction or snapshot is over')) : run(text, parameters),
    end() {
      isOver = true
    },
  }
}
