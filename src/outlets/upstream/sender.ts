/**
 * Sends to the server above, batch after batch. The next one is read while one is in flight.
 *
 *   GET where it is ──▶ read a batch ──▶ POST ──▶ 200: the next one                           failure: back-off with jitter, then GET again
 *         ▲                                  └──▶ 409: from where it is, or with the names that it asks for
 *         └── a failure, another lease
 *
 * An idle link sends at once. Otherwise changes are gathered, so that a batch carries many.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { type Batch, siteProtocol, type Taken } from '../../domain/sites/batch.ts'
import type { Millis } from '../../domain/values.ts'
import type { Hub } from '../../feed/hub.ts'
import { type BackOff, pauseAfter } from '../../platform/timing/back-off.ts'
import { within } from '../../platform/timing/within.ts'
import { type BatchesOptions, type NextBatch, nextBatch } from './batches.ts'
import { type Cursor, cursorOf } from './cursor.ts'
import { type Link, LinkError, type Outcome } from './link.ts'
import type { LinkState } from './link-state.ts'

export interface Sender {
  /** False: cuts off the batch in flight. It is sent again by the server that sends next. */
  stop(isOrderly: boolean): Promise<void>
}

export interface Pace {
  /** Milliseconds between the begins of two batches, unless the first was full. */
  readonly gathering: Millis
  /** Milliseconds after which it looks for what moves no revision: registrations, another epoch. */
  readonly look: Millis
  /** Milliseconds without a batch after which an empty one says that this site is there. */
  readonly contact: Millis
  readonly backOff: BackOff
  /** After a refused credential. An operator has to do something. */
  readonly refusedBackOff: BackOff
  /** For the batch in flight, when the server ends. */
  readonly closing: Millis
}

export interface SenderOptions extends BatchesOptions {
  readonly hub: Pick<Hub, 'onMove'>
  readonly link: Link
  readonly state: LinkState
  /** A failure of the database, not of the link. */
  readonly failed: (error: unknown) => unknown
  readonly pace: Pace
}

/** Answers in succession that the receiver is elsewhere. More are a fault of it. */
const mostStandings = 5
/** The least share of the usual size of a batch: with seven facts, the server above takes deployments of any size. */
const leastShare = 1 / 256

export function createSender(options: SenderOptions): Sender {
  const { hub, link, state, failed, pace } = options
  const cut = new AbortController()
  const resting = new AbortController()
  let isStopped = false
  let isMoved = false
  let wake = (): void => {}
  /** Of the usual size of a batch. */
  let share = 1
  /** In succession. */
  let standings = 0
  let reading: Promise<unknown> = Promise.resolve()

  const leave = hub.onMove(() => {
    isMoved = true
    wake()
  })

  /** Until something may be new. */
  async function idle(since: number): Promise<void> {
    if (!isMoved && !isStopped) {
      const moved = new Promise<void>((resolve) => {
        wake = resolve
      })
      await within(pace.look, moved)
    }
    const left = since + pace.gathering - performance.now()
    if (left > 0 && !isStopped) await sleep(left)
  }

  async function converse(): Promise<void> {
    const standing = await link.ask(cut.signal)
    requireProtocol(standing.protocols)
    let cursor = cursorOf(standing)
    let ahead: Promise<NextBatch> | null = null
    let sentAt = Number.NEGATIVE_INFINITY
    standings = 0
    while (!isStopped) {
      isMoved = false
      const next: NextBatch = await (ahead ?? read(cursor))
      ahead = null
      // The first batch says that this site is there.
      if (next.isEmpty && performance.now() - sentAt < pace.contact) {
        cursor = { ...cursor, read: next.batch.upTo, reportsAfter: next.onceTaken.reportsAfter }
        if (next.isLevel) await idle(sentAt)
        continue
      }
      if (next.why !== null) state.beginsAgain(next.why)
      sentAt = performance.now()
      const sending = link.send(next.batch, cut.signal)
      if (!next.isLevel) ahead = read(next.onceTaken)
      const { from, isTaken } = follow(await sending, next, cursor)
      cursor = from
      if (isTaken) state.taken(standing.site, next)
      else ahead = null
      if (next.isLevel || !isTaken) await idle(sentAt)
    }
  }

  /** Where the next batch begins. After one that was not taken, it is sent without waiting for a change. */
  function follow(
    outcome: Outcome,
    next: NextBatch,
    cursor: Cursor,
  ): { readonly from: Cursor; readonly isTaken: boolean } {
    if ('standing' in outcome) {
      isMoved = true
      standings += 1
      if (standings > mostStandings)
        throw new LinkError('MISMATCH', 'says of each batch that it does not begin where it is')
      return { from: cursorOf(outcome.standing, cursor), isTaken: false }
    }
    standings = 0
    share = Math.min(1, 2 * share)
    if (isWhole(next.batch, outcome.taken)) return { from: next.onceTaken, isTaken: true }
    // It forgets what the snapshot does not have, in parts.
    isMoved = true
    return { from: cursor, isTaken: false }
  }

  function read(cursor: Cursor): Promise<NextBatch> {
    const next = nextBatch(options, cursor, share)
    // A failure is that of the batch for which it is read.
    reading = next.catch(ignore)
    return next
  }

  async function run(): Promise<void> {
    let failures = 0
    while (!isStopped) {
      const before = state.batches()
      try {
        await converse()
      } catch (error) {
        if (isStopped) return
        link.close()
        if (state.batches() > before) failures = 0
        await sleep(pauseFor(error, failures), undefined, { signal: resting.signal }).catch(ignore)
        failures += 1
      }
    }
  }

  function pauseFor(error: unknown, failures: number): Millis {
    if (!(error instanceof LinkError)) {
      failed(error)
      return pauseAfter(pace.backOff, failures)
    }
    if (error.isTooMuch) share = Math.max(share / 2, leastShare)
    state.failed(error)
    return pauseAfter(error.trouble === 'REFUSED' ? pace.refusedBackOff : pace.backOff, failures)
  }

  const running = run()
  return {
    async stop(isOrderly) {
      isStopped = true
      leave()
      wake()
      resting.abort()
      if (!isOrderly || !(await within(pace.closing, running))) cut.abort()
      await running
      await reading
      link.close()
    },
  }
}

/** False: the last part of a snapshot has to be sent again. */
function isWhole({ upTo, snapshot }: Batch, { position }: Taken): boolean {
  if (snapshot && !snapshot.isLast) return true
  if (position?.epoch === upTo.epoch && position.revision === upTo.revision && position.writes === upTo.writes)
    return true
  if (snapshot) return false
  throw new LinkError('MISMATCH', 'acknowledges another batch than it was sent')
}

function requireProtocol(protocols: readonly number[]): void {
  if (protocols.includes(siteProtocol)) return
  const theirs = protocols.slice(0, 10).join(', ')
  throw new LinkError('MISMATCH', `speaks the versions ${theirs} of the protocol, and this one speaks ${siteProtocol}`)
}

function ignore(): void {}
