import { describe, expect, it } from 'vitest'
import { parseDateTime, parseRevision } from '../../../src/graphql/objects/scalars.ts'

describe('DateTime', () => {
  it.each([
    ['2026-01-02T03:04:05.678Z', '2026-01-02T03:04:05.678Z'],
    ['2026-01-02T03:04:05Z', '2026-01-02T03:04:05.000Z'],
    ['2026-01-02T03:04Z', '2026-01-02T03:04:00.000Z'],
    ['2026-01-02t03:04:05z', '2026-01-02T03:04:05.000Z'],
    ['2026-01-02T03:04:05.678901234Z', '2026-01-02T03:04:05.678Z'],
    ['2026-01-02T03:04:05+02:00', '2026-01-02T01:04:05.000Z'],
    ['2024-02-29T00:00:00Z', '2024-02-29T00:00:00.000Z'],
  ])('takes %s', (text, iso) => {
    expect(new Date(parseDateTime(text)).toISOString()).toBe(iso)
  })

  it.each([
    '',
    'yesterday',
    '2026-01-02',
    '2026-01-02T03:04:05',
    '2026-01-02 03:04:05Z',
    '2026-02-30T00:00:00Z',
    '2025-02-29T00:00:00Z',
    '2026-13-01T00:00:00Z',
    '2026-01-02T24:00:00Z',
    '2026-01-02T03:60:00Z',
    '2026-01-02T03:04:05+25:00',
    '+275760-09-13T00:00:00.001Z',
    1_767_323_045_678,
    null,
    {},
  ])('refuses %j, and says what it wants', (value) => {
    expect(() => parseDateTime(value)).toThrow(/^DateTime must be ISO 8601 with an offset/)
  })

  it('truncates long invalid values in messages', () => {
    expect(() => parseDateTime('x'.repeat(10_000))).toThrow(/^.{0,200}$/)
  })
})

describe('Revision', () => {
  it.each([
    ['0', 0],
    ['1767323045678001', 1_767_323_045_678_001],
    [17, 17],
    ['007', 7],
    ['9007199254740993', Number.MAX_SAFE_INTEGER],
    ['9'.repeat(100), Number.MAX_SAFE_INTEGER],
  ])('takes %j', (value, revision) => {
    expect(parseRevision(value)).toBe(revision)
  })

  it.each(['', '-1', '1.5', '1e3', ' 1', '0x10', '١', -1, 1.5, Number.NaN, 1e21, true, null, ['1']])(
    'refuses %j, and says what it wants',
    (value) => {
      expect(() => parseRevision(value)).toThrow(/^Revision must be decimal digits/)
    },
  )
})
