/** Time for one operation. When it is over, whatever reads for it is ended, in the database too. */
import type { Refuse } from './limits.ts'

export interface Deadline {
  /** Aborts with what its caller is told. */
  readonly signal: AbortSignal
  /** The operation is over in time. */
  met(): void
}

export function createDeadline(time: number, refuse: Refuse): Deadline {
  const controller = new AbortController()
  const timer = setTimeout(() => {
    const seconds = time / 1_000
    const message = `this took longer than ${seconds} s and was stopped: ask for less at once; what was written remains`
    controller.abort(refuse('time', message, { seconds }))
  }, time)
  timer.unref()
  return { signal: controller.signal, met: () => clearTimeout(timer) }
}
