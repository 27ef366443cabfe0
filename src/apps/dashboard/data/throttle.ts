/** Fewer calls than events. */

interface Cancellable<Arguments extends readonly unknown[]> {
  (...args: Arguments): void
  cancel(): void
}

/** Runs at once, then at most once per `time` milliseconds; the last call always runs. */
export function throttle(time: number, work: () => void): Cancellable<[]> {
  let timer: ReturnType<typeof setTimeout> | undefined
  let last = 0
  const run = (): void => {
    timer = undefined
    last = Date.now()
    work()
  }
  const throttled = (): void => {
    timer ??= setTimeout(run, Math.max(last + time - Date.now(), 0))
  }
  return Object.assign(throttled, { cancel: () => clearTimeout(timer) })
}

/** Milliseconds. A hidden tab has no frames, but its title and its icon are visible. */
const longestFrame = 1_000

/** Shows the latest value once per animation frame. */
export function perFrame<Value>(show: (value: Value) => void): Cancellable<[Value]> {
  let frame: number | null = null
  let timer: ReturnType<typeof setTimeout> | undefined
  let latest: Value
  const cancel = (): void => {
    if (frame !== null) cancelAnimationFrame(frame)
    clearTimeout(timer)
    frame = null
  }
  const run = (): void => {
    cancel()
    show(latest)
  }
  const later = (value: Value): void => {
    latest = value
    if (frame !== null) return
    frame = requestAnimationFrame(run)
    timer = setTimeout(run, longestFrame)
  }
  return Object.assign(later, { cancel })
}
