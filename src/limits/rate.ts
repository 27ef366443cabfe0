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

/** Each may take `most` at once, and one more every `refill` milliseconds. */
export function createBuckets(most: number, refill: number): (whose: string, now: number) => boolean {
  const rate = createBucketRate(most, refill)
  return (whose, now) => rate(whose, now) === 0
}

/** Milliseconds until there is something to take; 0: it was taken. */
function createBucketRate(most: number, refill: number): (whose: string, now: number) => number {
  const buckets = new LRUCache<string, Bucket>({ max: mostBuckets })
  return (whose, now) => {
    const { left, at } = buckets.get(whose) ?? { left: most, at: now }
    const filled = Math.min(most, left + Math.max(now - at, 0) / refill)
    const isThere = filled >= 1
    buckets.set(whose, { left: isThere ? filled - 1 : filled, at: now })
    return isThere ? 0 : Math.ceil((1 - filled) * refill)
  }
}

/** `perSecond` null: as often as they like. */
export function createRate(perSecond: number | null, clock: () => number): Rate {
  if (perSecond === null) return { take: () => 0 }
  const take = createBucketRate(perSecond * burst, 1_000 / perSecond)
  return { take: (whose) => take(whose, clock()) }
}
