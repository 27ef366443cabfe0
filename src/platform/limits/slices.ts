/**
 * Shares the turns of the event loop among long work: execution of operations and parsing of bodies. Both are synchronous, so without
 * slices a large answer, a large body, or thousands of subscribers after one commit would delay every other request. The work of one
 * turn is bounded. The rest waits for a later turn: callers in rotation, each caller's work in order.
 *
 *   room in this turn ──▶ runs now         no room ──▶ the caller's queue ──a later turn, callers in rotation──▶ runs
 */
import { createFairQueue } from './fair-queue.ts'

export interface Slices {
  /** Takes room for this many values. Undefined: continue now. Otherwise the promise resolves when there is room. */
  enter(caller: string, values: number): Promise<void> | undefined
  /** Resolves in a later turn and takes all room of that turn. */
  later(caller: string): Promise<void>
  /** Number of times that work waited for a later turn. */
  waits(): number
}

/** Values of one turn, which take some milliseconds. */
const defaultSize = 4_000

interface Waiting {
  readonly values: number
  readonly go: () => void
}

export function createSlices(size = defaultSize, schedule: (run: () => void) => unknown = setImmediate): Slices {
  const queue = createFairQueue<Waiting>()
  let left = size
  let waits = 0
  let isScheduled = false

  function scheduleNext(): void {
    if (isScheduled) return
    isScheduled = true
    schedule(() => void run())
  }

  async function run(): Promise<void> {
    isScheduled = false
    left = size
    while (left > 0) {
      const next = queue.take()
      if (!next) return
      const { item: waiting } = next
      left -= waiting.values
      waiting.go()
      // The resumed work runs now and takes its share of this turn.
      await undefined
    }
    scheduleNext()
  }

  function wait(caller: string, values: number): Promise<void> {
    waits += 1
    return new Promise((go) => queue.add(caller, { values, go }))
  }

  return {
    enter(caller, values) {
      if (left > 0) {
        left -= values
        // A turn for each small request was rejected: the event loop would poll for input after every request.
        if (left <= size / 2) scheduleNext()
        return undefined
      }
      return wait(caller, values)
    },
    later(caller) {
      scheduleNext()
      return wait(caller, size)
    },
    waits: () => waits,
  }
}

/** The process has one event loop, so all work shares one instance. */
export const sharedSlices: Slices = createSlices()
