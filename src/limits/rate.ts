/** So many a second, and ten seconds' worth at once: a bucket each, which fills while nobody takes from it. */
import { LRUCache } from 'lru-cache'

export interface Rate {
  /** Milliseconds after which to come again; 0: now is fine. */
  take(whose: string): number
}

interface Bucket {
  readonly left: number
  readonly at: number
}

/** Who has not come for the longest is forgotten first: his bucket is the fullest. */
const mostBuckets = 50_000
const burst = 10

/** `perSecond` null: as often as they like. */
export function createRate(perSecond: number | null, clock: () => number): Rate {
  if (perSecond === null) return { take: () => 0 }
  const most = perSecond * burst
  const buckets = new LRUCache<string, Bucket>({ max: mostBuckets })
  return {
    take(whose) {
      const now = clock()
      const { left, at } = buckets.get(whose) ?? { left: most, at: now }
      const filled = Math.min(most, left + (Math.max(now - at, 0) / 1_000) * perSecond)
      const isThere = filled >= 1
      buckets.set(whose, { left: isThere ? filled - 1 : filled, at: now })
      return isThere ? 0 : Math.ceil(((1 - filled) / perSecond) * 1_000)
    },
  }
}
