/**
 * What the log says while the database is away. Every part of the server fails then, again and again, so a line for each failure would hide
 * all others. The first failure asks the database itself:
 *
 *   it answers     ──▶ the failure is logged as what it is
 *   it does not    ──▶ "database unreachable since …" once, and "database reachable again after … s" once it answers
 */
import type { Log } from './log.ts'
import { isTransient } from './store/connection/failure.ts'

export interface OutageDeps {
  readonly log: Log
  readonly ping: () => Promise<void>
  readonly clock: () => number
  /** Milliseconds between two attempts to reach the database, and that an attempt may take. */
  readonly interval?: number
}

export interface Outage {
  /** Logs a failure with its message, or as part of an outage. */
  note(message: string): (error: unknown) => void
  /** Logs nothing any more. */
  close(): void
}

export function createOutage({ log, ping, clock, interval = 1_000 }: OutageDeps): Outage {
  let asking: Promise<boolean> | null = null
  let since: number | null = null
  let timer: NodeJS.Timeout | undefined
  let isClosed = false

  function isReachable(): Promise<boolean> {
    asking ??= new Promise<boolean>((resolve) => {
      const late = setTimeout(() => resolve(false), interval)
      ping()
        .then(
          () => resolve(true),
          () => resolve(false),
        )
        .finally(() => clearTimeout(late))
    }).finally(() => {
      asking = null
    })
    return asking
  }

  function lookAgain(): void {
    timer = setTimeout(async () => {
      if (await isReachable()) end()
      else if (!isClosed) lookAgain()
    }, interval).unref()
  }

  function begin(error: unknown): void {
    since = clock()
    log.warn({ error }, `database unreachable since ${new Date(since).toISOString()}: reports get 503 until it answers`)
    lookAgain()
  }

  function end(): void {
    if (since === null || isClosed) return
    const seconds = Math.round((clock() - since) / 1_000)
    since = null
    log.info({ seconds }, `database reachable again after ${seconds} s`)
  }

  return {
    note: (message) => async (error) => {
      if (isClosed || (since !== null && isTransient(error))) return
      const isAway = isTransient(error) && !(await isReachable())
      if (isClosed) return
      if (!isAway) log.warn({ error }, message)
      else if (since === null) begin(error)
    },
    close() {
      isClosed = true
      clearTimeout(timer)
    },
  }
}
