/**
 * The writer: one ordered transaction a batch, the next is whatever queued meanwhile.
 *
 *   submit → queue → [ lock head · load · decide each in order · save · NOTIFY · COMMIT ] → answer, then tell the feed
 *
 * Revisions are handed out under the lock of log_head, so revision order = commit order across replicas.
 *
 * While nobody else writes, what a batch leaves is known before it is committed. So a batch of reports of known deployments is decided
 * on that, and sent as one statement which is nothing unless its predecessor wrote last (save-at-once.ts): the database writes one while the
 * next is decided. When one does not succeed, neither do those behind it; all are then taken again in order, as above.
 *
 *   the transaction …                what follows
 *   commits                          each command's own answer (a DomainError is one)
 *   fails with an error of the SQL   the batch is halved until the poisoned command stands alone: only it fails
 *   loses its connection             the outcome is unknown: it is looked up under the lock, and repeated only if it was not there
 *   cannot be settled in time        UNAVAILABLE (503): nothing was acknowledged, the device reports again
 */
import { randomUUID } from 'node:crypto'
import type { Change } from '../domain/change.ts'
import type { Millis } from '../domain/values.ts'
import type { Database, Session } from '../store/database.ts'
import type { Loaded } from '../store/write/contract.ts'
import { type LockedHead, loadNeeds, lockHead } from '../store/write/load.ts'
import { saveOptimistically } from '../store/write/optimistic-save.ts'
import { isCommitted, saveBatch, stampOf } from '../store/write/save.ts'
import {
  type Decided,
  decideBatch,
  fail,
  headAfter,
  joinLoaded,
  type Outcome,
  settle,
  unavailable,
  unreachable,
  type Waiting,
} from './batch.ts'
import type { Command } from './command.ts'
import { createRowCache } from './row-cache.ts'
import { changesOf, createUnitOfWork } from './unit-of-work.ts'

export interface Writer {
  /** Resolves after COMMIT. Rejects with the command's DomainError, or UNAVAILABLE when it could not be decided. */
  submit<Result>(command: Command<Result>): Promise<Result>
  /** Takes nothing more and resolves when all that was taken is decided. */
  drain(): Promise<void>
  readonly queued: number
  /** Why the last batch could not be written; null: it was, or there was none. */
  readonly failure: { readonly error: unknown } | null
}

export interface WriterOptions {
  readonly database: Database
  /** Told after COMMIT, in revision order; `since` is the head the batch began from. */
  readonly committed: (since: number, changes: readonly Change[], at: Millis) => void
  /** A lost connection (or a lock that somebody frozen holds), as opposed to an error in what was asked. */
  readonly isTransient: (error: unknown) => boolean
  /** Runs at the beginning of a connection's first transaction: is it still the database it was? */
  readonly checkIdentity: (session: Session, newestSeen: number) => Promise<void>
  readonly observe?: (batch: { readonly size: number; readonly seconds: number }) => void
  readonly clock: () => Millis
  /** Seconds; see World. */
  readonly offlineAfter?: number | null
  /** Commands that may wait. More: UNAVAILABLE. */
  readonly capacity?: number
  readonly batchSize?: number
  /** Deployments, and devices, that need not be read again. */
  readonly remembered?: number
  /** How long a batch may try to reach the database before its commands are told UNAVAILABLE. */
  readonly patience?: Millis
}

/** The latest try to write a batch. */
interface Attempt {
  /** Each has a number of its own, greater than all before it: what is lost and still comes must not be taken for what was tried again. */
  number: number
  outcomes: readonly Outcome[]
  /** It lost its connection, and it has not been looked up yet whether it was committed. */
  isUncertain: boolean
}

interface Written {
  readonly outcomes: readonly Outcome[]
  /** Tells whoever listens. */
  announce(): void
}

/** A batch that was sent and is not answered yet. */
interface InFlightBatch extends Written {
  readonly batch: readonly Waiting[]
  readonly number: number
  readonly began: number
  readonly sent: Promise<SendOutcome>
}

type SendOutcome = 'written' | 'not written' | 'unknown'

/** What was recalled is remembered. */
const nothing: Loaded = { deployments: [], targets: [], rollouts: [] }

/** More would not make the database quicker, and only be smaller batches. */
const mostInFlight = 2

const leastHalf = 32

