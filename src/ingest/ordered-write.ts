/**
 * The third file of the writer: a batch in one transaction, under the lock of the log's head.
 *
 *   lock head · load · decide each command in order · save · NOTIFY · COMMIT → answer, then the feed
 *               └── for each part of a divided command (divided-write.ts) ──┘
 *
 *   the transaction …                 what follows
 *   commits                           each command's own answer (a DomainError is one)
 *   fails with an error of the SQL    the batch is halved until the command that causes the error is alone: only that command fails
 *   would load too much               the batch is divided into small batches, and a command of many items into parts (divided-write.ts)
 *   loses its connection              the outcome is unknown: the batch is looked up under the lock, and repeated only if it is missing
 *   cannot be settled in time         UNAVAILABLE (503): nothing was acknowledged, the device reports again
 */
import { paced } from '../platform/limits/pace.ts'
import { sharedSlices } from '../platform/limits/slices.ts'
import type { Session } from '../store/database.ts'
import { type BatchRecord, readBatches, stampOf, writerOf } from '../store/write/batches.ts'
import type { BatchName } from '../store/write/contract.ts'
import { type LockedHead, loadNeeds, lockHead } from '../store/write/load/load.ts'
import { BatchTooLarge, leastMeasured } from '../store/write/load/measured.ts'
import { saveBatch } from '../store/write/save/save.ts'
import {
  type Batch,
  decideBatch,
  fail,
  type HandedBatch,
  headAfter,
  joinLoaded,
  needsOf,
  type Outcome,
  settle,
  sizeOf,
  unreachable,
  withoutBroken,
} from './batch.ts'
import { changesOf } from './changes.ts'
import type { Command } from './command.ts'
import { writeInParts } from './divided-write.ts'
import type { HandOver } from './servers/hand-over.ts'
import { createUnitOfWork } from './unit-of-work/unit-of-work.ts'
import { batchSize, forget, type WriterOptions, type WriterState } from './writer-state.ts'

/** The latest attempt to write a batch. */
export interface Attempt {
  /** Where it is recorded: this writer, or one of its lanes (servers/follower.ts). */
  readonly writer: string
  /** Each attempt has a number greater than all before it, so that a late statement is not mistaken for a later attempt. */
  number: number
  outcomes: readonly Outcome[]
  /** The attempt may have been committed, and has not been looked up yet. */
  isUncertain: boolean
}

export interface OrderedWrite {
  /** False: the outcome is unknown, and the commands have failed. */
  write(batch: Batch, attempt?: Attempt): Promise<boolean>
  /** After COMMIT. */
  conclude(batch: Batch, written: Written, began: number): void
}

interface Written {
  readonly outcomes: readonly Outcome[]
  /** Publishes the batch to the feed. */
  announce(): void
}

