/**
 * Outgoing notifications. A sink is a durable cursor into the log. One replica at a time holds a sink. Each sink delivers independently, so
 * that a dead receiver delays no other.
 *
 *   hold (a lease, renewed) → anything new? → deliver → note the cursor          on failure: back-off with jitter, for the configured time
 *
 * If a replica dies while it delivers, another delivers again: at least once. The same event has the same id.
 */

import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import type { Millis, Revision } from '../../domain/values.ts'
import type { Hub } from '../../feed/hub.ts'
import type { BackOff } from '../../platform/timing/back-off.ts'
import { createRounds } from '../../platform/timing/rounds.ts'
import type { Database } from '../../store/database.ts'
import { sinksWithWanted } from '../../store/sinks/deliveries.ts'
import { holdSinks, moveCursor, noteAttempt, releaseSinks, sinksBehind } from '../../store/sinks/sink-progress.ts'
import type { Sink } from '../../store/sinks/sinks.ts'
import { attemptOf } from './attempt.ts'
import { isDue, isRepeatDue } from './due.ts'
import type { Deliver, Turn } from './round.ts'

export interface Sinks {
  /** Looks again now: a sink was configured. */
  refresh(): void
  readonly held: number
  stop(): Promise<void>
}

export interface SinksOptions {
  readonly database: Database
  readonly hub: Hub
  readonly deliver: Readonly<Record<Sink['kind'], Deliver>>
  readonly failed?: (error: unknown) => void
  readonly observe?: (outcome: { readonly kind: Sink['kind']; readonly isFailed: boolean }) => void
  readonly clock: () => Millis
  /** Milliseconds between rounds. A lease lasts six of them. */
  readonly interval?: number
  /** The number of concurrent deliveries. */
  readonly concurrency?: number
  /** Milliseconds of a webhook's round while other sinks wait for their turn. */
  readonly turn?: Millis
  /** Between attempts after a failure. */
  readonly backOff?: BackOff
  /** Milliseconds between notes of the cursor during a long round. */
  readonly noteInterval?: number
  /** Milliseconds without a success after which a sink is paused. Null: never. */
  readonly giveUpAfter?: Millis | null
}

/** New sinks that one replica takes in a round, so that other replicas get a share. */
const share = 50
/** Milliseconds in which changes are gathered before a round begins. */
const gathering = 50
const defaultBackOff: BackOff = { first: 1_000, longest: 300_000 }

