/** What the source of a subscription yields; operation.ts executes the operation once for each. */
import type { Revision } from '../domain/deployment.ts'
import type { Snapshot } from '../store/database.ts'

export interface SourceEvent<Payload = unknown> {
  readonly payload: Payload
  /** Where a stream of changes resumes after this event; null: a state, which begins with the present again. */
  readonly resumeFrom: Revision | null
  /** What to read it from, shared with others; null: the present, which may be later than the event. */
  readonly snapshot: Snapshot | null
  /** The event has been executed. */
  release(): void
}

/** Each has one consumer that calls `return` exactly when it loses interest. */
export interface Source<Payload> extends AsyncIterableIterator<SourceEvent<Payload>> {
  return(): Promise<IteratorResult<SourceEvent<Payload>>>
  /** For a stream of changes that was not told where to begin: where it does, or a little before. */
  readonly start: Revision | null
}

/** By hand and not by a generator, whose `return` would wait for the event that may never come. */
export function createSource<Payload>(
  pull: () => Promise<SourceEvent<Payload> | null>,
  close: () => Promise<unknown>,
  start: Revision | null = null,
): Source<Payload> {
  const over = { done: true, value: undefined } as const
  return {
    start,
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
