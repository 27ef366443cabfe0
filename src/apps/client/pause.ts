/** Pauses between attempts: longer after each failure, and at random, so that many clients do not come back at the same time. */

const longest = 10_000

export interface Pause {
  /** Resolves when the pause is over, which is one for all that wait, or the signal is aborted. */
  wait(signal: AbortSignal): Promise<void>
  end(): void
  /** After a success the next one is short. */
  reset(): void
}

/** `begun`: is called with the time when the pause ends. */
export function createPause(begun?: (time: number) => void): Pause {
  const waiting = new Set<() => void>()
  let timer: ReturnType<typeof setTimeout> | undefined
  let failures = 0

  function end(): void {
    for (const resume of waiting) resume()
  }

  return {
    end,
    wait: (signal) =>
      new Promise((resolve) => {
        if (signal.aborted) return resolve()
        const resume = (): void => {
          waiting.delete(resume)
          signal.removeEventListener('abort', resume)
          if (waiting.size === 0) clearTimeout(timer)
          resolve()
        }
        signal.addEventListener('abort', resume)
        if (waiting.size === 0) {
          const time = Math.min(250 * 2 ** failures, longest) * (0.5 + Math.random() / 2)
          failures += 1
          begun?.(Date.now() + time)
          timer = setTimeout(end, time)
        }
        waiting.add(resume)
      }),
    reset() {
      failures = 0
    },
  }
}
