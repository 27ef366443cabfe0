/**
 * The embedded store: PostgreSQL in this process (PGlite), in a worker thread. It has one connection, so whoever begins a
 * transaction or a snapshot has the database to itself until it ends; the others wait in order.
 */
import { Worker } from 'node:worker_threads'
import type { Database, LogHead } from './database.ts'
import { StatementError } from './failure.ts'
import { headText } from './log-head.ts'
import type { WorkerAnswer, WorkerData, WorkerRequest } from './pglite-worker.ts'
import { openSnapshot, type Run, sessionOf, transact } from './transaction.ts'
import { createTurns, type Turn } from './turns.ts'

/** As on PostgreSQL's writing connection: rows are found by their keys, never by reading whole tables. */
const beginWriting = ['begin', 'set local enable_hashjoin = off', 'set local enable_mergejoin = off']

/** Milliseconds that a transaction or a snapshot may be held without a statement. */
const frozenAfter = 5_000

export interface Pglite extends Database {
  /** The data directory as a tar: for keeping an initialised one ready. */
  dump(): Promise<Uint8Array>
}

type Request = WorkerRequest extends infer R ? (R extends WorkerRequest ? Omit<R, 'id'> : never) : never

export async function openPglite(options: WorkerData, idleLimit = frozenAfter): Promise<Pglite> {
  const worker = new Worker(new URL('./pglite-worker.ts', import.meta.url), { workerData: options })
  const waiting = new Map<number, { resolve: (answer: WorkerAnswer) => void; reject: (error: unknown) => void }>()
  let lastId = 0
  let isGone = false

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

  const run: Run = async <T extends object>(text: string, parameters: readonly unknown[] = []): Promise<T[]> => {
    const answer = await ask({ text, parameters })
    return 'rows' in answer ? (answer.rows as T[]) : []
  }

  const turns = createTurns(run, idleLimit)

  async function inTurn<T>(work: (turn: Turn) => Promise<T>): Promise<T> {
    const turn = await turns.take()
    try {
      return await work(turn)
    } finally {
      turn.end()
    }
  }

  const session = sessionOf((text, parameters) => inTurn((turn) => turn.run(text, parameters)))

  await run('set timezone to utc')
  return {
    kind: 'pglite',
    location: options.dataDir ?? 'memory',
    session,
    async snapshot(signal) {
      const turn = await turns.take(signal)
      const begin = async (): Promise<LogHead[]> => {
        const begun = turn.run('begin isolation level repeatable read read only')
        const [, head] = await Promise.all([begun, turn.run<LogHead>(headText)])
        return head
      }
      // Nothing was written: whatever happens to the COMMIT, the turn is over.
      const end = (): Promise<void> => turn.run('commit').then(turn.end, turn.end)
      return openSnapshot({ run: turn.run, begin, end, signal })
    },
    transaction: (work) => inTurn((turn) => transact(turn.run, 1, work, beginWriting)),
    append: (_connection, text, parameters) => session.run(text, parameters),
    // Nobody else has this database: there is no other writer to hear of.
    async listen(ring) {
      ring(null)
    },
    async ping() {
      await session.run('select 1')
    },
    dump: () =>
      inTurn(async () => {
        const answer = await ask({ dump: true })
        if (!('tar' in answer)) throw new Error('the database could not be dumped')
        return answer.tar
      }),
    async close() {
      if (isGone) return
      await inTurn(() => ask({ close: true }))
      await worker.terminate()
    },
  }
}

function closedError(): StatementError {
  return new StatementError('the database is closed', '57P01')
}
