/**
 * The embedded store: PostgreSQL in this process (PGlite), in a worker thread. It has one connection, so a transaction or a snapshot
 * has exclusive use of the database until it ends. Other callers wait, writes before reads. If PostgreSQL ends, for example because the disk is
 * full, the next caller starts it again, and it recovers from its files. A database in memory has no files, so its data is lost.
 */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { within } from '../../../platform/timing/within.ts'
import type { Database, LogHead } from '../../database.ts'
import { lost } from '../failure.ts'
import { headText } from '../log-head.ts'
import { openSnapshot, sessionOf, transact } from '../transaction.ts'
import { createBackups } from './backup.ts'
import { type Instance, startInstance } from './instance.ts'
import { createMutex, type MutexLock, type MutexUse } from './mutex.ts'
import type { WorkerData } from './pglite-worker.ts'

/** As on PostgreSQL's writing connection: rows are found by key, never by a scan of a whole table. */
const beginWriting = [
  'begin',
  'set local enable_hashjoin = off',
  'set local enable_mergejoin = off',
  'set local enable_seqscan = off',
]

/** Milliseconds that a transaction or a snapshot may be held without a statement. */
const frozenAfter = 5_000

/** Milliseconds that a statement may take: nothing cancels one. */
export const longestStatement = 300_000
/** Milliseconds. To start takes a second of processor time, and fails while the disk is full. */
const restartInterval = 1_000
/** Milliseconds for running statements, and then for the thread. What is committed is in the files. */
const closeLimit = 10_000

/**
 * `statementLimit`: as it is when a statement begins. `closing`: milliseconds that the end waits for running statements. `failed` receives why a run has
 * ended that had started. `instance`: the first run.
 */
export async function openPglite(
  options: WorkerData,
  idleLimit = frozenAfter,
  statementLimit = (): number => longestStatement,
  closing = closeLimit,
  failed: (error: Error) => void = () => {},
  instance = startInstance(1, options, statementLimit),
): Promise<Database> {
  let isClosed = false
  const { promise: gone, resolve: end } = Promise.withResolvers<void>()
  /** A database in a folder is started again. */
  const onLost = (error: Error, wasOpen: boolean): void => {
    if (isClosed) return
    if (options.dataDir === undefined) end()
    else if (wasOpen) failed(error)
  }
  instance.follow(onLost)
  let startedAt = performance.now()
  let restarting: Promise<void> | null = null

  /** A lost run fails at once until the next one has started: its thread may be in a system call that does not return. */
  async function connect(): Promise<Instance> {
    const isDue = performance.now() - startedAt >= restartInterval
    if (instance.isLost() && !isClosed && isDue && hasFiles(options))
      restarting ??= restart().finally(() => {
        restarting = null
      })
    if (restarting) await within(restartInterval, restarting)
    return instance
  }

  /** Two threads never have the same files. */
  async function restart(): Promise<void> {
    await instance.terminate()
    startedAt = performance.now()
    if (isClosed) return
    try {
      const next = { ...options, template: undefined, unsynced: instance.unsynced() }
      instance = startInstance(instance.number + 1, next, statementLimit)
      instance.follow(onLost)
    } catch {
      // The machine has no thread for it now. The next caller tries again.
    }
  }

  const mutex = createMutex(connect, idleLimit)

  async function inTurn<T>(use: MutexUse, work: (turn: MutexLock) => Promise<T>): Promise<T> {
    const turn = await mutex.take(use)
    try {
      return await work(turn)
    } finally {
      turn.end()
    }
  }

  const session = sessionOf((text, parameters) => inTurn('read', (turn) => turn.run(text, parameters)))

  await session.run('select 1')
  return {
    kind: 'pglite',
    location: options.dataDir ?? 'memory',
    session,
    gone,
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
    transaction: (work) => inTurn('write', (turn) => transact(turn.run, turn.number, work, beginWriting)),
    append: (connection, text, parameters) =>
      inTurn('write', ({ number, run }) => (number === connection ? run(text, parameters) : Promise.reject(lost()))),
    readBeside: (work) => inTurn('write', work),
    alter: (statements, _, signal) =>
      inTurn('write', (turn) =>
        transact(turn.run, turn.number, async ({ run }) => {
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
    ...(options.dataDir !== undefined && {
      backUp: createBackups(options.dataDir, (work) => inTurn('write', work)),
    }),
    async close() {
      if (isClosed) return
      isClosed = true
      const closed = inTurn('read', () => instance.close()).catch(() => undefined)
      await within(closing, closed)
      if (!(await within(closeLimit, instance.terminate())))
        throw new Error('the thread of the embedded database does not end')
    },
  }
}

/** A database in memory, or in a folder that is not there any more, would be a new one. */
function hasFiles({ dataDir }: WorkerData): boolean {
  return dataDir !== undefined && existsSync(join(dataDir, 'PG_VERSION'))
}
