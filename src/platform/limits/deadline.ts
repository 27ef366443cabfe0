/** The end of one operation: its time limit, or its client leaves. Then all reads of the operation are cancelled, also in the database. */
import { DomainError } from '../../domain/errors.ts'
import type { Refuse } from './limits.ts'

export interface Deadline {
  /** Aborts with the error that the caller receives. */
  readonly signal: AbortSignal
  /** The operation ended in time. */
  met(): void
}

/** Calls `act` when the client closes the connection. Call the result to stop that. */
export type OnGone = (act: () => void) => () => void

export function createDeadline(time: number, refuse: Refuse, onGone?: OnGone): Deadline {
  const controller = new AbortController()
  const timer = setTimeout(() => {
    const seconds = time / 1_000
    const message = `this took longer than ${seconds} s and was stopped: request less at once; completed writes remain`
    controller.abort(refuse('time', message, { seconds }))
  }, time)
  timer.unref()
  const forget = onGone?.(() => controller.abort(new DomainError('UNAVAILABLE', 'the client closed the connection')))
  return {
    signal: controller.signal,
    met() {
      clearTimeout(timer)
      forget?.()
    },
  }
}
