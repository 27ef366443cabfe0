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
export interface Source<Payload> extends AsyncIterableIterator<SourceEvent<Payload>>, Forkable<Payload> {
  return(): Promise<IteratorResult<SourceEvent<Payload>>>
  /** The next event, when it is there already: a backlog need not be waited for again and again. Not while one is asked for. */
  take(): SourceEvent<Payload> | null
  /** For a stream of changes that was not told where to begin: where it does, or a little before. */
  readonly start: Revision | null
}

/** What it takes to tell a crowd by one source: crowd.ts. */
interface Forkable<Payload> {
  /** Everything has been told, and somebody waits for more. */
  isQuiet(): boolean
  /** Of one that is quiet. Two of the same operation with the same standing will tell the same. */
  standing(): string
  /** Another one, which stands where this one stood before its last event: for who could not take that. */
  fork(): Source<Payload>
  /** Whom to call each time that it becomes quiet. */
  whenQuiet(tell: () => void): void
  /** So many are told what it tells. */
  carry(subscribers: number): void
}

export interface SourceOptions<Payload> extends Forkable<Payload> {
  readonly start?: Revision | null
  take?(): SourceEvent<Payload> | null
  pull(): Promise<SourceEvent<Payload> | null>
  close(): Promise<unknown>
}

/** By hand and not by a generator, whose `return` would wait for the event that may never come. */
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
