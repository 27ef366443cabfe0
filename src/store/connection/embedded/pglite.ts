/**
 * The embedded store: PostgreSQL in this process (PGlite), in a worker thread. It has one connection, so a transaction or a snapshot
 * has exclusive use of the database until it ends. Other callers wait, writes before reads.
 */
import { extname, join } from 'node:path'
import { Worker } from 'node:worker_threads'
import { type Database, type LogHead, statisticsTarget } from '../../database.ts'
import { storableParameters } from '../column-parsers.ts'
import { StatementError } from '../failure.ts'
import { headText } from '../log-head.ts'
import { openSnapshot, type Run, sessionOf, transact } from '../transaction.ts'
import { createMutex, type MutexLock, type MutexUse } from './mutex.ts'
import type { PartTaken, WorkerAnswer, WorkerData, WorkerRequest } from './pglite-worker.ts'

/** As on PostgreSQL's writing connection: rows are found by key, never by a scan of a whole table. */
const beginWriting = [
  'begin',
  'set local enable_hashjoin = off',
  'set local enable_mergejoin = off',
  'set local enable_seqscan = off',
]

/** Milliseconds that a transaction or a snapshot may be held without a statement. */
const frozenAfter = 5_000

type Request = WorkerRequest extends infer R ? (R extends WorkerRequest ? Omit<R, 'id'> : never) : never

export async function openPglite(options: WorkerData, idleLimit = frozenAfter): Promise<Database> {
  // The built package has the worker as JavaScript.
  const file = join(import.meta.dirname, `pglite-worker${extname(import.meta.filename)}`)
  const worker = new Worker(file, { workerData: options })
  const waiting = new Map<number, { resolve: (rows: object[]) => void; reject: (error: unknown) => void }>()
  const taken: PartTaken = { taken: true }
  /** The earlier rows of an answer in several parts. */
  let before: object[] = []
  let lastId = 0
  let isGone = false

  worker.on('message', (answer: WorkerAnswer) => {
    if ('rows' in answer && answer.hasMore) {
      for (const row of answer.rows) before.push(row)
      // In a later turn of the event loop, so that other work continues first.
      return void setImmediate(() => worker.postMessage(taken))
    }
    const asked = waiting.get(answer.id)
    const rows = before
    before = []
    waiting.delete(answer.id)
    if ('error' in answer) asked?.reject(new StatementError(answer.error.message, answer.error.code))
    else asked?.resolve(rows.length === 0 ? answer.rows : [...rows, ...answer.rows])
  })
  const gone = (error: unknown): void => {
    isGone = true
    for (const { reject } of waiting.values()) reject(error)
    waiting.clear()
  }
  worker.on('error', gone)
  worker.on('exit', () => gone(closedError()))

  function ask(request: Request): Promise<object[]> {
    if (isGone) return Promise.reject(closedError())
    const id = ++lastId
    return new Promise((resolve, reject) => {
      waiting.set(id, { resolve, reject })
      worker.postMessage({ ...request, id })
    })
  }

  const run: Run = async <T extends object>(text: string, parameters: readonly unknown[] = []): Promise<T[]> => {
    return (await ask({ text, parameters: storableParameters(parameters) })) as T[]
  }

  const mutex = createMutex(run, idleLimit)

  async function inTurn<T>(use: MutexUse, work: (turn: MutexLock) => Promise<T>): Promise<T> {
    const turn = await mutex.take(use)
    try {
      return await work(turn)
    } finally {
      turn.end()
    }
  }

  const sessionFor = (use: MutexUse) =>
    sessionOf((text, parameters) => inTurn(use, (turn) => turn.run(text, parameters)))
  const session = sessionFor('read')
  const writing = sessionFor('write')

  await run('set timezone to utc')
  await run(`set default_statistics_target to ${statisticsTarget}`)
  return {
    kind: 'pglite',
    location: options.dataDir ?? 'memory',
    session,
    async snapshot(signal) {
      const turn = await mutex.take('read', signal)
      const begin = async (): Promise<LogHead[]> => {
        const begun = turn.run('begin isolation level repeatable read read only')
        const [, head] = await Promise.all([begun, turn.run<LogHead>(headText)])
        return head
      }
      // Nothing was written: whatever happens to the COMMIT, the turn is over.
      const end = (): Promise<void> => turn.run('commit').then(turn.end, turn.end)
      return openSnapshot({ kind: 'pglite', run: turn.run, begin, end, isWanted: turn.isWanted, signal })
    },
    transaction: (work) => inTurn('write', (turn) => transact(turn.run, 1, work, beginWriting)),
    append: (_connection, text, parameters) => writing.run(text, parameters),
    readBeside: (work) => inTurn('write', work),
    alter: (statements, _, signal) =>
      inTurn('write', (turn) =>
        transact(turn.run, 1, async ({ run }) => {
          signal?.throwIfAborted()
          for (const statement of statements) await run(statement)
        }),
      ),
    onOwnConnection: null,
    // No other process has this database: there is no other writer.
    async listen(ring) {
      ring(null)
    },
    onAccessChange() {},
    mail: null,
    async ping() {
      await session.run('select 1')
    },
    async close() {
      if (isGone) return
      await inTurn('read', () => ask({ close: true }))
      await worker.terminate()
    },
  }
}

function closedError(): StatementError {
  return new StatementError('the database is closed', '57P01')
}
