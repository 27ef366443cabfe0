/**
 * Outgoing notifications. A sink is a durable cursor into the log. One replica at a time holds a sink. Each sink delivers independently, so
 * that a dead receiver delays no other.
 *
 *   hold (a lease, renewed) → anything new? → deliver → note the cursor          on failure: back-off with jitter, for the configured time
 *
 * If a replica dies while it delivers, another delivers again: at least once. The same event has the same id.
 */
import { randomUUID } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import { type BackOff, pauseAfter } from '../back-off.ts'
import type { Millis, Revision } from '../domain/values.ts'
import type { Hub } from '../feed/hub.ts'
import { createRounds } from '../rounds.ts'
import type { Database } from '../store/database.ts'
import { wantedDeliveries } from '../store/sinks/deliveries.ts'
import { holdSinks, moveCursor, noteAttempt, releaseSinks, sinksBehind } from '../store/sinks/rounds.ts'
import type { Sink } from '../store/sinks/sinks.ts'
import type { Deliver } from './round.ts'

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
/** Milliseconds. */
const failurePause = 1_000
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
    turn = 5_000,
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
    await new Promise((resolve) => setTimeout(resolve, gathering))
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
    const reconciling = idle.filter(({ kind }) => kind === 'CALLBACK' || kind === 'INVENTORY').map(({ key }) => key)
    const behind = reconciling.length === 0 ? new Set<number>() : await sinksBehind(database.session, reconciling)
    const webhooks = idle.filter(({ kind }) => kind === 'WEBHOOK').map(({ key }) => key)
    const wanted = webhooks.length === 0 ? [] : await wantedDeliveries(database.session, webhooks)
    for (const { sinkKey } of wanted) behind.add(sinkKey)
    for (const sink of idle) {
      const readsLog = sink.kind === 'WEBHOOK' || sink.kind === 'ALERTMANAGER'
      const mustRepeat = sink.kind === 'ALERTMANAGER' && isRepeatDue(sink, now)
      if (!behind.has(sink.key) && !mustRepeat && !(readsLog && sink.cursor < head)) continue
      // The end of a delivery requests a round. Rounds until then would renew all holds twenty times a second.
      areOthersWaiting = busy.size >= concurrency
      if (areOthersWaiting) return
      begin(sink, head)
    }
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

  /** What failed is ours, such as a write to the database. Without a pause the receiver would get the same again at once, and so on. */
  function pauseAfterFailure(): Promise<void> {
    return new Promise((resolve) => setTimeout(resolve, isStopped ? 0 : failurePause))
  }

  /** Whether its receiver or its filter was changed after this copy was read. */
  function isChanged({ key, url, secret, filter }: Sink): boolean {
    const present = held.get(key)
    if (!present) return false
    return present.url !== url || present.secret !== secret || !isDeepStrictEqual(present.filter, filter)
  }

  async function deliverRound(sink: Sink, head: Revision): Promise<void> {
    const began = performance.now()
    // The cursor of a webhook has the rest. The others send what is, which is bounded.
    const hasHadTurn = (): boolean => sink.kind === 'WEBHOOK' && areOthersWaiting && performance.now() - began >= turn
    const isOver = (): boolean =>
      isStopped || performance.now() > heldUntil || !held.has(sink.key) || isChanged(sink) || hasHadTurn()
    let notedAt = began
    const reached = async (cursor: Revision): Promise<void> => {
      if (performance.now() - notedAt < noteInterval) return
      notedAt = performance.now()
      await moveCursor(database.session, sink.key, holder, cursor)
    }
    const round = await deliver[sink.kind](sink, head, { isOver, reached })
    // Nothing was sent before the time ended: note how far the log was read, and nothing about the receiver.
    if (!round.isSent && isOver()) return moveCursor(database.session, sink.key, holder, round.cursor)
    // The error of the former receiver must not delay the first attempt at the new one.
    if (round.error !== null && isChanged(sink)) return moveCursor(database.session, sink.key, holder, round.cursor)
    if (round.isSent) observe?.({ kind: sink.kind, isFailed: round.error !== null })
    const at = clock()
    const isFine = round.error === null
    const failures = round.isAccepted ? 0 : sink.failures
    const nextAt = isFine ? round.nextAt : at + pauseAfter(backOff, failures)
    const { failingSince = null } = sink.settings as { failingSince?: Millis | null }
    const since = isFine ? null : round.isAccepted || failingSince === null ? at : failingSince + jumpOf(sink, at)
    const isGivenUp = since !== null && giveUpAfter !== null && at - since >= giveUpAfter
    const settings = since === failingSince ? round.settings : { ...round.settings, failingSince: since }
    await noteAttempt(database.session, sink.key, holder, {
      at,
      ...round,
      nextAt,
      isGivenUp,
      ...(settings && { settings }),
    })
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

/** Milliseconds by which the clock of the database must have gone back. Its readings differ by less: a failed sink must not lose its pause to that. */
const clockStep = 60_000

/** An attempt later than now: the clock of the database has gone back, and the sink would wait until it is there again. */
function isDue({ nextAt, attemptedAt }: Sink, now: Millis): boolean {
  return (nextAt ?? 0) <= now || (attemptedAt ?? 0) > now + clockStep
}

/** Milliseconds. No sink that failed waits for so long after its pause. */
const mostLate = 3_600_000

/**
 * How far the clock of the database has jumped since the last failure of the sink. That time does not count as a time of failures: one failure
 * would pause the sink, or none for as long as the clock has gone back. Nor does a time in which no server ran.
 */
function jumpOf({ nextAt }: Sink, now: Millis): Millis {
  const late = now - (nextAt ?? now)
  return Math.abs(late) > mostLate ? late : 0
}

/** Milliseconds after which an Alertmanager gets its alerts again (alertmanager.ts). */
export const repeatEvery = 60_000

/** Also if the clock of the database has gone back: an Alertmanager would resolve all alerts until it is there again. */
export function isRepeatDue({ settings }: Pick<Sink, 'settings'>, now: Millis): boolean {
  const { repeatAt } = settings
  return typeof repeatAt !== 'number' || repeatAt <= now || repeatAt > now + repeatEvery + clockStep
}
