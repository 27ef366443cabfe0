import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { readTime } from '../../../src/platform/body/time.ts'

describe('times', () => {
  it.each([
    ['2024-06-10 08:37:54Z', '2024-06-10T08:37:54.000Z'],
    ['2026-07-10T06:12:03.25Z', '2026-07-10T06:12:03.250Z'],
    ['2026-07-10T06:12:03.123456789Z', '2026-07-10T06:12:03.123Z'],
    ['2026-07-10T06:12:03,5z', '2026-07-10T06:12:03.500Z'],
    ['2026-07-10t08:12:03+02:00', '2026-07-10T06:12:03.000Z'],
    ['2026-07-10T00:12:03-0530', '2026-07-10T05:42:03.000Z'],
    ['2026-07-10 08:12:03 +02', '2026-07-10T06:12:03.000Z'],
    ['2026-07-10T06:12:03', '2026-07-10T06:12:03.000Z'],
    ['2026-07-10T06:12Z', '2026-07-10T06:12:00.000Z'],
    ['2016-12-31T23:59:60Z', '2017-01-01T00:00:00.000Z'],
    ['2024-02-29T00:00:00Z', '2024-02-29T00:00:00.000Z'],
    ['1969-12-31T19:00:00-05:00', '1970-01-01T00:00:00.000Z'],
  ])('%s is %s', (text, meant) => {
    expect(new Date(readTime(text) ?? Number.NaN).toISOString()).toBe(meant)
  })

  it.each([
    'noon',
    '',
    '2026-07-10',
    '2026-13-01T00:00:00Z',
    '2026-02-29T00:00:00Z',
    '2100-02-29T00:00:00Z',
    '2026-04-31T00:00:00Z',
    '2026-07-00T00:00:00Z',
    '2026-07-10T24:00:00Z',
    '2026-07-10T06:60:00Z',
    '2026-07-10T06:12:61Z',
    '2026-07-10T06:12:03+24:00',
    '2026-07-10T06:12:03+02:60',
    '2026-07-10T06:12:03Z\n',
    '+012026-07-10T06:12:03Z',
    '0001-01-01T00:00:00Z',
    '1969-12-31T23:59:59Z',
    '9999-12-31T23:59:59-01:00',
    `2026-07-10T06:12:03.${'0'.repeat(100)}Z`,
  ])('%s is none', (text) => {
    expect(readTime(text)).toBeNull()
  })

  it.each([[0], [1_780_000_000], [null], [undefined], [{}], [5n]])('%s is none', (value) => {
    expect(readTime(value)).toBeNull()
  })

  it('come back to the millisecond from what every clock writes', () => {
    const date = fc.date({ min: new Date(0), max: new Date('9999-12-31T23:59:59.999Z'), noInvalidDate: true })
    fc.assert(
      fc.property(date, (at) => {
        expect(readTime(at.toISOString())).toBe(at.getTime())
      }),
    )
  })
})
