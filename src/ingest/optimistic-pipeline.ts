/**
 * The second file of the writer: overlapping batches. The database writes one batch while the server reads and decides the next.
 *
 * While no other server writes, the rows after a batch are known before it is committed. So the next batch is decided on these rows and sent as one
 * statement, which writes nothing unless the batch before it was the newest write (store/write/save/optimistic-save.ts).
 *
 *   the batch needs …                 what follows
 *   only rows in the row cache        `send`: it is decided and sent at once
 *   other rows of reports, too        `loadAndSend`: they are read beside the batches in flight, whose rows replace those that were read
 *   anything else                     both return false: the writer drains the pipeline and writes the batch under the head's lock
 *
 * If a batch is not written, no later batch in flight is written either: all of them are written again in order, under the head's lock.
 */
import { atOnce } from '../platform/limits/pace.ts'
import type { Effects, Loaded } from '../store/write/contract.ts'
import { type LockedHead, loadBeside } from '../store/write/load/load.ts'
import { saveOptimistically } from '../store/write/save/optimistic-save.ts'
import {
  type Batch,
  type Decided,
  decideBatch,
  fail,
  headAfter,
  joinLoaded,
  needsOf,
  type Outcome,
  sizeOf,
  unreachable,
} from './batch.ts'
import { changesOf } from './changes.ts'
import type { Attempt, OrderedWrite } from './ordered-write.ts'
import { isReported } from './row-cache.ts'
import { createUnitOfWork } from './unit-of-work/unit-of-work.ts'
import { forget, isFollowed, type WriterOptions, type WriterState } from './writer-state.ts'

interface Pipeline {
  /** Batches in flight. */
  size(): number
  /** Commands in flight. */
  commands(): number
  /** The least number of commands with which a batch may be sent now: a small batch costs server and database more than it gains. */
  leastCommands(): number
  /** Waits until the oldest batch is answered or, if another batch may be sent, until `arrival`. */
  wait(arrival: Promise<void>): Promise<void>
  /** False: nothing was sent. The batch needs rows that are not cached, or writes that the optimistic statement does not have. */
  send(batch: Batch): boolean
  /** The same, after it has read the rows that are not cached. Meanwhile the batches in flight are written and answered. */
  loadAndSend(batch: Batch): Promise<boolean>
  /** Waits until no batch is in flight. */
  drain(): Promise<void>
}

/** A batch that is sent and not answered yet. */
interface InFlightBatch {
  readonly batch: Batch
  /** The log's head that the batch was decided on. */
  readonly before: LockedHead
  readonly number: number
  /** A time of performance.now(). */
  readonly began: number
  readonly outcomes: readonly Outcome[]
  readonly effects: Effects
  readonly sent: Promise<SendOutcome>
  announce(): void
}

type SendOutcome = 'written' | 'not written' | 'unknown'

const noRows: Loaded = { deployments: [], targets: [], rollouts: [] }

/** More in flight would make the batches smaller and the database no faster. */
const mostInFlight = 2
/**
 * Two groups of callers alternate: those of one batch report again while the other is written. The groups are seldom equal. To wait for as many as the
 * other batch has would stop the smaller group until that batch is answered, and then nothing overlaps. So it is enough that most of the callers
 * that were answered last have reported again, and half of the other group: the groups must not grow apart.
 */
const mostOfAnswered = 0.9
const leastOfInFlight = 0.5

