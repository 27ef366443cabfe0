/** Large JSON, read piece by piece, is what JSON.parse makes of it: values, order, duplicates, and what is no JSON. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { DomainError } from '../../../src/domain/errors.ts'
import { largest, type ReadOptions, readJson } from '../../../src/platform/body/json-reader.ts'
import { atOnce } from '../../../src/platform/limits/pace.ts'

const tiny: ReadOptions = { deepest: 64, room: 'anywhere', piece: 8, most: 1e6 }

function read(text: string | Uint8Array, options = tiny): unknown {
  try {
    return atOnce(readJson(typeof text === 'string' ? Buffer.from(text) : text, options))
  } catch (error) {
    if (error instanceof DomainError) return error.code
    throw error
  }
}

/** Integers beyond a double's as bigint: by a reviver, which is right and slow. */
function expected(text: string): unknown {
  try {
    return JSON.parse(text, ((_: string, value: unknown, { source }: { source: string }) =>
      typeof value === 'number' && !Number.isSafeInteger(value) && /^-?\d+$/.test(source) ? BigInt(source) : value) as (
      key: string,
      value: unknown,
    ) => unknown)
  } catch {
    return 'INVALID_REQUEST'
  }
}

const number = fc.oneof(
  fc.integer().map(String),
  fc.bigInt({ min: -(10n ** 30n), max: 10n ** 30n }).map(String),
  fc.bigInt({ min: 2n ** 53n - 5n, max: 2n ** 53n + 5n }).map(String),
  fc.double({ noNaN: true, noDefaultInfinity: true }).map((value) => JSON.stringify(value)),
  fc.constantFrom('-0', '1e3', '1234567890123456789e2', '0.1234567890123456789', '1234567890123456789.5', '-1E-20'),
)
const string = fc.oneof(
  fc.string({ unit: 'grapheme' }).map((value) => JSON.stringify(value)),
  fc.constantFrom('"\\"],{"', '"\\\\"', '"__proto__"', '"1234567890123456789"', '"ünï→😀"', '""'),
)
const space = fc.constantFrom('', '', ' ', '\n\t', '          ')
const { value } = fc.letrec<{ value: string }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 5 },
    number,
    string,
    fc.constantFrom('null', 'true', 'false'),
    fc.array(fc.tuple(space, tie('value'), space).map((parts) => parts.join(''))).map((list) => `[${list}]`),
    fc
      .array(fc.tuple(space, string, space, fc.constant(':'), space, tie('value')).map((parts) => parts.join('')))
      .map((list) => `{${list}}`),
  ),
}))

describe('JSON that is read in pieces', () => {
  it('is what JSON.parse makes of it, with every digit', () => {
    fc.assert(
      fc.property(fc.tuple(space, value, space), fc.constantFrom(4, 8, 64), (parts, piece) => {
        const text = parts.join('')
        const [found, wanted] = [read(text, { ...tiny, piece }), expected(text)]
        expect(found).toStrictEqual(wanted)
        if (typeof found === 'object' && found !== null)
          expect(Object.keys(found)).toEqual(Object.keys(wanted as object))
      }),
      { numRuns: 1_500 },
    )
  })

  it('is refused when it is none, wherever it is broken', () => {
    const broken = fc.tuple(
      value,
      fc.nat(),
      fc.constantFrom('', ',', '[', ']', '{', '}', '"', ':', '1', 'x', '\\', '-'),
    )
    fc.assert(
      fc.property(broken, ([text, at, what]) => {
        const cut = at % (text.length + 1)
        const sent = (text.slice(0, cut) + what + text.slice(what === '' ? cut + 1 : cut)).toWellFormed()
        expect([sent, read(sent)]).toStrictEqual([sent, expected(sent)])
      }),
      { numRuns: 3_000 },
    )
  })

  it.each([
    '[1,,2]',
    '[1,]',
    '[,1]',
    '[,]',
    '{"a":1,}',
    '{,}',
    '{12345678901234567890:1}',
    '{"a" 1}',
    '{"aaaaaaaaaaaaaaa" }',
    '[1]]',
    '[}',
    '{]',
    '[',
  ])('is not %s', (text) => expect(read(text)).toBe('INVALID_REQUEST'))

  it('must be UTF-8 and nested no deeper than allowed, and a number that never ends is a double', () => {
    expect(read(Buffer.concat([Buffer.from('["'), Buffer.from([0xff]), Buffer.from('"]')]))).toBe('INVALID_REQUEST')
    expect(read(`${'['.repeat(64)}${']'.repeat(64)}`)).toBeInstanceOf(Array)
    expect(read(`${'['.repeat(65)}${']'.repeat(65)}`)).toBe('INVALID_REQUEST')
    for (const digits of [1_001, 2_500])
      expect(read(`[-${'1'.repeat(digits)},0.${'1'.repeat(digits)},12345678901234567890]`)).toEqual([
        Number.NEGATIVE_INFINITY,
        1 / 9,
        12345678901234567890n,
      ])
  })

  it.each([
    ['more values than its size makes likely', `[${'{},'.repeat(60_000)}{}]`],
    ['a list that is larger than any is there', `{"a":["${'x'.repeat(30)}"${`,"${'x'.repeat(30)}"`.repeat(70_000)}]}`],
    ['a text that is larger than any is', `["${'x'.repeat(largest)}"]`],
  ])('is too large with %s', (_, text) => {
    expect(read(text, { deepest: 64 })).toBe('TOO_LARGE')
  })

  it.each([
    ['before a value', (blanks: string) => `[${blanks}1]`],
    ['after a value', (blanks: string) => `[1${blanks}]`],
    ['around all', (blanks: string) => `${blanks}[1]`],
  ])('takes white space in a row up to the bound that docs/wire.md states: %s', (_, textWith) => {
    expect(read(textWith(' '.repeat((1 << 20) - 1)))).toEqual([1])
    expect(read(textWith(' '.repeat(1 << 20)))).toBe('INVALID_REQUEST')
  })

  it('pauses often, and JSON.parse has little to do between two pauses', () => {
    const text = `{"list":[${'{"name":"abc","n":1234567890123456789},'.repeat(100_000)}{}]}`
    const reading = readJson(Buffer.from(text), { deepest: 64, room: { members: { list: {} } } })
    let pauses = 0
    while (!reading.next().done) pauses += 1
    expect(pauses).toBeGreaterThan(text.length / (128 << 10))
  })
})
