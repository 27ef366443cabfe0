/** Seeded choices: the same seed sends the same inputs in the same order. */
export interface Random {
  /** From 0 up to, and without, 1. */
  next(): number
  below(limit: number): number
  choose<T>(from: readonly T[]): T
  /** In so many of a hundred cases. */
  chance(percent: number): boolean
}

/** mulberry32: 32 bits of state are enough for inputs that only have to differ. */
export function createRandom(seed: number): Random {
  let state = seed >>> 0
  function next(): number {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = state
    mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
  const below = (limit: number): number => Math.floor(next() * limit)
  return {
    next,
    below,
    choose: (from) => from[below(from.length)] as (typeof from)[number],
    chance: (percent) => next() * 100 < percent,
  }
}
