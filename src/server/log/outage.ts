/**
 * Log entries during an outage of the database. Every part of the server fails repeatedly then, so a line for each failure would hide all
 * others. After the first failure, the database itself is checked:
 *
 *   it answers     ──▶ the failure is logged with its own message
 *   it does not    ──▶ "database unreachable since …" once, and "database reachable again after … s" once it answers
 *   it is incomplete ─▶ what it lacks, once, as an error: unlike an outage, this may be a mistake of a person or of this program
 */

import type { Log } from '../../platform/log/log.ts'
import { within } from '../../platform/timing/within.ts'
import { incompleteness, isTransient } from '../../store/connection/failure.ts'

interface OutageDeps {
  readonly log: Log
  /** Rejects while the database cannot be reached or is incomplete. */
  readonly ping: () => Promise<void>
  readonly clock: () => number
  /** Milliseconds between two attempts to reach the database, and the time-out of an attempt. */
  readonly interval?: number
}

export interface Outage {
  /** Logs a failure with its message, or as part of an outage. Resolves to whether it has a line of its own. */
  note(message: string): (error: unknown) => Promise<boolean>
  /** Stops logging. */
  close(): void
}

export function createOutage({ log, ping, clock, interval = 1_000 }: OutageDeps): Outage {
  let asking: Promise<boolean> | null = null
  let since: number | null = null
  /** What the database lacks, as it was logged last. */
  let lacking: string | null = null
  let timer: NodeJS.Timeout | undefined
  let isClosed = false

  function isReachable(): Promise<boolean> {
    asking ??= within(interval, ping())
      .catch(() => false)
      .finally(() => {
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
    if (since === null) lookAgain()
    since ??= clock()
    lacking = incompleteness(error)
    const from = new Date(since).toISOString()
    if (lacking === null) log.warn({ error }, `database unreachable since ${from}: reports get 503 until it answers`)
    else log.error({ error }, `${lacking} since ${from}: reports get 503 until it is complete`)
  }

  function end(): void {
    if (since === null || isClosed) return
    const seconds = Math.round((clock() - since) / 1_000)
    log.info({ seconds }, `database ${lacking === null ? 'reachable' : 'complete'} again after ${seconds} s`)
    since = null
    lacking = null
  }

  function isKnown(error: unknown): boolean {
    return since !== null && isTransient(error) && (incompleteness(error) ?? lacking) === lacking
  }

  return {
    note: (message) => async (error) => {
      if (isClosed || isKnown(error)) return false
      const isAway = isTransient(error) && !(await isReachable())
      if (isClosed) return false
      if (!isAway) log.warn({ error }, message)
      else if (!isKnown(error)) begin(error)
      return !isAway
    },
    close() {
      isClosed = true
      clearTimeout(timer)
    },
  }
}
