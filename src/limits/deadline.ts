/** The time limit of one operation. When it expires, all reads of the operation are cancelled, also in the database. */
import type { Refuse } from './limits.ts'

export interface Deadline {
  /** Aborts with the error that the caller receives. */
  readonly signal: AbortSignal
  /** The operation ended in time. */
  met(): void
}

export function createDeadline(time: number, refuse: Refuse): Deadline {
  const controller = new AbortController()
  const timer = setTimeout(() => {
    const seconds = time / 1_000
    const message = `this took longer than ${seconds} s and was stopped: request less at once; completed writes remain`
    controller.abort(refuse('time', message, { seconds }))
  }, time)
  timer.unref()
  return { signal: controller.signal, met: () => clearTimeout(timer) }
}
