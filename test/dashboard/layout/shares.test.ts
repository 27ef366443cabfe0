/** Shares: what is not all is not 100 %, and what is not nothing is not 0 %. */
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { formatShare } from '../../../src/apps/dashboard/data/labels.ts'

it.each([
  [0, 0, '–'],
  [0, 5_000, '0 %'],
  [1, 5_000, '0.1 %'],
  [1, 3, '33 %'],
  [989, 1_000, '99 %'],
  [990, 1_000, '99 %'],
  [999, 1_000, '99.9 %'],
  [4_950, 5_000, '99 %'],
  [4_951, 5_000, '99 %'],
  [4_975, 5_000, '99.5 %'],
  [4_998, 5_000, '99.9 %'],
  [99_999_999, 100_000_000, '99.9 %'],
  [5_000, 5_000, '100 %'],
])('%i of %i is %s', (part, whole, words) => {
  expect(formatShare(part, whole)).toBe(words)
})

it('grows with the part, and is 0 % of nothing and 100 % of all only', () => {
  const parts = fc.tuple(fc.nat(20_000), fc.nat(20_000), fc.integer({ min: 1, max: 20_000 }))
  fc.assert(
    fc.property(parts, ([one, other, whole]) => {
      const [less, more] = [one, other].map((part) => Math.min(part, whole)).toSorted((a, b) => a - b)
      const [small, large] = [less, more].map((part) => formatShare(part ?? 0, whole))
      expect(Number.parseFloat(small ?? '')).toBeLessThanOrEqual(Number.parseFloat(large ?? ''))
      expect(small === '0 %').toBe(less === 0)
      expect(large === '100 %').toBe(more === whole)
    }),
  )
})