export function createWriter(options: WriterOptions): Writer {
  const { database, clock, capacity = 20_000, batchSize = 1_000, patience = 5_000, offlineAfter = null } = options
  const writer = randomUUID()
  const rowCache = createRowCache(options.remembered ?? 50_000)
  const queue: Waiting[] = []
  let batchNumber = 0
  let newestSeen = 0
  /** The connection whose database is known to be the one it was. */
  let checked: number | null = null
  /** Once a batch has waited in vain, those after it are told at once, until one gets through. */
  let failure: Writer['failure'] = null
  let isDraining = false
  let work: Promise<void> | null = null
  const inFlight: InFlightBatch[] = []
  /** Where the head is when all flights have landed, as far as we know; null: nobody knows, or others write, too. */
  let head: LockedHead | null = null
  let arrived = (): void => {}

  async function run(): Promise<void> {
    while (queue.length > 0 || inFlight.length > 0) {
      const [first] = inFlight
      // A smaller one would cost both sides more than it gains anybody.
      if (first && (queue.length < first.batch.length || inFlight.length >= mostInFlight)) {
        const arrival = new Promise<void>((resolve) => {
          arrived = resolve
        })
        const sendOutcome = await Promise.race(inFlight.length >= mostInFlight ? [first.sent] : [first.sent, arrival])
        if (sendOutcome) await awaitOldest()
        continue
      }
      // Whoever can be answered in this turn of the event loop joins the batch.
      await new Promise(setImmediate)
      // Many are taken in halves: the second is decided while the first is written.
      const isHalved = head !== null && inFlight.length === 0 && queue.length >= 2 * leastHalf
      const batch = queue.splice(0, isHalved ? Math.min(Math.floor(queue.length / 2), batchSize) : batchSize)
      if (sendOptimistically(batch)) continue
      while (inFlight.length > 0) await awaitOldest()
      await writeInOrder(batch)
    }
    work = null
  }

  /** Sends a batch of which everything is known. False: it is not one. */
  function sendOptimistically(batch: readonly Waiting[]): boolean {
    const before = head
    if (before === null || checked === null) return false
    const recalled = rowCache.recall(batch.map(({ command }) => command.needs))
    if (recalled.missing.length > 0) return false
    const began = performance.now()
    const name = { writer, batch: batchNumber + 1 }
    const made = decideAll(batch, before, recalled.loaded)
    const statement = made && made.also.length === 0 && saveOptimistically(before, recalled.loaded, made.effects, name)
    if (!statement) return false
    batchNumber += 1
    const { effects, outcomes } = made
    head = headAfter(before, effects, name)
    rowCache.remember(nothing, effects, head.writes)
    const sent = database.append(checked, statement.text, statement.parameters).then(
      (rows): SendOutcome => (rows.length > 0 ? 'written' : 'not written'),
      (error: unknown): SendOutcome => (options.isTransient(error) ? 'unknown' : 'not written'),
    )
    const announce = (): void => {
      newestSeen = effects.revision
      options.committed(before.revision, changesOf(effects), effects.at)
    }
    inFlight.push({ batch, number: name.batch, outcomes, announce, began, sent })
    return true
  }

  /** What a batch makes; null: one of its commands fails for no good reason, which is found out on the ordinary way. */
  function decideAll(batch: readonly Waiting[], before: LockedHead, loaded: Loaded): Decided | null {
    try {
      return decideBatch(batch, createUnitOfWork(before, loaded, clock(), offlineAfter))
    } catch {
      return null
    }
  }

  /** Waits for the oldest flight; when it has failed, for all of them, and takes what was not written again. */
  async function awaitOldest(): Promise<void> {
    const [first] = inFlight
    if (!first) return
    if ((await first.sent) === 'written') {
      inFlight.shift()
      conclude(first.batch, first, first.began)
      return
    }
    forget()
    const all = inFlight.splice(0)
    const sendOutcomes = await Promise.all(all.map(({ sent }) => sent))
    let isRefuted = false
    for (const [index, { batch, number, outcomes }] of all.entries()) {
      const isUncertain = sendOutcomes[index] !== 'not written' && !isRefuted
      // What was surely not written must not be looked up by its number any more: one that is greater has been written since.
      const attempt: Attempt = { number: isUncertain ? number : batchNumber + 1, outcomes, isUncertain }
      if (!(await writeInOrder(batch, attempt))) {
        // As long as one may still come, so may those behind it.
        for (const later of all.slice(index + 1)) fail(later.batch, unreachable())
        return
      }
      isRefuted ||= attempt.number !== number
    }
  }

  function forget(): void {
    rowCache.forget()
    head = null
  }

  function conclude(batch: readonly Waiting[], written: Written, began: number): void {
    settle(batch, written.outcomes)
    written.announce()
    options.observe?.({ size: batch.length, seconds: (performance.now() - began) / 1000 })
  }

  /** False: nobody knows yet whether it was written. */
  async function writeInOrder(
    batch: readonly Waiting[],
    attempt: Attempt = { number: batchNumber + 1, outcomes: [], isUncertain: false },
  ): Promise<boolean> {
    const began = performance.now()
    const deadline = began + (failure ? 0 : patience)
    for (let tries = 0; ; tries += 1) {
      let written: Written
      try {
        written = await transact(batch, attempt)
      } catch (error) {
        checked = null
        forget()
        // While it may have been committed it is not divided: its parts would have other numbers, and could not be found.
        if (!options.isTransient(error) && !attempt.isUncertain) {
          await isolate(batch, error)
          return true
        }
        attempt.isUncertain = true
        // Once more in any case: it may have been us who stood still.
        if ((performance.now() >= deadline && (tries > 0 || failure)) || isDraining) {
          failure = { error }
          fail(batch, unreachable(error))
          return false
        }
        await new Promise((resolve) => setTimeout(resolve, Math.min(50 * 2 ** tries, 1_000)))
        continue
      }
      // Outside: nothing that fails from here on may write it again.
      conclude(batch, written, began)
      return true
    }
  }

  async function transact(batch: readonly Waiting[], attempt: Attempt): Promise<Written> {
    const written = await database.transaction(async (session) => {
      const { connection } = session
      if (connection !== checked) {
        // In an older copy, a count of writes that is the same says nothing.
        forget()
        await options.checkIdentity(session, newestSeen)
      }
      const before = await lockHead(session)
      // It was committed after all: the feed has not heard of it, and reads it from the log.
      if (attempt.isUncertain && (await isCommitted(session, { writer, batch: attempt.number })))
        return {
          connection,
          outcomes: attempt.outcomes,
          announce: () => options.committed(before.revision, [], before.at),
        }
      attempt.isUncertain = false
      const isAlone = before.stamp === stampOf({ writer, batch: batchNumber })
      rowCache.checkUnchanged(before.writes)
      const recalled = rowCache.recall(batch.map(({ command }) => command.needs))
      const loaded = joinLoaded(recalled.loaded, await loadNeeds(session, recalled.missing))
      const { effects, outcomes, also } = decideBatch(batch, createUnitOfWork(before, loaded, clock(), offlineAfter))
      batchNumber += 1
      attempt.number = batchNumber
      attempt.outcomes = outcomes
      const name = { writer, batch: batchNumber }
      await saveBatch(session, before, effects, name, also)
      const announce = (): void => {
        rowCache.remember(loaded, effects, before.writes + 1)
        head = isAlone ? headAfter(before, effects, name) : null
        newestSeen = effects.revision
        options.committed(before.revision, changesOf(effects), effects.at)
      }
      return { connection, outcomes, announce }
    })
    checked = written.connection
    failure = null
    return written
  }

  /** One of them made the whole batch fail: halve it until the culprit stands alone. */
  async function isolate(batch: readonly Waiting[], error: unknown): Promise<void> {
    if (batch.length === 1) return fail(batch, error)
    const half = Math.ceil(batch.length / 2)
    await writeInOrder(batch.slice(0, half))
    await writeInOrder(batch.slice(half))
  }

  return {
    submit<Result>(command: Command<Result>): Promise<Result> {
      if (isDraining) return Promise.reject(unavailable('the server is shutting down'))
      if (queue.length >= capacity) return Promise.reject(unavailable('too many reports are waiting to be written'))
      return new Promise<Result>((resolve, reject) => {
        queue.push({ command: command as Command<unknown>, resolve: resolve as (result: unknown) => void, reject })
        arrived()
        work ??= run()
      })
    },
    async drain() {
      isDraining = true
      await work
    },
    get queued() {
      return queue.length
    },
    get failure() {
      return failure
    },
  }
}
