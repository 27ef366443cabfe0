import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { editDistance, nearest } from '../../src/domain/edit-distance.ts'

describe('the distance of words', () => {
  it.each([
    ['', '', 0],
    ['gt', 'get', 1],
    ['wiat', 'wait', 1],
    ['watch', 'wait', 3],
    ['DATABASE_ULR', 'DATABASE_URL', 1],
  ])('of %s and %s is %i', (a, b, distance) => expect(editDistance(a, b)).toBe(distance))

  it('is symmetric, zero for equals only, and at most the longer one', () => {
    const word = fc.string({ maxLength: 8 })
    fc.assert(
      fc.property(word, word, (a, b) => {
        const distance = editDistance(a, b)
        expect(distance).toBe(editDistance(b, a))
        expect(distance === 0).toBe(a === b)
        expect(distance).toBeLessThanOrEqual(Math.max(a.length, b.length))
      }),
    )
  })

  it('finds what was meant, and nothing for what resembles nothing', () => {
    expect(nearest('gt', ['get', 'watch', 'wait'])).toBe('get')
    expect(nearest('WAIT', ['get', 'watch', 'wait'])).toBe('wait')
    expect(nearest('deploy', ['get', 'watch', 'wait'])).toBe(null)
    expect(nearest('x', [])).toBe(null)
  })
})
