/**
 * A time-out for what comes from outside. A process that is too busy to hear an answer would take its own slowness for the other's: timers run before
 * what has arrived is read. So the time is counted in parts, and between any two of them everything that has arrived is read.
 */
const parts = 10

export interface Timeout {
  /** From the beginning. */
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
