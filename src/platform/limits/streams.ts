/** Counts the open WebSockets and event streams of each caller: each holds memory until the client closes it. */
import { once } from './once.ts'

interface Streams {
  /** Null: the caller has reached the limit. Otherwise call the result when the stream ends. */
  open(caller: string): (() => void) | null
}

export function createStreams(most: number | null): Streams {
  const open = new Map<string, number>()
  return {
    open(caller) {
      const count = open.get(caller) ?? 0
      if (most !== null && count >= most) return null
      open.set(caller, count + 1)
      return once(() => {
        const left = (open.get(caller) ?? 1) - 1
        if (left === 0) open.delete(caller)
        else open.set(caller, left)
      })
    },
  }
}
