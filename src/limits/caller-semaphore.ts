/** What one caller has under way at once. More of his waits, in order; nobody else waits for it. */
export interface CallerSemaphore {
  /** Waits for room, or until `signal` aborts. What it gives back is called when that one is over. */
  enter(whose: string, signal: AbortSignal): Promise<() => void>
}

interface CallerSlots {
  free: number
  readonly waiting: Set<() => void>
}

export function createCallerSemaphore(width: number): CallerSemaphore {
  const lanes = new Map<string, CallerSlots>()

  function leave(whose: string, lane: CallerSlots): void {
    const [next] = lane.waiting
    if (next) next()
    else lane.free += 1
    if (lane.free === width) lanes.delete(whose)
  }

  return {
    async enter(whose, signal) {
      signal.throwIfAborted()
      const lane = lanes.get(whose) ?? { free: width, waiting: new Set() }
      lanes.set(whose, lane)
      if (lane.free > 0) lane.free -= 1
      else await room(lane, signal)
      let isOver = false
      return () => {
        if (!isOver) leave(whose, lane)
        isOver = true
      }
    },
  }
}

/** Whoever leaves gives his place to the first that waits. */
function room({ waiting }: CallerSlots, signal: AbortSignal): Promise<void> {
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
