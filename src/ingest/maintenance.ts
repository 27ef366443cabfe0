/**
 * Changes that become due with time. The replica that holds the lease makes them through the writer. Each decision is repeated under the
 * writer's lock, so two replicas that both believe they hold the lease do nothing twice.
 */
import { randomUUID } from 'node:crypto'
import type { Millis } from '../domain/values.ts'
import type { Database } from '../store/database.ts'
import { holdLease } from '../store/leases.ts'
import { findEnded, findSilent, forgetBatches, forgetSignatures } from '../store/write/housekeeping.ts'
import type { StallLimits } from '../store/write/standstill.ts'
import { analyzeTable, findUnanalyzed } from '../store/write/statistics.ts'
import { createAlertEvaluation } from './alerts/evaluation.ts'
import { forgetRemoved } from './commands/remove.ts'
import { markSilent } from './commands/silence.ts'
import { createSummaries } from './duties/change-summaries.ts'
import { createCheckpoints } from './duties/checkpoints.ts'
import { createDuties, type Duty } from './duties/duties.ts'
import { createFacetCounts } from './duties/facet-counts.ts'
import { type Archive, createArchiving, createPartitioning, createRetention } from './duties/history.ts'
import { inTurn } from './duties/in-turn.ts'
import { createNameIndex, createSearchIndex } from './duties/search-index.ts'
import { createStandstill } from './duties/standstill.ts'
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
  const { database, writer, offlineAfter, stalling, forgetRemovedDays, historyDays, archive = null } = options
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
    createStandstill(background, writer, stalling),
    createAlertEvaluation(database, writer),
    createCheckpoints(background),
    createSearchIndex(background),
    createNameIndex(background),
    createSummaries(background),
    createFacetCounts(background),
    {
      name: 'statistics',
      interval: 0,
      budget: 5_000,
      async run({ isOver }) {
        for (const table of await findUnanalyzed(session)) {
          await analyzeTable(session, table)
          if (isOver()) return false
        }
        return true
      },
    },
  ]
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
