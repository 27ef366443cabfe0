/**
 * Changes that become due with time. The replica that holds the lease makes them through the writer. Each decision is repeated under the
 * writer's lock, so two replicas that both believe they hold the lease do nothing twice.
 */
import { randomUUID } from 'node:crypto'
import type { Millis } from '../../domain/values.ts'
import type { Database } from '../../store/database.ts'
import { holdLease } from '../../store/leases.ts'
import { summariesProjection } from '../../store/write/derived/change-summaries.ts'
import { searchProjection } from '../../store/write/derived/search-entries.ts'
import type { StallLimits } from '../../store/write/standstill.ts'
import { createAlertEvaluation } from '../alerts/evaluation.ts'
import type { Writer } from '../writer.ts'
import { createCheckpoints } from './checkpoints.ts'
import { createDuties, type Duty } from './duties.ts'
import { createFacetCounts } from './facet-counts.ts'
import { type Archive, createArchiving, createPartitioning, createRetention } from './history.ts'
import { createHousekeeping, day, type HousekeepingOptions } from './housekeeping.ts'
import { inTurn } from './in-turn.ts'
import { createMaintenanceWindows } from './maintenance-windows.ts'
import { createProjecting } from './projections.ts'
import { createStandstill } from './standstill.ts'

export interface Maintenance {
  /** One round, now. False: another replica has the lease. */
  tick(): Promise<boolean>
  stop(): Promise<void>
}

export interface MaintenanceOptions extends HousekeepingOptions {
  readonly database: Database
  readonly writer: Writer
  readonly stalling: StallLimits
  /** Null: keep everything. */
  readonly historyDays: number | null
  /** Copies the history before it is removed. Null or absent: it is removed without a copy. */
  readonly archive?: Archive | null
  readonly failed?: (error: unknown, duty: string) => void
  readonly succeeded?: (duty: string) => void
  readonly clock: () => Millis
  /** Milliseconds between rounds; the lease lasts three of them. */
  readonly interval?: number
}

export function createMaintenance(options: MaintenanceOptions): Maintenance {
  const { database, clock, interval = 5_000, failed = () => {} } = options
  const holder = randomUUID()
  const term = 3 * interval
  /** A time of performance.now(), because the wall clock can be set. */
  let heldUntil = 0
  let isStopped = false
  let round: Promise<boolean> | null = null
  const stopping = new AbortController()
  const duties = createDuties(database.session, dutiesOf(options, stopping.signal), failed, options.succeeded)
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
  const { database, writer, stalling, historyDays, archive = null } = options
  const background = { ...database, session: inTurn(database.session, () => writer.newest) }
  const kept = historyDays === null ? null : historyDays * day
  const retention = kept === null ? null : { database, kept, signal, archive }
  return [
    createMaintenanceWindows(database, writer),
    ...createHousekeeping(options),
    createStandstill(background, writer, stalling),
    createAlertEvaluation(database, writer),
    createCheckpoints(background),
    ...[searchProjection, summariesProjection].map((projection) => createProjecting(background, projection)),
    createFacetCounts(background),
    createPartitioning({ database, kept, signal }),
    ...(retention && archive ? [createArchiving(retention, archive)] : []),
    ...(retention ? [createRetention(retention)] : []),
  ]
}
