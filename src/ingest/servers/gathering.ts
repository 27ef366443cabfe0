/**
 * Group commit of the server that writes for others. Callers that were answered by one batch report again together, but those of other
 * servers arrive later, after two messages. A batch without them is small, and each batch costs the servers and the database as much as
 * a dozen reports. So the next batch waits for them, at most as long as the last batch took. A server that writes for itself only never waits.
 */
import type { Millis } from '../../domain/values.ts'
import { isFollowed, type WriterState } from '../writer-state.ts'

interface Gathering {
  /** Milliseconds for which the next batch should wait, with so many commands waiting and so many in flight. */
  timeLeft(waiting: number, inFlight: number): Millis
  /** A batch was taken from the queue. */
  taken(): void
}

/** Fewer commands at a time do not use the processor enough to delay them. */
const leastCommands = 16
/** The share of the callers that is worth waiting for. With half of them, two batches alternate: one is decided while the other is written. */
const mostOfThem = 0.5
/** The number of callers is forgotten by this factor a batch. */
const decay = 0.95
const longestGathering = 15

export function createGathering(
  state: Pick<WriterState, 'handedAt' | 'isDraining' | 'answered'>,
  limitAfter = (batchTime: Millis): Millis => Math.min(batchTime, longestGathering),
  clock: () => Millis = performance.now.bind(performance),
): Gathering {
  /** The most commands that waited or were in flight at a time. */
  let callers = 0

  return {
    timeLeft(waiting, inFlight) {
      callers = Math.max(callers, waiting + inFlight)
      const isEnough = callers < leastCommands || waiting >= mostOfThem * callers
      if (waiting === 0 || isEnough || state.isDraining || !isFollowed(state)) return 0
      return Math.max(state.answered.at + limitAfter(state.answered.batchTime) - clock(), 0)
    },
    taken() {
      callers *= decay
    },
  }
}
