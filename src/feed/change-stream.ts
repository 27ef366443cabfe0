/**
 * One subscriber of `changes`: every change after its cursor, once, in order.
 *
 *   check cursor ──expired──▶ reset, go on from the stated revision
 *        │                          │
 *        ▼                          ▼
 *   read the backlog until the hub's `last` ──same turn──▶ attached to the hub ──buffer full──▶ OVERFLOW, end
 *        ▲                                                        │
 *        └───── the log was interrupted (another epoch) ──────────┘
 *
 * Once begun, it outlives the database's absence: it waits until the log can be read again, and checks its cursor anew.
 * Whoever sees less has each batch judged when he takes it, as things are then: see.
 * There is nothing to splice: it attaches in the turn of the event loop in which it has read everything the hub has told.
 * The iterator is written by hand: `return()` detaches at once, also while nothing is happening.
 */
import { createAttachment } from '../attachment.ts'
import { type Change, type ChangeFilter, matchesChange } from '../domain/change.ts'
import type { Revision } from '../domain/values.ts'
import { isTransient } from '../store/connection/failure.ts'
import type { Backlog } from './backlog.ts'
import { continuation, expiredTo, type LogRange } from './cursor.ts'
import type { Hub, Topic } from './hub.ts'
import { createIterator, type WakingIterator } from './iterator.ts'

export interface FeedEvent {
  readonly cursor: Revision
  readonly change: Change | null
  readonly reset: 'CURSOR_EXPIRED' | 'OVERFLOW' | null
}

export interface ChangeStreamSource {
  readonly hub: Hub
  readonly backlog: Backlog
  /** The database's word, with the hub brought up to its head. */
  readonly range: () => Promise<LogRange>
  /** Calls back once, when the log can be read again. */
  readonly whenBack: (tell: () => void) => void
  readonly capacity: number
}

export interface ChangeStreamOptions {
  readonly filter: ChangeFilter
  /** Null: from now on. */
  readonly after: Revision | null
  /** What its subscriber is told of each of these changes; null: nothing. Absent: all of it. */
  readonly visible?: ((changes: readonly Change[]) => Promise<readonly (Change | null)[]>) | undefined
  /** Goes on from where another one with the same filter stood, whatever `after` says. */
  readonly from?: ChangePosition | undefined
  /** Called when there is nothing to tell for now. */
  readonly idle?: (() => void) | undefined
}

export interface ChangePosition {
  readonly position: Revision | null
  readonly delivered: Revision
  readonly authorized: readonly FeedEvent[]
  readonly queue: readonly FeedEvent[]
  readonly isAttached: boolean
  readonly isChecked: boolean
  readonly isOver: boolean
}

export interface ChangeStream extends WakingIterator<FeedEvent> {
  /** The next event, when it is there already. Not while one is asked for. */
  take(): FeedEvent | null
  /** Tells a quiet subscriber how far it has come, so that its cursor never grows old. */
  bookmark(): void
  /** Everything has been told, and somebody waits for more. */
  isIdle(): boolean
  /** Where it stood before the event that it gave last, with all that followed. */
  before(): ChangePosition
}