export function createPipeline(options: WriterOptions, state: WriterState, ordered: OrderedWrite): Pipeline {
  const { database } = options
  const inFlight: InFlightBatch[] = []
  /** Commands of the batch that was answered last. */
  let answered = 0

  function send(batch: Batch): boolean {
    if (state.head === null || state.connection === null) return false
    const { loaded, missing } = state.rowCache.recall(needsOf(batch))
    return missing.length === 0 && decideAndSend(batch, state.head, state.connection, loaded, noRows)
  }

  /**
   * What is read has the effects of some batches in flight and lacks those of others, so every row that one of them changes is replaced. A write of
   * another server after this read moves the head, and then the statement writes nothing.
   */
  async function loadAndSend(batch: Batch): Promise<boolean> {
    const { head, connection } = state
    if (head === null || connection === null) return false
    const { loaded: cached, missing } = state.rowCache.recall(needsOf(batch))
    if (!missing.every(isReported)) return false
    const earlier = [...inFlight]
    const heads = [...earlier.map(({ before }) => before), head]
    const reading = database.readBeside((reader) => loadBeside(reader, missing, heads)).catch(() => null)
    await answerWhile(reading)
    const read = await reading
    // Another head: a batch in flight was not written.
    if (read === null || state.head !== head) return false
    const changed = rowsAfter(earlier)
    const unchanged = withoutRows(read, changed)
    return decideAndSend(batch, head, connection, joinLoaded(joinLoaded(cached, unchanged), changed), unchanged)
  }

  /** Answers the batches in flight that are written before `reading` ends. */
  async function answerWhile(reading: Promise<unknown>): Promise<void> {
    for (let [first] = inFlight; first; [first] = inFlight) {
      const isAnswered = await Promise.race([first.sent.then(() => true), reading.then(() => false)])
      if (!isAnswered) return
      await awaitOldest()
    }
  }

  /** `loaded`: all rows that the batch needs. `uncached`: those of them that the row cache lacks. */
  function decideAndSend(
    batch: Batch,
    before: LockedHead,
    connection: number,
    loaded: Loaded,
    uncached: Loaded,
  ): boolean {
    const began = performance.now()
    const name = { writer: state.writer, batch: state.batchNumber + 1 }
    const decided = decideAll(batch, before, loaded)
    const statements = decided && saveOptimistically(before, loaded, decided, name, isFollowed(state))
    if (!statements) return false
    state.batchNumber += 1
    const { effects, outcomes } = decided
    state.head = headAfter(before, effects, name)
    state.rowCache.remember(uncached, effects, state.head.writes)
    const { save, notify } = statements
    const sent = database.append(connection, save.text, save.parameters).then(
      (rows): SendOutcome => (rows.length > 0 ? 'written' : 'not written'),
      (error: unknown): SendOutcome => (options.isTransient(error) ? 'unknown' : 'not written'),
    )
    // If the notification is lost, followers look the batch up, and subscribers of other servers wait for the next poll.
    if (notify) database.append(connection, notify.text, notify.parameters).catch(() => undefined)
    const announce = (): void => {
      state.newestSeen = effects.revision
      options.committed(before.revision, changesOf(effects), effects.at)
    }
    inFlight.push({ batch, before, number: name.batch, outcomes, effects, announce, began, sent })
    return true
  }

  /** Null: a command throws an error that is not a DomainError. The ordered write finds out which command. */
  function decideAll(batch: Batch, before: LockedHead, loaded: Loaded): Decided | null {
    try {
      return atOnce(decideBatch(batch, createUnitOfWork(before, loaded, state.clock(), state.offlineAfter)))
    } catch {
      return null
    }
  }

  async function awaitOldest(): Promise<void> {
    const [first] = inFlight
    if (!first) return
    if ((await first.sent) !== 'written') return writeAgain()
    inFlight.shift()
    answered = sizeOf(first.batch)
    ordered.conclude(first.batch, first, first.began)
  }

  /** Writes all batches in flight under the head's lock: the oldest was not written, or its connection is lost. */
  async function writeAgain(): Promise<void> {
    forget(state)
    const all = inFlight.splice(0)
    const sendOutcomes = await Promise.all(all.map(({ sent }) => sent))
    let isRefuted = false
    const { writer } = state
    for (const [index, { batch, number, outcomes }] of all.entries()) {
      const isUncertain = sendOutcomes[index] !== 'not written' && !isRefuted
      // A batch that was certainly not written must not be looked up by its number: a greater one has been written since.
      const attempt: Attempt = { writer, number: isUncertain ? number : state.batchNumber + 1, outcomes, isUncertain }
      if (!(await ordered.write(batch, attempt))) {
        // While one may still be committed, the later ones may be too.
        for (const later of all.slice(index + 1)) fail(later.batch, unreachable())
        return
      }
      isRefuted ||= attempt.number !== number
    }
  }

  return {
    size: () => inFlight.length,
    commands: () => inFlight.reduce((sum, { batch }) => sum + sizeOf(batch), 0),
    leastCommands() {
      const [first] = inFlight
      if (!first) return 0
      if (inFlight.length >= mostInFlight) return Number.POSITIVE_INFINITY
      const size = sizeOf(first.batch)
      return Math.min(size, Math.max(leastOfInFlight * size, mostOfAnswered * answered))
    },
    async wait(arrival) {
      const [first] = inFlight
      if (!first) return
      const sendOutcome = await Promise.race(inFlight.length >= mostInFlight ? [first.sent] : [first.sent, arrival])
      if (sendOutcome) await awaitOldest()
    },
    send,
    loadAndSend,
    async drain() {
      while (inFlight.length > 0) await awaitOldest()
    },
  }
}

/** The rows that these batches change, as they are after the last of them. */
function rowsAfter(batches: readonly InFlightBatch[]): Loaded {
  const rows = <Row>(of: (effects: Effects) => ReadonlyMap<number, { readonly row: Row }>): Row[] =>
    batches.flatMap(({ effects }) => [...of(effects).values()].map(({ row }) => row))
  return {
    deployments: rows(({ deployments }) => deployments),
    targets: rows(({ targets }) => targets),
    rollouts: rows(({ rollouts }) => rollouts),
  }
}

/** Without the rows that were changed since. Reports need no other kinds of rows (`isReported`). */
function withoutRows(read: Loaded, changed: Loaded): Loaded {
  const without = <Row extends { readonly key: number }>(rows: readonly Row[], others: readonly Row[]): Row[] => {
    const keys = new Set(others.map(({ key }) => key))
    return rows.filter(({ key }) => !keys.has(key))
  }
  return {
    deployments: without(read.deployments, changed.deployments),
    targets: without(read.targets, changed.targets),
    rollouts: without(read.rollouts, changed.rollouts),
  }
}
