/**
 * A time-out for answers from outside. In a busy process, timers run before received data is read, so a delay of this process would look like one of
 * the other side. So the time is counted in parts, and everything that has arrived is read between two parts.
 */
const parts = 10

export interface Timeout {
  /** Restarts the time-out. */
  renew(): void
  end(): void
}

export function createTimeout(time: number, runOut: () => void): Timeout {
  let left = parts
  const timer = setInterval(() => {
    left -= 1
    if (left > 0) return
    clearInterval(timer)
    runOut()
  }, time / parts)
  return {
    renew() {
      left = parts
      timer.refresh()
    },
    end: () => clearInterval(timer),
  }
}

/** The answer, or `otherwise` if it takes longer. */
export function answerWithin<T>(time: number, answer: Promise<T>, otherwise: T): Promise<T> {
  const { promise: silence, resolve } = Promise.withResolvers<T>()
  const timeout = createTimeout(time, () => resolve(otherwise))
  return Promise.race([silence, answer]).finally(timeout.end)
}
