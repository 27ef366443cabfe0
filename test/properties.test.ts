import fc from 'fast-check'
import { expect, it } from 'vitest'

it('a property that fails prints its seed and counterexample, and looks for no other', () => {
  let calls = 0
  const isSmall = (n: number): boolean => {
    calls += 1
    return n < 1_000
  }
  let printed = ''
  try {
    fc.assert(fc.property(fc.integer({ min: 5_000 }), isSmall), { seed: 42 })
  } catch (error) {
    printed = String(error)
  }
  expect(printed).toMatch(/seed: 42.*Counterexample: \[\d+\]/s)
  expect(calls).toBe(1)
})
