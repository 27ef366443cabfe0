/** The event source of a subscription. execution/event-execution.ts executes the operation for each event. */
import type { Revision } from '../../../domain/values.ts'
import type { Stream } from '../../../feed/stream.ts'
import type { Snapshot } from '../../../store/database.ts'

export interface SourceEvent<Payload = unknown> {
  readonly payload: Payload
  /** Where a stream of changes resumes after this event. Null: a state stream, which restarts with the present. */
  readonly resumeFrom: Revision | null
  /** The shared snapshot to read from. Null: read the present, which may be later than the event. */
  readonly snapshot: Snapshot | null
  /** Call it after the event was executed. */
  release(): void
}

/** Many subscribers may share a source: execution/subscriber-group.ts. */
interface EventSource<Payload> extends Stream<SourceEvent<Payload>> {
  /** What is watched: sources with equal keys and rights yield the same events, once they are in the same state. */
  readonly key: string
  /** For a stream of changes without `after`: its first revision, or a little earlier. */
  readonly start: Revision | null
  /** The state of an idle source, besides its key. */
  stateKey(): string
  /** A copy positioned before the last event, for a subscriber that could not take that event. */
  fork(): Source<Payload>
  /** The number of subscribers that this source serves. */
  setSubscriberCount(subscribers: number): void
}

/** An event source as graphql accepts it: an async iterable, which nothing iterates. */
export type Source<Payload> = EventSource<Payload> & AsyncIterable<SourceEvent<Payload>>

export function createSource<Payload>(source: EventSource<Payload>): Source<Payload> {
  return Object.assign(source, { [Symbol.asyncIterator]: refuseIteration })
}

function refuseIteration(): never {
  throw new Error('an event source is not iterated: subscriber-group.ts takes its events')
}
