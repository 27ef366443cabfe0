/**
 * The events of one subscriber of changes that it has not taken yet. For a caller with an access scope, each batch is
 * authorized when the subscriber takes it, against the access of that moment:
 *
 *   push ──▶ queued ──authorize──▶ authorized ──take──▶ delivered
 */
import type { Change } from '../domain/change.ts'
import { type ChangeFilter, matchesChange } from '../domain/nouns/change.ts'
import type { Revision } from '../domain/values.ts'

export interface FeedEvent {
  readonly cursor: Revision
  readonly change: Change | null
  readonly reset: 'CURSOR_EXPIRED' | 'OVERFLOW' | null
}

/** For each change, what the caller may see of it. Null: nothing. */
export type ShowChanges = (changes: readonly Change[]) => Promise<readonly (Change | null)[]>

export interface QueuePosition {
  readonly queued: readonly FeedEvent[]
  readonly authorized: readonly FeedEvent[]
  /** The cursor of the last event that was taken, or of a later change that did not match. */
  readonly delivered: Revision
}

interface EventQueue {
  readonly delivered: () => Revision
  /** Events that wait. Those that are being authorized are not counted. */
  readonly size: () => number
  readonly isEmpty: () => boolean
  /** The cursor of the event that comes next. Null: there is none, or it is being authorized. */
  readonly oldest: () => Revision | null
  push(events: readonly FeedEvent[]): void
  /** Null: there is none, or the next ones must be authorized first. */
  take(): FeedEvent | null
  /** Null: nothing has to be authorized. */
  authorize(): Promise<void> | null
  /** Advances `delivered` past changes that did not match. */
  skipTo(revision: Revision): void
  /** Replaces everything that was not taken. */
  replace(event: FeedEvent): void
  clear(): void
  /** The position before the event that was taken last. */
  before(): QueuePosition
}

/** Changes that are authorized together. */
const batchSize = 1_000

export function createEventQueue(filter: ChangeFilter, show: ShowChanges | undefined, from: QueuePosition): EventQueue {
  let queued = [...from.queued]
  let authorized = [...from.authorized]
  let { delivered } = from
  let isAuthorizing = false
  let replaced = 0
  let last: { readonly event: FeedEvent; readonly deliveredBefore: Revision } | null = null

  async function authorizeBatch(visible: ShowChanges): Promise<void> {
    const batch = queued.splice(0, batchSize)
    const before = replaced
    isAuthorizing = true
    try {
      const changes = batch.flatMap(({ change }) => change ?? [])
      const shown = changes.length > 0 ? await visible(changes) : []
      if (replaced > before) return
      let next = 0
      authorized = batch.flatMap((event) => {
        if (event.change === null) return event
        const change = shown[next++] ?? null
        // The caller may see a part of the change that does not match the filter.
        return change && matchesChange(filter, change) ? { ...event, change } : []
      })
    } catch (error) {
      if (replaced === before) queued.unshift(...batch)
      throw error
    } finally {
      isAuthorizing = false
    }
  }

  return {
    delivered: () => delivered,
    size: () => queued.length,
    isEmpty: () => queued.length + authorized.length === 0 && !isAuthorizing,
    oldest: () => (authorized[0] ?? queued[0])?.cursor ?? null,
    push(events) {
      for (const event of events) queued.push(event)
    },
    take() {
      const event = (show ? authorized : queued).shift()
      last = event ? { event, deliveredBefore: delivered } : null
      if (event) delivered = event.cursor
      return event ?? null
    },
    authorize: () => (show && queued.length > 0 ? authorizeBatch(show) : null),
    skipTo(revision) {
      delivered = Math.max(delivered, revision)
    },
    replace(event) {
      replaced += 1
      queued = [event]
      authorized = []
    },
    clear() {
      replaced += 1
      queued = []
      authorized = []
    },
    before() {
      const again = last ? [last.event] : []
      return {
        queued: show ? [...queued] : [...again, ...queued],
        authorized: show ? [...again, ...authorized] : [],
        delivered: last?.deliveredBefore ?? delivered,
      }
    },
  }
}
