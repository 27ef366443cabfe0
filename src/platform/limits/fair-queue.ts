/** A queue that serves callers in rotation and each caller's items in order. An item at the head of its caller's lane waits for at most one item of each other caller. */
export interface FairQueue<T> {
  size(): number
  add(whose: string, item: T): void
  take(): { readonly whose: string; readonly item: T } | null
}

export function createFairQueue<T>(): FairQueue<T> {
  const lanes = new Map<string, Lane<T>>()
  let size = 0
  return {
    size: () => size,
    add(whose, item) {
      size += 1
      const lane = lanes.get(whose)
      if (lane) lane.items.push(item)
      else lanes.set(whose, { items: [item], begin: 0 })
    },
    take() {
      const [first] = lanes
      if (!first) return null
      const [whose, lane] = first
      const item = lane.items[lane.begin] as T
      lane.begin += 1
      size -= 1
      lanes.delete(whose)
      if (lane.begin === lane.items.length) return { whose, item }
      // `shift` would move all remaining items each time.
      if (lane.begin > 1_000 && lane.begin * 2 > lane.items.length) {
        lane.items = lane.items.slice(lane.begin)
        lane.begin = 0
      }
      lanes.set(whose, lane)
      return { whose, item }
    },
  }
}

interface Lane<T> {
  items: T[]
  /** Index of the next item. Items before it have been taken. */
  begin: number
}
