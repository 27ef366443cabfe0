/** The tails of distributions, compared with counting. */
import { describe, expect, it } from 'vitest'
import { binomialTail, hypergeometricTail, logFactorials } from '../../../src/domain/insight/exact-tail.ts'

describe('exact tails', () => {
  const table = logFactorials(200)

  it('equal what counting gives', () => {
    // Of 10 items 4 are marked: 3 of 5 drawn, or more.
    expect(hypergeometricTail(table, { all: 10, marked: 4, drawn: 5 }, 3)).toBeCloseTo((4 * 15 + 1 * 6) / 252, 12)
    expect(hypergeometricTail(table, { all: 10, marked: 8, drawn: 5 }, 3)).toBe(1)
    expect(hypergeometricTail(table, { all: 10, marked: 4, drawn: 5 }, 5)).toBe(0)
    expect(binomialTail(table, 4, 0.5, 3)).toBeCloseTo(5 / 16, 12)
    expect(binomialTail(table, 4, 0.5, 0)).toBe(1)
    expect(binomialTail(table, 4, 1, 4)).toBe(1)
  })

  it('add up to 1 with the rest of the distribution', () => {
    for (const [all, marked, drawn] of [
      [200, 37, 50],
      [150, 140, 30],
      [90, 1, 89],
    ] as const) {
      const tail = (least: number) => hypergeometricTail(table, { all, marked, drawn }, least)
      const terms = Array.from({ length: drawn + 1 }, (_, k) => tail(k) - tail(k + 1))
      expect(terms.every((term) => term >= -1e-12)).toBe(true)
      const mean = terms.reduce((sum, term, k) => sum + k * term, 0)
      expect(mean).toBeCloseTo((drawn * marked) / all, 6)
    }
  })
})
