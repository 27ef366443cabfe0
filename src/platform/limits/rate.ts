/** Token buckets: a rate per second for each key, and a burst of ten seconds' worth. A bucket refills while it is not used. */
import { LRUCache } from 'lru-cache'

interface Rate {
  /** Milliseconds until the next token. 0: a token was taken. */
  take(key: string): number
}

interface Bucket {
  readonly left: number
  readonly at: number
}

/** The least recently used bucket is evicted first, because it is the fullest. */
const mostBuckets = 50_000
const burst = 10

/** Each key may take `most` tokens at once, and one more every `refill` milliseconds. */
export function createBuckets(most: number, refill: number): (key: string, now: number) => boolean {
  const rate = createBucketRate(most, refill)
  return (key, now) => rate(key, now) === 0
}

/** Milliseconds until the next token. 0: a token was taken. */
function createBucketRate(most: number, refill: number): (key: string, now: number) => number {
  const buckets = new LRUCache<string, Bucket>({ max: mostBuckets })
  return (key, now) => {
    const { left, at } = buckets.get(key) ?? { left: most, at: now }
    const filled = Math.min(most, left + Math.max(now - at, 0) / refill)
    const hasToken = filled >= 1
    buckets.set(key, { left: hasToken ? filled - 1 : filled, at: now })
    return hasToken ? 0 : Math.ceil((1 - filled) * refill)
  }
}

/** `perSecond` null: no limit. */
export function createRate(perSecond: number | null, clock: () => number): Rate {
  if (perSecond === null) return { take: () => 0 }
  const take = createBucketRate(perSecond * burst, 1_000 / perSecond)
  return { take: (key) => take(key, clock()) }
}
