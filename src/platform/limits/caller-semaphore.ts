/** Limits the concurrent work of each caller. Further work of the same caller waits in order. Other callers do not wait for it. */
import { once } from './once.ts'

export interface CallerSemaphore {
  /** Waits for a free slot, or until `signal` aborts. Call the result to release the slot. */
  enter(caller: string, signal: AbortSignal): Promise<() => void>
}

interface CallerSlots {
  free: number
  readonly waiting: Set<() => void>
}

export function createCallerSemaphore(width: number): CallerSemaphore {
  const lanes = new Map<string, CallerSlots>()

  function leave(caller: string, lane: CallerSlots): void {
    const [next] = lane.waiting
    if (next) next()
    else lane.free += 1
    if (lane.free === width) lanes.delete(caller)
  }

  return {
    async enter(caller, signal) {
      signal.throwIfAborted()
      const lane = lanes.get(caller) ?? { free: width, waiting: new Set() }
      lanes.set(caller, lane)
      if (lane.free > 0) lane.free -= 1
      else await waitForSlot(lane, signal)
      return once(() => leave(caller, lane))
    },
  }
}

/** Waits for a slot. A release passes its slot to the first waiter. */
function waitForSlot({ waiting }: CallerSlots, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const enter = (): void => {
      waiting.delete(enter)
      signal.removeEventListener('abort', abort)
      resolve()
    }
    const abort = (): void => {
      waiting.delete(enter)
      reject(signal.reason)
    }
    waiting.add(enter)
    signal.addEventListener('abort', abort, { once: true })
  })
}
