/** The event source of a subscription. operation.ts executes the operation once per event. */
import type { Revision } from '../../domain/values.ts'
import type { Snapshot } from '../../store/database.ts'

export interface SourceEvent<Payload = unknown> {
  readonly payload: Payload
  /** Where a stream of changes resumes after this event. Null: a state stream, which restarts with the present. */
  readonly resumeFrom: Revision | null
  /** The shared snapshot to read from. Null: read the present, which may be later than the event. */
  readonly snapshot: Snapshot | null
  /** Call it after the event was executed. */
  release(): void
}

/** A source has one consumer, which calls `return` when it stops consuming. */
export interface Source<Payload> extends AsyncIterableIterator<SourceEvent<Payload>>, Forkable<Payload> {
  return(): Promise<IteratorResult<SourceEvent<Payload>>>
  /** The next event if it is available now: a backlog needs no await per event. Not while `next` is pending. */
  take(): SourceEvent<Payload> | null
  /** For a stream of changes without `after`: its first revision, or a little earlier. */
  readonly start: Revision | null
}

/** What execution/subscriber-group.ts needs to serve many subscribers from one source. */
interface Forkable<Payload> {
  /** Whether all events were consumed and `next` is pending. */
  isIdle(): boolean
  /** The state of an idle source. Two sources of one operation with equal keys yield the same events. */
  stateKey(): string
  /** A copy positioned before the last event, for a subscriber that could not take that event. */
  fork(): Source<Payload>
  /** Sets the callback for each time that the source becomes idle. */
  whenIdle(notify: () => void): void
  /** The number of subscribers that this source serves. */
  setSubscriberCount(subscribers: number): void
}

export interface SourceOptions<Payload> extends Forkable<Payload> {
  readonly start?: Revision | null
  take?(): SourceEvent<Payload> | null
  pull(): Promise<SourceEvent<Payload> | null>
  close(): Promise<unknown>
}

/** Not a generator: its `return` would wait for a pending event that may never come. */
export function createSource<Payload>({
  start = null,
  take = () => null,
  pull,
  close,
  ...rest
}: SourceOptions<Payload>): Source<Payload> {
  const over = { done: true, value: undefined } as const
  return {
    ...rest,
    start,
    take,
    [Symbol.asyncIterator]() {
      return this
    },
    async next() {
      const value = await pull()
      return value ? { done: false, value } : over
    },
    async return() {
      await close()
      return over
    },
  }
}
