/**
 * The event loop in slices. Execution is synchronous: a large answer, or thousands of subscribers' after one commit, would hold up every other
 * request until it is done. So what is executed in one turn of the event loop is bounded; what comes beyond that waits for a later turn, callers by
 * turns, each of them in order.
 *
 *   room in this turn ──▶ at once          none ──▶ the caller's queue ──a later turn, one of each caller after another──▶ goes on
 */
import { createFairQueue } from './fair-queue.ts'

export interface Slices {
  /** Undefined: go on at once, for so many values. Otherwise it resolves when there is room. */
  enter(whose: string, values: number): Promise<void> | undefined
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

  return {
    enter(whose, values) {
      if (left > 0) {
        left -= values
        // Small requests need no turn of their own each: the loop would look for input once more after every one of them.
        if (left <= size / 2) scheduleNext()
        return undefined
      }
      waits += 1
      return new Promise((go) => queue.add(whose, { values, go }))
    },
    waits: () => waits,
  }
}
