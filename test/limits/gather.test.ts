/** The bytes of a body do not depend on its pieces, and small pieces are not kept themselves. */
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { gather } from '../../src/platform/limits/gather.ts'

const size = fc.oneof(fc.nat(3), fc.integer({ min: 1_000, max: 1_050 }), fc.nat(40_000))

it('gives the bytes of all pieces, in order', () => {
  fc.assert(
    fc.property(fc.array(size, { maxLength: 60 }), (sizes) => {
      const pieces = sizes.map((length, index) => Buffer.alloc(length, index))
      const body = gather()
      for (const piece of pieces) body.add(piece)
      expect(body.take().equals(Buffer.concat(pieces))).toBe(true)
      expect(body.take()).toHaveLength(0)
    }),
  )
})

it('copies small pieces, and neither a large one nor the only one', () => {
  const body = gather()
  const pieces = [1, 2_000, 1, 1_000, 3_000].map((length) => Buffer.alloc(length, 'a'))
  for (const piece of pieces) body.add(piece)
  for (const piece of pieces) piece.fill('b')
  expect(body.take().toString()).toBe(`b${'b'.repeat(2_000)}${'a'.repeat(1_001)}${'b'.repeat(3_000)}`)
})
