/**
 * Changes that become due with time. The replica that holds the lease makes them through the writer. Each decision is repeated under the
 * writer's lock, so two replicas that both believe they hold the lease do nothing twice.
 */
import { randomUUID } from 'node:crypto'
import type { Millis, Revision } from '../domain/values.ts'
import { readHead } from '../store/connection/log-head.ts'
import type { Database } from '../store/database.ts'
import { findEnded, findSilent, forgetBatches, forgetSignatures, holdLease } from '../store/write/housekeeping.ts'
import { findOverdue, type StallLimits, settleOverdue, shortest } from '../store/write/standstill.ts'
import { analyzeTable, findUnanalyzed } from '../store/write/statistics.ts'
import { followed, followSteps, readFollowed } from '../store/write/step-durations.ts'
import { createAlertEvaluation } from './alerts/evaluation.ts'
import { forgetRemoved } from './commands/remove.ts'
import { markSilent } from './commands/silence.ts'
import { markStalled } from './commands/stall.ts'
import { createSummaries } from './duties/change-summaries.ts'
import { createCheckpoints } from './duties/checkpoints.ts'
import { createDuties, type Duty } from './duties/duties.ts'
import { type Archive, createArchiving, createPartitioning, createRetention } from './duties/history.ts'
import { inTurn } from './duties/in-turn.ts'
import { createNameIndex, createSearchIndex } from './duties/search-index.ts'
import type { Writer } from './writer.ts'

export interface Maintenance {
  /** One round, now. False: another replica has the lease. */
  tick(): Promise<boolean>
  stop(): Promise<void>
}

export interface MaintenanceOptions {
  readonly database: Database
  readonly writer: Writer
  /** Seconds. Null: only devices that promised a heartbeat become OFFLINE by silence. */
  readonly offlineAfter: number | null
  readonly stalling: StallLimits
  /** Null: keep everything. */
  readonly historyDays: number | null
  /** Copies the history before it is removed. Null or absent: it is removed without a copy. */
  readonly archive?: Archive | null
  /** Null: never. */
  readonly forgetRemovedDays: number | null
  readonly failed?: (error: unknown, duty: string) => void
  readonly clock: () => Millis
  /** Milliseconds between rounds; the lease lasts three of them. */
  readonly interval?: number
}

const day = 24 * 60 * 60 * 1000
const chunk = 500
/** Days that the last batch of a server is remembered. A server that was suspended for as long may write its batch twice. */
const batchDays = 30
/**
 * Entries that are followed in one statement: more, the longer the duty is behind. Each statement also reads the durations that are known of the steps
 * that it comes by, and those are the same for many entries. Reports and queries wait for it, in the embedded database and on few processors.
 */
const fewestFollowed = 250
const mostFollowed = { postgres: 2_000, pglite: 250 }
/** Standstills in one search. The number is small, so that a planner without statistics prefers the index to a scan of the table. */
const fewFound = 100

export function createMaintenance(options: MaintenanceOptions): Maintenance {
  const { database, clock, interval = 5_000, failed = () => {} } = options
  const holder = randomUUID()
  const term = 3 * interval
  /** A time of performance.now(), because the wall clock can be set. */
  let heldUntil = 0
  let isStopped = false
  let round: Promise<boolean> | null = null
  const stopping = new AbortController()
  const duties = createDuties(database.session, dutiesOf(options, stopping.signal), failed)
  const running = new Set<Promise<void>>()

  /** Renews the lease and begins what is due. */
  async function begin(): Promise<boolean> {
    const [now, asked] = [clock(), performance.now()]
    const lease = { name: 'timekeeper', holder, now, term, grace: 60_000 }
    const listeningSince = await holdLease(database.session, lease)
    if (listeningSince === null || isStopped) return false
    heldUntil = asked + term
    const isOver = (): boolean => isStopped || performance.now() > heldUntil
    const work = duties.round({ now, listeningSince, isOver })
    running.add(work)
    void work.finally(() => running.delete(work))
    return true
  }

  const run = (): Promise<boolean> => {
    round ??= begin().finally(() => {
      round = null
    })
    return round
  }
  const timer = setInterval(() => void run().catch((error: unknown) => failed(error, 'lease')), interval)

  return {
    async tick() {
      const isHeld = await run()
      await Promise.all(running)
      return isHeld
    },
    async stop() {
      isStopped = true
      stopping.abort()
      clearInterval(timer)
      await round?.catch(() => undefined)
      await Promise.all(running)
    },
  }
}

