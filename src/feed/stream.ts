/**
 * The one way from the hub to a socket. A stream has one consumer, which asks for the next event until there is none:
 *
 *   hub ──changes──▶ stream ──wake──▶ consumer ──next──▶ an event, 'idle' until the next wake, or 'ended'
 *
 * The consumer sets the pace: while it is busy, the stream keeps or merges what happens. An idle stream holds no promise
 * and no timer. An async generator would keep both, and would not run its `finally` while it waits, so a client that goes
 * away would leak its subscription.
 */
export interface Stream<Event> {
  /** Throws or rejects once if the stream fails. Not called while an earlier call is pending. */
  next(): MaybePromise<Event | 'idle' | 'ended'>
  /** Sets the function that is called when an idle stream may have an event, or has ended. */
  onWake(wake: () => void): void
  /** Whether the stream has given everything, and the consumer waits for more. */
  isIdle(): boolean
  /** Releases everything at once. `failure`: what `next` throws afterwards. Absent: the stream ends. */
  close(failure?: unknown): void
}

type MaybePromise<T> = T | Promise<T>
