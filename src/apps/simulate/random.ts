/** Random numbers from a seed. The same seed always gives the same fleet, whatever is generated and in whichever order. */
export interface Random {
  /** In [0, 1). */
  next(): number
  between(low: number, high: number): number
  /** Below `count`. */
  index(count: number): number
  chance(probability: number): boolean
  pick<const T>(list: readonly T[]): T
  /** Around `median`: usually slightly more or less, sometimes much more, as with people and networks. */
  skewed(median: number): number
  /** An independent generator for a part: what others draw does not affect it. */
  of(part: string | number): Random
}

export function createRandom(seed: string): Random {
  let state = hash(seed)
  // mulberry32
  const next = (): number => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
  const index = (count: number): number => Math.floor(next() * count)
  return {
    next,
    between: (low, high) => low + next() * (high - low),
    index,
    chance: (probability) => next() < probability,
    pick<T>(list: readonly T[]): T {
      const at = index(list.length)
      if (at >= list.length) throw new Error('there is nothing to pick from')
      return list[at] as T
    },
    skewed: (median) => median * Math.exp(0.6 * (next() + next() + next() + next() - 2) * Math.sqrt(3)),
    of: (part) => createRandom(`${seed}/${part}`),
  }
}

/** FNV-1a with a final mix, so that seeds which differ in the last letter give unrelated numbers. */
function hash(text: string): number {
  let value = 0x811c9dc5
  for (let at = 0; at < text.length; at += 1) value = Math.imul(value ^ text.charCodeAt(at), 0x01000193)
  value = Math.imul(value ^ (value >>> 16), 0x85ebca6b)
  value = Math.imul(value ^ (value >>> 13), 0xc2b2ae35)
  return (value ^ (value >>> 16)) | 0
}
