/**
 * The embedded store: PostgreSQL in this process (PGlite), in a worker thread. It has one connection, so whoever begins a
 * transaction or a snapshot has the database to itself until it ends; the others wait in order.
 */
import { Worker } from 'node:worker_threads'
import type { SQL } from 'drizzle-orm'
import { PgDialect } from 'drizzle-orm/pg-core'
import type { Database, LogHead, Session } from './database.ts'
import { headText } from './log-head.ts'
import type { WorkerAnswer, WorkerData, WorkerRequest } from './pglite-worker.ts'

const dialect = new PgDialect()

export interface Pglite extends Database {
  /** The data directory as a tar: for keeping an initialised one ready. */
  dump(): Promise<Uint8Array>
}

export class StatementError extends Error {
  /** SQLSTATE. */
  readonly code: string | undefined

  constructor(message: string, code: string | undefined) {
    super(message)
    this.name = 'StatementError'
    this.code = code
  }
}

type Request = WorkerRequest extends infer R ? (R extends WorkerRequest ? Omit<R, 'id'> : never) : never

export async function openPglite(options: WorkerData): Promise<Pglite> {
  const worker = new Worker(new URL('./pglite-worker.ts', import.meta.url), { workerData: options })
  const waiting = new Map<number, { resolve: (answer: WorkerAnswer) => void; reject: (error: unknown) => void }>()
  let lastId = 0
  let isGone = false
  let queue: Promise<unknown> = Promise.resolve()

  worker.on('message', (answer: WorkerAnswer) => {
    const asked = waiting.get(answer.id)
    waiting.delete(answer.id)
    if ('error' in answer) asked?.reject(new StatementError(answer.error.message, answer.error.code))
    else asked?.resolve(answer)
  })
  const gone = (error: unknown): void => {
    isGone = true
    for (const { reject } of waiting.values()) reject(error)
    waiting.clear()
  }
  worker.on('error', gone)
  worker.on('exit', () => gone(closedError()))

  function ask(request: Request): Promise<WorkerAnswer> {
    if (isGone) return Promise.reject(closedError())
    const id = ++lastId
    return new Promise((resolve, reject) => {
      waiting.set(id, { resolve, reject })
      worker.postMessage({ ...request, id })
    })
  }

  async function run<T extends object>(text: string, parameters: readonly unknown[] = []): Promise<T[]> {
    const answer = await ask({ text, parameters })
    return 'rows' in answer ? (answer.rows as T[]) : []
  }

  const direct: Session = { run, rows: compiled(run) }

  /** Waits for its turn; the database is the caller's until it calls what it gets. */
  async function takeTurn(): Promise<() => void> {
    const before = queue
    let done = (): void => {}
    queue = new Promise<void>((resolve) => {
      done = resolve
    })
    await before
    return done
  }

  async function exclusively<T>(work: () => Promise<T>): Promise<T> {
    const done = await takeTurn()
    try {
      return await work()
    } finally {
      done()
    }
  }

  const inTurn = <T extends object>(text: string, parameters?: readonly unknown[]): Promise<T[]> =>
    exclusively(() => run<T>(text, parameters))

  await run('set timezone to utc')
  return {
    kind: 'pglite',
    location: options.dataDir ?? 'memory',
    session: { run: inTurn, rows: compiled(inTurn) },
    async snapshot() {
      const done = await takeTurn()
      try {
        await run('begin isolation level repeatable read read only')
        const [head] = await run<LogHead>(headText)
        if (!head) throw new Error('the database has no log head: it was not migrated')
        let isOpen = true
        const close = async (): Promise<void> => {
          if (!isOpen) return
          isOpen = false
          await run('commit').finally(done)
        }
        return { ...direct, head, close }
      } catch (error) {
        await run('rollback').catch(() => undefined)
        done()
        throw error
      }
    },
    transaction: (work) =>
      exclusively(async () => {
        await run('begin')
        try {
          const result = await work(direct)
          await run('commit')
          return result
        } catch (error) {
          await run('rollback').catch(() => undefined)
          throw error
        }
      }),
    // Nobody else has this database: there is no other writer to hear of.
    async listen(ring) {
      ring(null)
    },
    async ping() {
      await inTurn('select 1')
    },
    async dump() {
      const answer = await ask({ dump: true })
      if (!('tar' in answer)) throw new Error('the database could not be dumped')
      return answer.tar
    },
    async close() {
      if (isGone) return
      await exclusively(() => ask({ close: true }))
      await worker.terminate()
    },
  }
}

function compiled(run: Session['run']): Session['rows'] {
  return <T extends object>(query: SQL) => {
    const { sql, params } = dialect.sqlToQuery(query)
    return run<T>(sql, params)
  }
}

function closedError(): StatementError {
  return new StatementError('the database is closed', '57P01')
}
