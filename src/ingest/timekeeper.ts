/**
 * What time makes due becomes a change through the writer, by one replica at a time: whoever holds the lease. Every decision is
 * taken again under the writer's lock, so two that both believed they held it would do nothing twice.
 */
import { randomUUID } from 'node:crypto'
import type { Millis } from '../domain/deployment.ts'
import type { Database } from '../store/database.ts'
import { findEnded, findSilent, holdLease, pruneHistory } from '../store/housekeeping.ts'
import { forgetRemoved } from './commands/declare.ts'
import { markSilent } from './commands/silence.ts'
import type { Writer } from './writer.ts'

export interface Timekeeper {
  /** One round, now. False: another replica has the lease. */
  tick(): Promise<boolean>
  stop(): Promise<void>
}

export interface TimekeeperOptions {
  readonly database: Database
  readonly writer: Writer
  /** Seconds; null: only devices that promised to be heard go offline by silence. */
  readonly offlineAfter: number | null
  /** Null: keep everything. */
  readonly historyDays: number | null
  /** Null: never. */
  readonly forgetRemovedDays: number | null
  readonly failed?: (error: unknown) => void
  readonly clock?: () => Millis
  /** Milliseconds between rounds; the lease lasts three of them. */
  readonly interval?: number
}

const day = 24 * 60 * 60 * 1000
const chunk = 500

export function createTimekeeper(options: TimekeeperOptions): Timekeeper {
  const { database, writer, offlineAfter, historyDays, forgetRemovedDays, clock = Date.now, interval = 5_000 } = options
  const holder = randomUUID()
  let round: Promise<boolean> | null = null
  let isStopped = false

  async function tick(): Promise<boolean> {
    const now = clock()
    const lease = { name: 'timekeeper', holder, now, term: 3 * interval, grace: 60_000 }
    const since = await holdLease(database.session, lease)
    if (since === null) return false
    const silent = await findSilent(database.session, now, offlineAfter, chunk)
    if (silent.length > 0) await writer.submit(markSilent(silent, since))
    if (forgetRemovedDays !== null) await forgetEnded(now - forgetRemovedDays * day)
    // In small steps, so that no batch waits long.
    if (historyDays !== null)
      while (!isStopped && (await pruneHistory(database, now - historyDays * day, chunk)) > 0)
        await new Promise(setImmediate)
    return true
  }

  async function forgetEnded(before: Millis): Promise<void> {
    for (;;) {
      const keys = isStopped ? [] : await findEnded(database.session, before, chunk)
      if (keys.length === 0) return
      await writer.submit(forgetRemoved(keys, before))
    }
  }

  const run = (): Promise<boolean> => {
    round ??= tick().finally(() => {
      round = null
    })
    return round
  }
  const timer = setInterval(() => void run().catch((error: unknown) => options.failed?.(error)), interval)

  return {
    tick: run,
    async stop() {
      isStopped = true
      clearInterval(timer)
      await round?.catch(() => undefined)
    },
  }
}