export function createSinks(options: SinksOptions): Sinks {
  const {
    database,
    hub,
    deliver,
    failed = () => {},
    observe,
    clock,
    interval = 5_000,
    concurrency = 16,
    turn: longestTurn = 5_000,
    noteInterval = 2_000,
    giveUpAfter = null,
  } = options
  const backOff = options.backOff ?? defaultBackOff
  const holder = randomUUID()
  const held = new Map<number, Sink>()
  const busy = new Map<number, Promise<void>>()
  /** When their last rounds began, by performance.now(). */
  const lastTurns = new Map<number, number>()
  let areOthersWaiting = false
  let isStopped = false
  /** A time of performance.now(), because the wall clock can be set. The lease begins no earlier than its request was sent. */
  let heldUntil = 0

  async function round(): Promise<boolean> {
    try {
      // A delivery in progress may move the cursor of its sink after the row is read, so these sinks are skipped.
      const moving = new Set(busy.keys())
      await start(await hold(), moving)
    } catch (error) {
      failed(error)
      return false
    }
    await sleep(gathering)
    return true
  }

  /** Returns the newest revision. */
  async function hold(): Promise<Revision> {
    const asked = performance.now()
    const term = 6 * interval
    const { sinks: mine, head } = await holdSinks(database.session, { holder, now: clock(), term, more: share })
    heldUntil = asked + term
    held.clear()
    for (const sink of mine) held.set(sink.key, sink)
    for (const key of lastTurns.keys()) if (!held.has(key)) lastTurns.delete(key)
    return head
  }

  /** Begins a delivery to each sink that is behind and idle, beginning with the one that has waited longest. */
  async function start(head: Revision, moving: ReadonlySet<number>): Promise<void> {
    const now = clock()
    const lastTurn = ({ key }: Sink): number => lastTurns.get(key) ?? 0
    const idle = [...held.values()]
      .filter((sink) => !busy.has(sink.key) && !moving.has(sink.key) && isDue(sink, now))
      .sort((a, b) => lastTurn(a) - lastTurn(b))
    areOthersWaiting = false
    if (idle.length === 0) return
    const pending = await findPending(idle)
    for (const sink of idle) {
      const readsLog = sink.kind === 'WEBHOOK' || sink.kind === 'ALERTMANAGER'
      const mustRepeat = sink.kind === 'ALERTMANAGER' && isRepeatDue(sink, now)
      const isBehind = pending.has(sink.key) || mustRepeat || (readsLog && sink.cursor < head)
      if (!isBehind) continue
      // The end of a delivery requests a round. Rounds until then would renew all holds twenty times a second.
      areOthersWaiting = busy.size >= concurrency
      if (areOthersWaiting) return
      begin(sink, head)
    }
  }

  /** By key, the sinks with something to send that their cursor does not show: their instance differs from what they got, or a delivery is wanted again. */
  async function findPending(sinks: readonly Sink[]): Promise<ReadonlySet<number>> {
    const keysOf = (...kinds: readonly Sink['kind'][]): number[] =>
      sinks.filter(({ kind }) => kinds.includes(kind)).map(({ key }) => key)
    const [reconciled, webhooks] = [keysOf('CALLBACK', 'INVENTORY'), keysOf('WEBHOOK')]
    const differing = reconciled.length === 0 ? [] : await sinksBehind(database.session, reconciled)
    const wanted = webhooks.length === 0 ? [] : await sinksWithWanted(database.session, webhooks)
    return new Set([...differing, ...wanted])
  }

  function begin(sink: Sink, head: Revision): void {
    lastTurns.set(sink.key, performance.now())
    const work = deliverRound(sink, head)
      .catch((error) => {
        failed(error)
        return pauseAfterFailure()
      })
      .finally(() => {
        busy.delete(sink.key)
        rounds.request()
      })
    busy.set(sink.key, work)
  }

  /** The failure is of this server, such as a write to the database. Without a pause the receiver would get the same messages again and again. */
  function pauseAfterFailure(): Promise<void> {
    return sleep(isStopped ? 0 : backOff.first)
  }

  /** Whether its receiver or its filter was changed after this copy was read. */
  function isChanged({ key, url, secret, filter }: Sink): boolean {
    const present = held.get(key)
    if (!present) return false
    return present.url !== url || present.secret !== secret || !isDeepStrictEqual(present.filter, filter)
  }

  async function deliverRound(sink: Sink, head: Revision): Promise<void> {
    const { session } = database
    const turn = beginTurn(sink)
    const round = await deliver[sink.kind](sink, head, turn)
    const isCutShort = !round.isSent && turn.isOver()
    // The error of the former receiver must not delay the first attempt at the new one.
    const isOfFormerReceiver = round.error !== null && isChanged(sink)
    // Records how far the log was read, and nothing about the receiver.
    if (isCutShort || isOfFormerReceiver) return moveCursor(session, sink.key, holder, round.cursor)
    if (round.isSent) observe?.({ kind: sink.kind, isFailed: round.error !== null })
    await noteAttempt(session, sink.key, holder, attemptOf(sink, round, clock(), { backOff, giveUpAfter }))
  }

  function beginTurn(sink: Sink): Turn {
    const began = performance.now()
    let notedAt = began
    // A webhook continues at its cursor. The other kinds send the present state, which is bounded.
    const hasHadTurn = (): boolean =>
      sink.kind === 'WEBHOOK' && areOthersWaiting && performance.now() - began >= longestTurn
    return {
      isOver: () =>
        isStopped || performance.now() > heldUntil || !held.has(sink.key) || isChanged(sink) || hasHadTurn(),
      async reached(cursor) {
        if (performance.now() - notedAt < noteInterval) return
        notedAt = performance.now()
        await moveCursor(database.session, sink.key, holder, cursor)
      },
    }
  }

  const rounds = createRounds(round, Math.min(interval, 1_000))
  // A server that holds no sink waits for the timer. A round after each commit would cost each idle server a statement.
  const leave = hub.onMove(() => {
    if (held.size > 0) rounds.request()
  })
  rounds.request()

  return {
    refresh: rounds.request,
    get held() {
      return held.size
    },
    async stop() {
      isStopped = true
      leave()
      await rounds.stop()
      await Promise.all(busy.values())
      await releaseSinks(database.session, holder).catch(failed)
    },
  }
}
