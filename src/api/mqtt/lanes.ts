/**
 * Runs the messages of one device one after another, and those of different devices at the same time. Reports without an ordering key are
 * ordered by their arrival alone, and a small body is parsed faster than a large one before it.
 */
export interface Lanes {
  /** Rejects with the error of the work. */
  run(key: string, work: () => Promise<void>): Promise<void>
}

export function createLanes(keyOf: (topic: string) => string): Lanes {
  const ends = new Map<string, Promise<void>>()
  return {
    run(topic, work) {
      const key = keyOf(topic)
      const before = ends.get(key)
      const own = before ? before.then(work, work) : work()
      ends.set(key, own)
      const leave = (): void => {
        if (ends.get(key) === own) ends.delete(key)
      }
      own.then(leave, leave)
      return own
    },
  }
}
