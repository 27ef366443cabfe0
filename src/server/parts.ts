import { within } from '../platform/timing/within.ts'

/** The parts of a server, in the order in which they start. They stop in the reverse order, one after the other. */
export interface Parts {
  /** Adds a part that has started, and returns it. Null: it is not configured. `time`: milliseconds that its end may take. */
  add<Part>(part: Part, stop: (part: NonNullable<Part>) => unknown, time?: number): Part
  /** A part that cannot stop keeps no other from it. Rejects with the first failure. */
  stop(): Promise<void>
}

export function createParts(): Parts {
  const stops: (() => Promise<unknown>)[] = []
  return {
    add(part, stop, time) {
      const end = async (): Promise<void> => {
        if (part) await stop(part)
      }
      stops.push(time === undefined ? end : () => within(time, end()))
      return part
    },
    async stop() {
      const failures: unknown[] = []
      for (const stop of stops.toReversed()) await stop().catch((error: unknown) => failures.push(error))
      if (failures.length > 0) throw failures[0]
    },
  }
}
