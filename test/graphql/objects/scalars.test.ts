import { parse, validate } from 'graphql'
import { describe, expect, it } from 'vitest'
import { parseDateTime, parseRevision } from '../../../src/api/graphql/objects/scalars.ts'
import { schema } from '../../../src/api/graphql/schema.ts'

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

describe('a literal of a wrong kind or value', () => {
  const time = 'DateTime must be ISO 8601 with an offset, such as "2026-01-02T03:04:05.678Z"; got'
  const revision = 'Revision must be decimal digits, such as "1234", or "begin"; got'

  it.each([
    ['asOf: "noon"', `${time} "noon"`],
    ['asOf: 5', `${time} 5`],
    ['atRevision: begin', `${revision} begin`],
    ['atRevision: -1', `${revision} -1`],
    ['atRevision: {a: [1]}', `${revision} { a: [1] }`],
  ])('is refused at its place: %s', (argument, message) => {
    const document = `{ deployments(${argument}) { totalCount } }`
    expect(validate(schema, parse(document)).map((error) => error.toJSON())).toMatchObject([
      { message, locations: [{ line: 1, column: document.indexOf(': ') + 3 }], extensions: { code: 'BAD_USER_INPUT' } },
    ])
  })
})
