import { isUtf8 } from 'node:buffer'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { storable } from '../../../src/domain/text.ts'
import { parseJson } from '../../../src/platform/body/json.ts'
import { decodeDamaged } from '../../../src/platform/body/utf8.ts'
import { jsonYardstick, threadTime } from '../../support/stall.ts'

const bytes = (...parts: (string | number)[]) =>
  Buffer.concat(parts.map((part) => (typeof part === 'string' ? Buffer.from(part) : Buffer.of(part))))
const parse = (sent: Uint8Array) => parseJson(sent, 64, decodeDamaged)

describe('a text whose bytes are not UTF-8', () => {
  it('has half of a surrogate pair where they are not, and U+FFFD where decoders write it, or where it was sent', () => {
    const any = fc.oneof(
      fc.uint8Array({ maxLength: 4 }),
      fc.string({ unit: 'binary' }).map((text) => Buffer.from(text)),
    )
    fc.assert(
      fc.property(
        fc.array(fc.oneof(any, fc.constant(Buffer.from('\ufffd')), fc.constant(Buffer.from('\ufdd0')))),
        (parts) => {
          const sent = Buffer.concat(parts)
          const text = decodeDamaged(sent)
          expect(storable(text)).toBe(storable(sent.toString()))
          expect(text.isWellFormed()).toBe(isUtf8(sent))
        },
      ),
    )
  })

  it.each<[string, Buffer, string]>([
    ['after half of a pair', bytes('"\\ud83d', 0xff, '"'), '\ufffd\ufffd'],
    ['before half of a pair', bytes('"', 0xff, '\\udc00"'), '\ufffd\ufffd\ufffd'],
    ['between the bytes of a character', bytes('"', 0xe2, 0x82, '€"'), '\ufffd€'],
  ])('never makes a character of bytes %s', (_case, sent, kept) => {
    const text = String(parse(sent))
    expect(text.isWellFormed()).toBe(false)
    expect(storable(text)).toBe(kept)
  })

  it('is no JSON if they are outside of its texts, or escaped', () => {
    for (const sent of [bytes('{"a":1', 0xff, '}'), bytes('["\\', 0xff, '"]'), bytes(0xff, '{}')])
      expect(() => parse(sent)).toThrow(/not valid JSON/)
  })

  it('keeps digits and keys beside them', () => {
    expect(parse(bytes('\ufeff{"n":12345678901234567890,"a":"', 0xff, '"}'))).toEqual({
      n: 12345678901234567890n,
      a: '\ud800',
    })
  })

  it.each<[string, Buffer]>([
    ['invalid bytes', Buffer.alloc(1 << 20, 0xff)],
    ['U+FFFD', bytes('\ufffd'.repeat(350_000), 0xff)],
    ['invalid bytes before escapes', Buffer.from('\xff\\udc00'.repeat(150_000), 'latin1')],
  ])('costs no more than JSON of its size if it is nothing but %s', (_case, sent) => {
    const start = threadTime()
    for (let time = 0; time < 3; time++) decodeDamaged(sent)
    expect(threadTime() - start).toBeLessThan(3 * 2 * jsonYardstick(4 * sent.length))
  })
})
