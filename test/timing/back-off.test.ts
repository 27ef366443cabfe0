import { expect, it } from 'vitest'
import { pauseAfter } from '../../src/platform/timing/back-off.ts'

it('doubles the pause with each failure up to the longest, minus up to half of it', () => {
  const backOff = { first: 1_000, longest: 300_000 }
  for (const [earlier, whole] of [
    [0, 1_000],
    [1, 2_000],
    [8, 256_000],
    [9, 300_000],
    [5_000, 300_000],
  ] as const)
    for (let i = 0; i < 20; i += 1) {
      const pause = pauseAfter(backOff, earlier)
      expect(pause).toBeGreaterThanOrEqual(whole / 2)
      expect(pause).toBeLessThanOrEqual(whole)
      expect(pause).toBe(Math.round(pause))
    }
})
