/**
 * One streaming standby. It is read only while it is a standby, has this version's tables and answers in time:
 *
 *   a check (every second) or a read answers  → its position is known
 *   it does not answer, or is lost            → a problem, until a check succeeds
 *   it is not in recovery (it was promoted)   → a problem: another server may write to it, and its log then continues differently
 *
 * The head is read in the snapshot itself, so a URL that leads to another server than before is noticed too.
 */
import type { LogHead, Snapshot } from '../../database.ts'
import { missingMigrations } from '../../migration/migrate.ts'
import { openConnection } from '../connection.ts'
import { createPool } from '../connection-pool.ts'
import { incompleteness, isTransient } from '../failure.ts'
import { type HeadStatement, headStatement, includes, type LogPosition } from '../log-head.ts'
import { type CancellableSnapshot, openReadPool, type ReadPoolOptions } from '../read-pool.ts'
import { createSideConnection } from '../side-connection.ts'
import { createTarget, type DatabaseAddress } from '../target/target.ts'
import { answerWithin } from '../timeout.ts'
import { type Run, sessionOf } from '../transaction.ts'
import { createPositionQueue } from './position-queue.ts'

export interface Standby {
  /** For operators, without a password. */
  readonly location: string
  /** The newest position that it has shown. Null: none. */
  position(): LogPosition | null
  /** Why it cannot be read. Null: it can. */
  problem(): string | null
  /** The snapshots that it served. */
  reads(): number
  /** Reads its position and its tables. */
  check(): Promise<void>
  /** Whether it gets to the position in time. Concurrent callers share the statements. */
  reach(position: LogPosition): Promise<boolean>
  /** Null: it does not include the position, has another epoch, or cannot be read. */
  snapshot(position: LogPosition, signal?: AbortSignal): Promise<Snapshot | null>
  close(): Promise<void>
}

export interface StandbyOptions extends Omit<ReadPoolOptions, 'target'> {
  readonly url: string | DatabaseAddress
  /** Milliseconds that a reader waits until the standby includes what it must. */
  readonly patience: number
  /** The epoch of the primary. */
  readonly epochBase: () => number
  /** The problem is another one, or gone. */
  readonly problemChanged: () => void
}

/** Milliseconds. The primary is asked instead. */
const silentAfter = 2_000

const standbyHead: HeadStatement = {
  text: `select h.*, pg_is_in_recovery() as "isStandby" from (${headStatement.text}) h`,
  parameters: headStatement.parameters,
}

interface StandbyHead extends LogHead {
  readonly isStandby: boolean
}

const unreachable = 'it cannot be reached'
const foreign = 'it lacks our tables'
const promoted = 'it is not a standby: it was promoted, or never was one'

function reasonOf(error: unknown): string {
  return isTransient(error) && incompleteness(error) === null ? unreachable : foreign
}

export function openStandby({ url, patience, epochBase, problemChanged, ...options }: StandbyOptions): Standby {
  const target = createTarget(url)
  const asking = { target, timeout: silentAfter, silence: silentAfter }
  const side = createSideConnection(asking)
  const pool = openReadPool({ target, silence: silentAfter, ...options }, side)
  const checks = createPool(() => openConnection({ ...asking, settings: { statement_timeout: silentAfter } }), {
    size: 1,
    timeout: silentAfter,
  })
  let position: LogPosition | null = null
  let problem: string | null = 'it was not reached yet'
  let hasTables = false
  let reads = 0
  const queue = createPositionQueue({ look, patience })

  function note(head: StandbyHead): void {
    position = head
    if (!head.isStandby) {
      fail(promoted)
      return
    }
    if (hasTables) setProblem(null)
    queue.shown(head)
  }

  function fail(why: string): void {
    // A server that comes back may be another one, or have older data.
    hasTables = false
    setProblem(why)
    queue.giveUp()
  }

  function setProblem(found: string | null): void {
    if (found === problem) return
    problem = found
    problemChanged()
  }

  async function ask<T>(work: (run: Run) => Promise<T>): Promise<T> {
    const connection = await checks.take()
    try {
      return await work(connection.run)
    } finally {
      checks.give(connection)
    }
  }

  async function look(): Promise<void> {
    try {
      const [head] = await ask((run) => run<StandbyHead>(standbyHead.text, standbyHead.parameters))
      if (head) note(head)
      else fail('it has no log')
    } catch (error) {
      fail(reasonOf(error))
    }
  }

  /** Null: it did not answer in time. */
  function headOf(snapshot: Snapshot): Promise<StandbyHead | null> {
    return answerWithin(silentAfter, snapshot.head as Promise<StandbyHead>, null)
  }

  async function open(signal: AbortSignal | undefined): Promise<CancellableSnapshot | null> {
    try {
      return await pool.snapshot(standbyHead, signal)
    } catch (error) {
      // Every connection to it is in use.
      if (!isTransient(error)) throw error
      return null
    }
  }

  return {
    location: target.location,
    position: () => position,
    problem: () => problem,
    reads: () => reads,
    async check() {
      try {
        if (!hasTables) {
          const missing = await ask((run) => missingMigrations(sessionOf(run)))
          if (missing.length > 0) return fail(`it lacks the migrations ${missing.join(', ')}`)
        }
      } catch (error) {
        return fail(reasonOf(error))
      }
      hasTables = true
      await look()
    },
    reach: (wanted) => (position !== null && includes(position, wanted) ? Promise.resolve(true) : queue.wait(wanted)),
    async snapshot(wanted, signal) {
      const snapshot = await open(signal)
      if (snapshot === null) return null
      try {
        const head = await headOf(snapshot)
        if (head === null) {
          fail(unreachable)
          snapshot.cancel()
        } else {
          note(head)
          if (head.isStandby && head.epochBase === epochBase() && includes(head, wanted)) {
            reads += 1
            return tracked(snapshot, (error) => fail(reasonOf(error)))
          }
        }
      } catch (error) {
        signal?.throwIfAborted()
        fail(reasonOf(error))
      }
      await snapshot.close()
      return null
    },
    async close() {
      queue.giveUp()
      await Promise.all([pool, checks, side].map((part) => part.close()))
    },
  }
}

/** The code of a statement that took too long. The primary would take as long. */
const timedOut = '57014'
/** The code of a statement that the standby cancelled, because it kept the standby from replaying the log. */
const inTheWay = '40001'

function tracked(snapshot: Snapshot, lost: (error: unknown) => void): Snapshot {
  let isLost = false
  const run: Run = async (text, parameters) => {
    try {
      return await snapshot.run(text, parameters)
    } catch (error) {
      const code = error instanceof Error && 'code' in error ? error.code : null
      if (isTransient(error) && code !== timedOut && !isLost) {
        isLost = true
        if (code !== inTheWay) lost(error)
      }
      throw error
    }
  }
  return { ...snapshot, ...sessionOf(run), isStandbyLost: () => isLost }
}
