/** One run of PGlite, in a worker thread. A lost run stays lost: everything on it fails, and another run has to be started. */
import { join } from 'node:path'
import { Worker } from 'node:worker_threads'
import { embeddedFile, isBundled, isExecutable, root } from '../../../platform/installation.ts'
import { statisticsTarget } from '../../database.ts'
import { storableParameters } from '../column-parsers.ts'
import { lost, StatementError } from '../failure.ts'
import { noteCharacters, tooMuchText } from '../reading.ts'
import { createTimeout, type Timeout } from '../timeout.ts'
import type { Run } from '../transaction.ts'
import type { TurnConnection } from './mutex.ts'
import type { PartTaken, WorkerAnswer, WorkerData, WorkerRequest } from './pglite-worker.ts'

export interface Instance extends TurnConnection {
  /** `onLost` is also called when it has been closed, and at once if it is lost already. `wasOpen`: it has answered a statement. */
  follow(onLost: (reason: StatementError, wasOpen: boolean) => void): void
  isLost(): boolean
  /** Files and folders whose sync has failed: the next run has to write them again. */
  unsynced(): readonly string[]
  /** Ends PostgreSQL in an orderly way. */
  close(): Promise<void>
  /** Ends the thread, even if it does not answer. */
  terminate(): Promise<void>
}

type Request = WorkerRequest extends infer R ? (R extends WorkerRequest ? Omit<R, 'id'> : never) : never

function workerFile(): string | URL {
  if (isExecutable)
    return new URL(`data:text/javascript;base64,${embeddedFile('dist/pglite-worker.js').toString('base64')}`)
  return isBundled ? join(root, 'dist/pglite-worker.js') : join(import.meta.dirname, 'pglite-worker.ts')
}

/** `patience`: milliseconds that a statement may take. After some panics PostgreSQL computes without end. */
export function startInstance(number: number, options: WorkerData, patience: () => number): Instance {
  const worker = new Worker(workerFile(), { workerData: options })
  const waiting = new Map<number, { resolve: (rows: object[]) => void; reject: (error: unknown) => void }>()
  const taken: PartTaken = { taken: true }
  /** The earlier rows of an answer in several parts. */
  let before: object[] = []
  let lastId = 0
  let { unsynced = [] } = options
  let isLost = false
  let wasOpen = false
  /** Why everything on it fails. */
  let reason: StatementError | null = null
  let late: Timeout | null = null
  let onLost: Parameters<Instance['follow']>[0] = () => undefined

  worker.on('message', (answer: WorkerAnswer) => {
    if ('failure' in answer) {
      unsynced = answer.failure.unsynced
      return lose(new StatementError(answer.failure.message, answer.failure.code))
    }
    if ('rows' in answer && answer.hasMore) {
      for (const row of answer.rows) before.push(row)
      // In a later turn of the event loop, so that other work continues first.
      return void setImmediate(() => worker.postMessage(taken))
    }
    const asked = waiting.get(answer.id)
    const rows = before
    before = []
    waiting.delete(answer.id)
    if (waiting.size > 0) late?.renew()
    else late?.end()
    if ('error' in answer) {
      const { message, code } = answer.error
      // Without a code, a lost run did not start, or failed by itself.
      const error = new StatementError(message, answer.isLost ? (code ?? '58030') : code)
      asked?.reject(error)
      if (answer.isLost) lose(error)
      return
    }
    wasOpen = true
    if ('isTooMuch' in answer) {
      asked?.reject(tooMuchText())
      return
    }
    const all = rows.length === 0 ? answer.rows : [...rows, ...answer.rows]
    noteCharacters(all, answer.characters)
    asked?.resolve(all)
  })
  function lose(error: StatementError): void {
    if (isLost) return
    isLost = true
    reason ??= error
    before = []
    late?.end()
    for (const { reject } of waiting.values()) reject(reason)
    waiting.clear()
    void worker.terminate()
    onLost(reason, wasOpen)
  }
  worker.on('error', (cause) => lose(Object.assign(lost(), { cause })))
  worker.on('exit', () => lose(lost()))

  function ask(request: Request): Promise<object[]> {
    if (isLost) return Promise.reject(reason)
    const id = ++lastId
    return new Promise((resolve, reject) => {
      if (waiting.size === 0)
        late = createTimeout(patience(), () =>
          lose(new StatementError('the embedded database does not answer', '57014')),
        )
      waiting.set(id, { resolve, reject })
      worker.postMessage({ ...request, id })
    })
  }
  const runAs =
    (isBounded: boolean): Run =>
    async <T extends object>(text: string, parameters: readonly unknown[] = []): Promise<T[]> =>
      (await ask({ text, parameters: storableParameters(parameters), isBounded })) as T[]
  const [run, read] = [runAs(false), runAs(true)]

  // Statements are executed in order, so these are the first. If they fail, so does what follows.
  for (const setting of [`timezone to utc`, `default_statistics_target to ${statisticsTarget}`])
    run(`set ${setting}`).catch(() => undefined)
  return {
    number,
    follow(listener) {
      onLost = listener
      if (isLost && reason) onLost(reason, wasOpen)
    },
    isLost: () => isLost,
    unsynced: () => unsynced,
    run,
    read,
    async close() {
      reason ??= new StatementError('the database is closed', '57P01')
      await ask({ close: true })
    },
    async terminate() {
      await worker.terminate()
    },
  }
}
