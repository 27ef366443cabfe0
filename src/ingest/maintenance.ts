/**
 * What is due by time becomes a change through the writer, by one server at a time: the holder of the lease. Every decision is
 * taken again under the writer's lock, so two servers that both believe they hold it do nothing twice.
 */
import { randomUUID } from 'node:crypto'
import type { Millis } from '../domain/values.ts'
import type { Database } from '../store/database.ts'
import { findEnded, findSilent, forgetSignatures, holdLease, pruneHistory } from '../store/write/housekeeping.ts'
import { findStalled, type StallLimits } from '../store/write/stalling.ts'
import { forgetRemoved } from './commands/declare.ts'
import { markSilent } from './commands/silence.ts'
import { markStalled } from './commands/stall.ts'
import type { Writer } from './writer.ts'

export interface Maintenance {
  /** One round, now. False: another replica has the lease. */
  tick(): Promise<boolean>
  stop(): Promise<void>
}

export interface MaintenanceOptions {
  readonly database: Database
  readonly writer: Writer
  /** Seconds; null: only devices that promised to be heard go offline by silence. */
  readonly offlineAfter: number | null
  readonly stalling: StallLimits
  /** Null: keep everything. */
  readonly historyDays: number | null
  /** Null: never. */
  readonly forgetRemovedDays: number | null
  readonly failed?: (error: unknown) => void
  readonly clock: () => Millis
  /** Milliseconds between rounds; the lease lasts three of them. */
  readonly interval?: number
}

const day = 24 * 60 * 60 * 1000
const chunk = 500
/** Comparing peers reads more than looking for the silent; a standstill is never shorter than a minute. */
const stallInterval = 30_000

export function createMaintenance(options: MaintenanceOptions): Maintenance {
  const { database, writer, offlineAfter, stalling, historyDays, forgetRemovedDays } = options
  const { clock, interval = 5_000 } = options
  const holder = randomUUID()
  let round: Promise<boolean> | null = null
  let isStopped = false
  let lookedAt = Number.NEGATIVE_INFINITY

  async function tick(): Promise<boolean> {
    const now = clock()
    const lease = { name: 'timekeeper', holder, now, term: 3 * interval, grace: 60_000 }
    const since = await holdLease(database.session, lease)
    if (since === null) return false
    await forgetSignatures(database.session, now)
    const silent = await findSilent(database.session, now, offlineAfter, chunk)
    if (silent.length > 0) await writer.submit(markSilent(silent, since))
    if (now - lookedAt >= stallInterval) {
      const stalled = await findStalled(database.session, now, stalling, since, chunk)
      if (stalled.length > 0) await writer.submit(markStalled(stalled))
      // More of them than a chunk: at once again.
      if (stalled.length < chunk) lookedAt = now
    }
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
