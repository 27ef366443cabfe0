import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { DomainError } from '../../../src/domain/errors.ts'
import { parseMargoBody } from '../../../src/ingest/dialects/margo/parse.ts'
import { parseJson } from '../../../src/platform/body/json.ts'
import { anyRoute } from '../margo/fixtures.ts'

const nested = (depth: number, core = '') => '['.repeat(depth) + core + ']'.repeat(depth)

function codeOf(input: Uint8Array | string): string {
  try {
    parseJson(input)
    return 'read'
  } catch (error) {
    if (error instanceof DomainError) return error.code
    throw error
  }
}

describe('integers', () => {
  it('keep every digit beyond what a double holds', () => {
    expect(parseJson('{"a":18446744073709551615,"b":[9007199254740993],"c":-9007199254740993}')).toEqual({
      a: 18446744073709551615n,
      b: [9007199254740993n],
      c: -9007199254740993n,
    })
  })

  it('stay numbers within, also beside one that is beyond, and so do fractions and exponents', () => {
    expect(parseJson('[9007199254740991,1,-0.5,1e30,12345678901234567890]')).toEqual([
      9007199254740991,
      1,
      -0.5,
      1e30,
      12345678901234567890n,
    ])
  })

  it('are not looked for inside strings', () => {
    expect(parseJson('{"id":"12345678901234567890"}')).toEqual({ id: '12345678901234567890' })
  })

  it('reach the report digit by digit, as a number or as a string', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: 1n, max: 2n ** 64n - 1n }), fc.boolean(), (version, quoted) => {
        const literal = quoted ? `"${version}"` : `${version}`
        const text = `{"deploymentId":"d","status":{"state":"installed"},"components":[],"adoptedManifestVersion":${literal}}`
        expect(parseMargoBody(parseJson(text), anyRoute).adoptedManifestVersion).toBe(String(version))
      }),
    )
  })
})

describe('what is no readable JSON', () => {
  it.each([
    ['nothing', ''],
    ['blanks', ' \n'],
    ['half an object', '{"a":'],
    ['a comma too many', '[1,]'],
    ['YAML', 'kind: DeploymentStatus'],
    ['broken UTF-8', Uint8Array.of(0x22, 0xff, 0x22)],
    ['half a character', Uint8Array.of(0x22, 0xe2, 0x82)],
    ['an overlong character', Uint8Array.of(0x22, 0xc0, 0x80, 0x22)],
    ['a depth of 65', nested(65)],
    ['a depth of a million', nested(1_000_000)],
    ['a depth of a million with a big integer', nested(1_000_000, '12345678901234567890')],
  ])('%s is an invalid request', (_case, input) => {
    expect(codeOf(input)).toBe('INVALID_REQUEST')
  })

  it('a depth of 64 is read, and brackets in width or in strings are no depth', () => {
    expect(codeOf(nested(64))).toBe('read')
    expect(codeOf(JSON.stringify(Array(5000).fill({ a: [] })))).toBe('read')
    expect(codeOf(JSON.stringify('['.repeat(5000)))).toBe('read')
  })
})

describe('keys', () => {
  it('of duplicates the last wins, with and without big integers', () => {
    expect(parseJson('{"a":1,"a":2}')).toEqual({ a: 2 })
    expect(parseJson('{"a":12345678901234567890,"a":2,"b":98765432109876543210,"b":12345678901234567890}')).toEqual({
      a: 2,
      b: 12345678901234567890n,
    })
  })

  it.each(['', ',"n":12345678901234567890'])('of prototypes change nothing%s', (more) => {
    const text = `{"__proto__":{"deploymentId":"evil"},"constructor":{"prototype":{"kind":"evil"}}${more}}`
    const body = parseJson(text)
    expect(Object.getPrototypeOf(body)).toBe(Object.prototype)
    expect('deploymentId' in {}).toBe(false)
    expect(() => parseMargoBody(body, anyRoute)).toThrow(/deploymentId must be a string/)
  })
})

it('a byte order mark is no part of the text', () => {
  expect(parseJson(Buffer.from('\ufeff{"a":"é"}'))).toEqual({ a: 'é' })
})

it('is what JSON.parse says, but for the lost digits', () => {
  const rounded = (_key: string, value: unknown) => (typeof value === 'bigint' ? Number(value) : value)
  fc.assert(
    fc.property(fc.json(), (text) => {
      expect(JSON.stringify(parseJson(text), rounded)).toBe(JSON.stringify(JSON.parse(text)))
    }),
  )
})

it('never fails but with an invalid request', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 64 }), (bytes) => {
      expect(codeOf(bytes)).toMatch(/^(read|INVALID_REQUEST)$/)
    }),
  )
})
