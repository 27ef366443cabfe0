/** Calculations that take milliseconds each. */
import { setImmediate } from 'node:timers/promises'

/** Runs one calculation in each turn of the event loop, so that other callers are answered between them. */
export function createTurns(): <Value>(calculate: () => Value) => Promise<Value> {
  let last: Promise<unknown> = Promise.resolve()
  return (calculate) => {
    const result = last.then(() => setImmediate()).then(calculate)
    last = result.catch(() => undefined)
    return result
  }
}
