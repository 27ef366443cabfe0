/**
 * A mutex for PGlite's one connection. An idle holder loses it: otherwise a holder that waits for work that needs the connection too
 * would block the whole server.
 */
import { orAborted } from './abort.ts'
import { StatementError } from './failure.ts'
import type { Run } from './transaction.ts'

export interface MutexLock {
  readonly run: Run
  end(): void
}

export interface Mutex {
  /** Waits in a queue. The caller has the connection until it ends its turn. `signal`: aborted when the caller no longer waits. */
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
