/**
 * Turns of the event loop, shared by all work that takes long: execution of operations and parsing of bodies. Both are synchronous, so without
 * slices a large answer, a large body, or thousands of subscribers after one commit would delay every other request. What runs in one turn is
 * bounded. The rest waits for a later turn: callers in rotation, each caller's work in order.
 *
 *   room in this turn ──▶ at once          none ──▶ the caller's queue ──a later turn, one of each caller after another──▶ goes on
 */
import { createFairQueue } from './fair-queue.ts'

export interface Slices {
  /** Undefined: go on at once, for so many values. Otherwise it resolves when there is room. */
  enter(whose: string, values: number): Promise<void> | undefined
  /** Resolves in a later turn, which is then used up. */
  later(whose: string): Promise<void>
  /** How often something waited for a later turn. */
  waits(): number
}

/** Values of one turn: some milliseconds. */
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
      // What waited goes on now, and takes its share of this turn.
      await undefined
    }
    scheduleNext()
  }

  function wait(whose: string, values: number): Promise<void> {
    waits += 1
    return new Promise((go) => queue.add(whose, { values, go }))
  }

  return {
    enter(whose, values) {
      if (left > 0) {
        left -= values
        // Small requests need no turn of their own each: the loop would look for input once more after every one of them.
        if (left <= size / 2) scheduleNext()
        return undefined
      }
      return wait(whose, values)
    },
    later(whose) {
      scheduleNext()
      return wait(whose, size)
    },
    waits: () => waits,
  }
}

/** There is one event loop. */
export const sharedSlices: Slices = createSlices()
