/**
 * Whose turn it is on PGlite's one connection. A turn that nobody uses is taken away: otherwise whoever waits, while holding it,
 * for something that needs one itself would stop the whole server.
 */
import { orAborted } from './abort.ts'
import { StatementError } from './failure.ts'
import type { Run } from './transaction.ts'

export interface MutexLock {
  readonly run: Run
  end(): void
}

export interface Mutex {
  /** Waits in line; the connection is the caller's until it ends its turn. `signal`: aborted when the caller no longer waits. */
  take(signal?: AbortSignal): Promise<MutexLock>
}

export function createMutex(run: Run, idleLimit: number): Mutex {
  let line: Promise<void> = Promise.resolve()

  async function take(): Promise<MutexLock> {
    const before = line
    let pass = (): void => {}
    line = new Promise((resolve) => {
      pass = resolve
    })
    await before
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
      end: () => {
        if (!isOver) end()
      },
    }
  }

  return {
    async take(signal) {
      signal?.throwIfAborted()
      const turn = take()
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
