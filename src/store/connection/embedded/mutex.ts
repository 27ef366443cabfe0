/**
 * A mutex for PGlite's one connection. A write goes before the reads that wait, because a device waits for it; after a write the first of the
 * reads is next, so that neither kind starves. An idle holder loses the connection: otherwise a holder that waits for work that needs the
 * connection too would block the whole server.
 */
import { orAborted } from '../abort.ts'
import { StatementError } from '../failure.ts'
import type { Run } from '../transaction.ts'

/** A connection, or what replaces a lost one. A turn has one of them: its statements must not go on outside of its transaction. */
export interface TurnConnection {
  readonly number: number
  readonly run: Run
  /** The same with a bound for answers (reading.ts). */
  readonly read: Run
}

export interface MutexLock extends Omit<TurnConnection, 'read'> {
  /** Whether another caller waits for the connection. */
  isWanted(): boolean
  end(): void
}

export type MutexUse = 'read' | 'write'

interface Mutex {
  /** Waits in a queue. The caller has the connection until it ends its turn. `signal`: aborted when the caller no longer waits. */
  take(use: MutexUse, signal?: AbortSignal): Promise<MutexLock>
}

/** `connect` never rejects. */
export function createMutex(connect: () => Promise<TurnConnection>, idleLimit: number): Mutex {
  const waiting: Readonly<Record<MutexUse, (() => void)[]>> = { read: [], write: [] }
  let isTaken = false
  let last: MutexUse = 'read'

  async function wait(use: MutexUse): Promise<void> {
    if (isTaken) await new Promise<void>((go) => waiting[use].push(go))
    isTaken = true
    last = use
  }

  /** The connection stays taken while the next caller resumes. */
  function pass(): void {
    const order: readonly MutexUse[] = last === 'write' ? ['read', 'write'] : ['write', 'read']
    const next = order.find((use) => waiting[use].length > 0)
    if (next) waiting[next].shift()?.()
    else isTaken = false
  }

  async function take(use: MutexUse): Promise<MutexLock> {
    await wait(use)
    const { number, ...connection } = await connect()
    const run = use === 'read' ? connection.read : connection.run
    let isOver = false
    let running = 0
    let timer = setTimeout(takeAway, idleLimit)

    function end(): void {
      isOver = true
      clearTimeout(timer)
      pass()
    }
    function takeAway(): void {
      isOver = true
      run('rollback').then(pass, pass)
    }

    return {
      number,
      async run(text, parameters) {
        if (isOver) throw new StatementError('the transaction was idle for too long', '25P03')
        clearTimeout(timer)
        running += 1
        try {
          return await run(text, parameters)
        } finally {
          running -= 1
          if (running === 0 && !isOver) timer = setTimeout(takeAway, idleLimit)
        }
      },
      isWanted: () => waiting.read.length > 0 || waiting.write.length > 0,
      end: () => {
        if (!isOver) end()
      },
    }
  }

  return {
    async take(use, signal) {
      signal?.throwIfAborted()
      const turn = take(use)
      const leave = (): void => void turn.then(({ end }) => end())
      signal?.addEventListener('abort', leave)
      try {
        return await orAborted(turn, signal)
      } finally {
        signal?.removeEventListener('abort', leave)
      }
    },
  }
}
