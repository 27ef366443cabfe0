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

/** Shows the latest value once per animation frame. */
export function perFrame<Value>(show: (value: Value) => void): Cancellable<[Value]> {
  let frame: number | null = null
  let latest: Value
  const later = (value: Value): void => {
    latest = value
    frame ??= requestAnimationFrame(() => {
      frame = null
      show(latest)
    })
  }
  return Object.assign(later, {
    cancel: () => {
      if (frame !== null) cancelAnimationFrame(frame)
    },
  })
}