export function createOrderedWrite(
  options: WriterOptions,
  state: WriterState,
  { noteWriter, giveBack }: Pick<HandOver, 'noteWriter' | 'giveBack'>,
): OrderedWrite {
  const { database, commitTimeout = 5_000 } = options
  const { writer, rowCache } = state

  function conclude(batch: Batch, written: Written, began: number): void {
    settle(batch.waiting, written.outcomes)
    written.announce()
    const size = sizeOf(batch)
    if (size >= state.batchLimit) state.batchLimit = Math.min(batchSize, 2 * state.batchLimit)
    const at = performance.now()
    state.answered = { at, batchTime: at - began }
    options.observe?.({ batch, size, seconds: (at - began) / 1000, revision: state.newestSeen })
  }

  function freshAttempt(recordedBy: string): Attempt {
    return { writer: recordedBy, number: state.batchNumber + 1, outcomes: [], isUncertain: false }
  }

  async function write(batch: Batch, attempt: Attempt = freshAttempt(writer)): Promise<boolean> {
    if (attempt.writer !== writer) state.openLanes.add(attempt.writer)
    const began = performance.now()
    const deadline = began + (state.failure ? 0 : commitTimeout)
    for (let tries = 0; ; tries += 1) {
      let written: Written
      try {
        written = await transact(batch, attempt)
      } catch (error) {
        state.connection = null
        forget(state)
        // A batch that may have been committed is not divided: its parts would have other numbers, and the lookup would miss them.
        if (!options.isTransient(error) && !attempt.isUncertain) {
          await isolate(batch, error, attempt.writer)
          return true
        }
        attempt.isUncertain = true
        // Try at least twice: this process may have been the one that was frozen.
        if ((performance.now() >= deadline && (tries > 0 || state.failure)) || state.isDraining) {
          state.failure = { error }
          fail(batch, unreachable(error))
          return false
        }
        await new Promise((resolve) => setTimeout(resolve, Math.min(50 * 2 ** tries, 1_000)))
        continue
      }
      // Outside the try: a later error must not write the batch again.
      conclude(batch, written, began)
      return true
    }
  }

  async function transact(batch: Batch, attempt: Attempt): Promise<Written> {
    const written = await database.transaction(async (session) => {
      const { connection } = session
      if (connection !== state.connection) {
        // If the database is an older copy, an equal count of writes proves nothing.
        forget(state)
        await options.checkIdentity(session, state.newestSeen)
      }
      const before = await lockHead(session)
      noteWriter(writerOf(before.stamp))
      const writers = [...(attempt.isUncertain ? [attempt.writer] : []), ...batch.handed.map(({ name }) => name.writer)]
      const records = await readBatches(session, writers)
      const own = attempt.isUncertain ? records.get(attempt.writer) : undefined
      if (own && own.batch >= attempt.number) return { connection, ...lookedUp(own, before, attempt) }
      attempt.isUncertain = false
      const [only] = batch.waiting
      if (only?.command.divided) return { connection, ...(await writeDivided(session, before, only.command, attempt)) }
      const isNew = ({ name }: HandedBatch): boolean => (records.get(name.writer)?.batch ?? 0) < name.batch
      const left = batch.handed.length === 0 ? batch : { ...batch, handed: batch.handed.filter(isNew) }
      return { connection, ...(await writeTogether(session, before, left, attempt)) }
    })
    state.connection = written.connection
    state.failure = null
    state.wroteAt = performance.now()
    return written
  }

  /** The batch was committed, but not published. The feed reads it from the log. */
  function lookedUp(own: BatchRecord, before: LockedHead, attempt: Attempt): Written {
    return {
      outcomes: (own.outcomes as readonly Outcome[] | undefined) ?? attempt.outcomes,
      announce() {
        state.openLanes.delete(attempt.writer)
        state.newestSeen = Math.max(state.newestSeen, before.revision)
        options.committed(before.revision, [], before.at)
      },
    }
  }

  async function writeDivided(
    session: Session,
    before: LockedHead,
    command: Command<unknown>,
    attempt: Attempt,
  ): Promise<Written> {
    const { result, head } = await writeInParts(session, before, command, nextName(attempt), state)
    attempt.outcomes = [{ ok: result }]
    return {
      outcomes: attempt.outcomes,
      announce() {
        forget(state)
        state.newestSeen = head.revision
        // The feed reads the log in pages: the changes of all parts are not kept in memory.
        options.committed(head.revision, [], head.at)
      },
    }
  }

  async function writeTogether(session: Session, before: LockedHead, batch: Batch, attempt: Attempt): Promise<Written> {
    const isAlone = before.stamp === stampOf({ writer, batch: state.batchNumber })
    rowCache.checkUnchanged(before.writes)
    const recalled = rowCache.recall(needsOf(batch))
    const loaded = joinLoaded(recalled.loaded, await loadNeeds(session, recalled.missing))
    const work = createUnitOfWork(before, loaded, state.clock(), state.offlineAfter)
    const decided = await paced(decideBatch(batch, work), sharedSlices, 'writer')
    const { effects, outcomes } = decided
    const name = nextName(attempt)
    attempt.outcomes = outcomes
    const ended = [...state.openLanes].map((lane) => ({
      name: { writer: lane, batch: name.batch },
      outcomes: lane === attempt.writer ? outcomes : [],
    }))
    await saveBatch(session, before, { ...decided, answers: [...decided.answers, ...ended] }, name)
    return {
      outcomes,
      announce() {
        state.openLanes.clear()
        rowCache.remember(loaded, effects, before.writes + 1)
        state.head = isAlone ? headAfter(before, effects, name) : null
        state.newestSeen = effects.revision
        options.committed(before.revision, changesOf(effects), effects.at)
      },
    }
  }

  function nextName(attempt: Attempt): BatchName {
    state.batchNumber += 1
    attempt.number = state.batchNumber
    return { writer, batch: attempt.number }
  }

  /**
   * One command makes the whole batch fail: halve the batch until that command is alone. Other servers do the same with their commands. All of them load too
   * much: divide it.
   */
  async function isolate({ waiting, handed }: Batch, error: unknown, recordedBy: string): Promise<void> {
    giveBack(handed)
    const isTooLarge = error instanceof BatchTooLarge
    const [only] = waiting
    const half = Math.ceil(waiting.length / 2)
    if (handed.length === 0 && waiting.length <= 1) {
      const divided = isTooLarge ? only?.command.ifTooLarge : undefined
      if (!only || !divided) return fail({ waiting }, error)
      const command = { ...only.command, divided }
      await write({ waiting: [{ ...only, command }], handed: [] }, freshAttempt(recordedBy))
      return
    }
    if (isTooLarge) state.batchLimit = leastMeasured
    const size = isTooLarge ? Math.min(leastMeasured, half) : handed.length > 0 ? waiting.length : half
    for (let first = 0; first < waiting.length; first += size) {
      const part = withoutBroken(waiting.slice(first, first + size))
      if (part.length > 0) await write({ waiting: part, handed: [] }, freshAttempt(recordedBy))
    }
  }

  return { write, conclude }
}
