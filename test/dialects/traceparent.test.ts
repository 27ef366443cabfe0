import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { traceContextOf } from '../../src/outlets/traces/spans.ts'
import { readTraceparent } from '../../src/platform/traceparent.ts'

const hex = (length: number) =>
  fc.string({ unit: fc.constantFrom(...'0123456789abcdef'), minLength: length, maxLength: length })
const id = (length: number) => hex(length).filter((text) => /[^0]/.test(text))
const contexts = fc.record({ traceId: id(32), spanId: id(16), flags: hex(2) })

describe('the header traceparent', () => {
  it('is kept as it is in version 00, and read back', () => {
    fc.assert(
      fc.property(contexts, ({ traceId, spanId, flags }) => {
        const header = `00-${traceId}-${spanId}-${flags}`
        expect(readTraceparent(header)).toBe(header)
        const isSampled = Number.parseInt(flags, 16) % 2 === 1
        expect(traceContextOf(header)).toEqual({ traceId, spanId, isSampled })
      }),
    )
  })

  it('of a later version is kept in the form of version 00, which knows one flag', () => {
    const version = hex(2).filter((text) => text !== '00' && text !== 'ff')
    const rest = fc.option(fc.string({ unit: 'grapheme-ascii', maxLength: 100 }), { nil: null })
    fc.assert(
      fc.property(version, contexts, rest, (later, { traceId, spanId, flags }, more) => {
        const kept = readTraceparent(`${later}-${traceId}-${spanId}-${flags}${more === null ? '' : `-${more}`}`)
        expect(kept).toBe(`00-${traceId}-${spanId}-0${Number.parseInt(flags, 16) % 2}`)
      }),
    )
  })

  it('is ignored if it is invalid', () => {
    const [trace, span] = ['4bf92f3577b34da6a3ce929d0e0e4736', '00f067aa0ba902b7']
    const valid = `00-${trace}-${span}-01`
    const invalid = [
      ...[undefined, '', '00', trace, [valid], `${valid}, ${valid}`, `${valid}-`, `${valid}-00`, `${valid}0`],
      ...[` ${valid}`, `${valid}\n`, valid.toUpperCase(), `ff-${trace}-${span}-01`, `0-${trace}-${span}-01`],
      ...[`00-${'0'.repeat(32)}-${span}-01`, `00-${trace}-${'0'.repeat(16)}-01`, `00-${trace}-${span}-0g`],
      ...[`00-${trace.slice(1)}-${span}-01`, `01-${trace}-${span}-01x`, `01-${trace}-${span}-01-${'x'.repeat(500)}`],
    ]
    expect(invalid.filter((header) => readTraceparent(header) !== null)).toEqual([])
    fc.assert(fc.property(fc.string(), (text) => readTraceparent(text) === null))
  })
})