export function createChangeStream(source: ChangeStreamSource, options: ChangeStreamOptions): ChangeStream {
  const { hub, backlog } = source
  const { filter, visible, from } = options
  const isFiltered = visible !== undefined || Object.keys(filter).length > 0
  const queue: FeedEvent[] = [...(from?.queue ?? [])]
  /** What was judged, and may be told; without `see` everything goes through the queue alone. */
  let authorized: FeedEvent[] = [...(from?.authorized ?? [])]
  let isAuthorizing = false
  let overflows = 0
  /** Everything up to here was delivered, is queued, or did not match. */
  let position = from ? from.position : options.after
  let delivered = from?.delivered ?? options.after ?? 0
  /** What was given last, and how much had been delivered before it. */
  let given: { readonly event: FeedEvent; readonly after: Revision } | null = null
  let detach: (() => void) | null = null
  let isChecked = from?.isChecked ?? false
  let hasBegun = from !== undefined
  let isOver = from?.isOver ?? false
  let isClosed = false

  const iterator = createIterator<FeedEvent>({
    async pull(closed) {
      given = null
      try {
        while (authorized.length === 0 && !closed()) {
          while (queue.length === 0 && !isOver && detach === null && !closed()) await catchUp()
          if (!visible || queue.length === 0) break
          await authorize(visible)
        }
      } catch (error) {
        if (!hasBegun || !isTransient(error)) throw error
        if (detach === null) isChecked = false
        source.whenBack(iterator.wake)
        return 'wait'
      }
      return take() ?? (isOver ? 'end' : 'wait')
    },
    close() {
      isClosed = isOver = true
      stop()
    },
    waits: options.idle,
  })
  if (from?.isAttached) attach()

  function take(): FeedEvent | null {
    const event = (visible ? authorized : queue).shift()
    if (!event) return null
    given = { event, after: delivered }
    delivered = event.cursor
    return event
  }

  async function authorize(seen: NonNullable<ChangeStreamOptions['visible']>): Promise<void> {
    const batch = queue.splice(0, judgedAtOnce)
    const before = overflows
    isAuthorizing = true
    try {
      const told = await seen(batch.flatMap(({ change }) => change ?? []))
      // Overflow has taken everything back that was not delivered.
      if (overflows > before) return
      let next = 0
      authorized = batch.flatMap((event) => {
        if (event.change === null) return event
        const change = told[next++] ?? null
        // Part of what the filter asked for may not be his to know.
        return change && matchesChange(filter, change) ? { ...event, change } : []
      })
    } catch (error) {
      if (overflows === before) queue.unshift(...batch)
      throw error
    } finally {
      isAuthorizing = false
    }
  }

  async function catchUp(): Promise<void> {
    if (!isChecked) await check()
    if (position === null) return
    const from = position
    if (from < hub.last) {
      const page = await backlog(from)
      // It was read before `from` was written, for somebody else: ask again.
      if (page.upTo <= from) return
      if (page.changes[0]?.revision !== from + 1) await check()
      // The check, or an interruption, may have moved the position meanwhile.
      if (position !== from || !isChecked) return
      for (const change of page.changes) if (matchesChange(filter, change)) queue.push(eventOf(change))
      // Not simply `upTo`: between two epochs there are no revisions, and no cursor may come to lie there.
      position = page.changes.at(-1)?.revision ?? page.upTo
    }
    // It may be ahead of the hub: another replica, or the database itself, has told it more.
    if (position >= hub.last && queue.length === 0) attach()
  }

  async function check(): Promise<void> {
    isChecked = true
    const log = await source.range()
    hasBegun = true
    if (position === null) {
      position = delivered = hub.last
      return
    }
    const reset = expiredTo(position, log)
    if (reset !== null) {
      position = reset
      queue.push({ cursor: reset, change: null, reset: 'CURSOR_EXPIRED' })
    } else {
      // From the last revision of an earlier epoch nothing was lost. An empty epoch ends where it begins.
      for (let next = continuation(position, log); next !== null; next = continuation(next, log)) position = next
    }
  }

  function attach(): void {
    // It may have been closed while something was read.
    if (isOver) return
    detach = hub.subscribe({
      topics: topicsFor(filter),
      tell(changes) {
        if (queue.length > source.capacity) return overflow()
        // Whatever came before did not match, and was delivered in so far.
        if (isDone()) delivered = Math.max(delivered, (changes[0]?.revision ?? 0) - 1)
        for (const change of changes) {
          if (position !== null && change.revision <= position) continue
          position = change.revision
          if (matchesChange(filter, change)) queue.push(eventOf(change))
        }
        if (queue.length > 0) iterator.wake()
      },
      interrupted() {
        stop()
        isChecked = false
        iterator.wake()
      },
    })
  }

  function overflow(): void {
    stop()
    queue.length = 0
    authorized = []
    overflows += 1
    queue.push({ cursor: delivered, change: null, reset: 'OVERFLOW' })
    isOver = true
  }

  function stop(): void {
    detach?.()
    detach = null
  }

  /** All that it was told it has told. */
  function isDone(): boolean {
    return detach !== null && !isOver && queue.length + authorized.length === 0 && !isAuthorizing
  }

  return Object.assign(iterator, {
    take: () => (isClosed ? null : take()),
    isIdle: () => isDone() && position !== null && position <= hub.last && iterator.isWaiting(),
    before() {
      const again = given ? [given.event] : []
      return {
        position,
        delivered: given?.after ?? delivered,
        authorized: visible ? [...again, ...authorized] : [],
        queue: visible ? [...queue] : [...again, ...queue],
        isAttached: detach !== null,
        isChecked,
        isOver,
      }
    },
    bookmark() {
      if (!isFiltered || !isDone() || delivered >= hub.last) return
      position = hub.last
      queue.push({ cursor: hub.last, change: null, reset: null })
      iterator.wake()
    },
  })
}

const events = createAttachment<Change, FeedEvent>('event')

/** One for all who are told of it. */
function eventOf(change: Change): FeedEvent {
  const known = events.get(change)
  if (known) return known
  const event = { cursor: change.revision, change, reset: null }
  events.set(change, event)
  return event
}

/** Changes that are judged together. */
const judgedAtOnce = 1_000

/** The narrowest field of the filter is the index; the rest is asked of what that finds. */
function topicsFor(filter: ChangeFilter): readonly Topic[] {
  if (filter.deploymentIds) return filter.deploymentIds.map((id): Topic => `deployment:${id}`)
  if (filter.deviceIds) return filter.deviceIds.map((id): Topic => `device:${id}`)
  if (filter.instanceIds) return filter.instanceIds.map((id): Topic => `instance:${id}`)
  if (filter.rolloutKeys) return filter.rolloutKeys.map((key): Topic => `rollout:${key}`)
  return ['all']
}