function dutiesOf(options: MaintenanceOptions, signal: AbortSignal): readonly Duty[] {
  const { database, writer, offlineAfter, forgetRemovedDays, historyDays, archive = null } = options
  const { session } = database
  const background = { ...database, session: inTurn(session, () => writer.newest) }
  const duties: Duty[] = [
    {
      name: 'signatures',
      interval: 0,
      budget: 5_000,
      async run({ now }) {
        await forgetSignatures(session, now)
        return true
      },
    },
    {
      name: 'batches',
      interval: day,
      budget: 5_000,
      async run({ now }) {
        await forgetBatches(session, now - batchDays * day)
        return true
      },
    },
    {
      name: 'silence',
      interval: 0,
      budget: 5_000,
      async run({ now, listeningSince, isOver }) {
        for (;;) {
          const silent = await findSilent(session, now, listeningSince, offlineAfter, chunk)
          if (silent.length === 0) return true
          const { marked } = await writer.submit(markSilent(silent, listeningSince))
          // The devices were heard meanwhile.
          if (silent.length < chunk || marked === 0) return true
          if (isOver()) return false
        }
      },
    },
    createStandstill({ ...options, database: background }),
    createAlertEvaluation(database, writer),
    createCheckpoints(background),
    createSearchIndex(background),
    createNameIndex(background),
    createSummaries(background),
  ]
  if (database.kind === 'pglite')
    duties.push({
      name: 'statistics',
      interval: 60_000,
      budget: 5_000,
      async run({ isOver }) {
        for (const table of await findUnanalyzed(session)) {
          await analyzeTable(session, table)
          if (isOver()) return false
        }
        return true
      },
    })
  if (forgetRemovedDays !== null)
    duties.push({
      name: 'forgetting',
      interval: 0,
      budget: 5_000,
      async run({ now, isOver }) {
        const before = now - forgetRemovedDays * day
        for (;;) {
          const keys = await findEnded(session, before, chunk)
          if (keys.length === 0) return true
          await writer.submit(forgetRemoved(keys, before))
          if (isOver()) return false
        }
      },
    })
  const history = { database, kept: historyDays === null ? null : historyDays * day, signal }
  duties.push(createPartitioning(history))
  if (history.kept !== null) {
    const retention = { ...history, kept: history.kept, archive }
    if (archive) duties.push(createArchiving(retention, archive))
    duties.push(createRetention(retention))
  }
  return duties
}

/**
 * Follows the log a minute behind its head, and marks deployments that stand still. No standstill is shorter than a minute, and a step that
 * ended within the minute needs no row in the index of steps.
 */
function createStandstill({ database, writer, stalling }: MaintenanceOptions): Duty {
  const { session } = database
  /** Heads of the log, oldest first, with the time of the reading, because the log's own time may have jumped. */
  const seen: { readonly revision: Revision; readonly at: Millis }[] = []

  async function follow(now: Millis, isOver: () => boolean): Promise<Revision | null> {
    const { revision } = await readHead(session)
    seen.push({ revision, at: now })
    const old = seen.findLastIndex(({ at }) => at <= now - shortest * 1_000)
    if (old > 0) seen.splice(0, old)
    let cursor = await readFollowed(session)
    if (old < 0) return cursor
    const newest = seen[0]?.revision ?? 0
    for (let entries = fewestFollowed; cursor < newest; entries = Math.min(2 * entries, mostFollowed[database.kind])) {
      const read = await followSteps(session, cursor, newest, entries)
      if (read === null || isOver()) return null
      cursor = read.cursor
    }
    return cursor
  }

  return {
    name: followed,
    interval: 10_000,
    budget: 4_000,
    async run({ now, listeningSince, isOver }) {
      const cursor = await follow(now, isOver)
      if (cursor === null) return false
      if (stalling.factor === null && stalling.after === null) return true
      for (;;) {
        const found = await findOverdue(session, now, stalling, listeningSince, cursor, fewFound)
        if (found.length === 0) return true
        const stalled = found.filter(({ verdict }) => verdict === 'STALLED')
        if (stalled.length > 0) await writer.submit(markStalled(stalled))
        await settleOverdue(session, found)
        if (isOver()) return false
      }
    },
  }
}
