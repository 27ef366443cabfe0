/** Parses JSON without losing digits of integers. */
import { isDeeperThan } from '../limits/nesting.ts'
import { atOnce, paced } from '../limits/pace.ts'
import { notJson, TooDeep } from './json-parts.ts'
import { piece, type Room, readJson } from './json-reader.ts'
import { type Decode, decodeDamaged, decodeUtf8, withoutMark } from './utf8.ts'

/** The nesting limit of a body. The deepest known report nests four levels. */
export const deepest = 64

/**
 * JSON.parse, but integers beyond ±(2^53-1) become bigint. A body that is not UTF-8, not JSON, or nested too deep is an INVALID_REQUEST.
 * (JSON.parse lets the last of repeated keys win, and treats `__proto__` as an ordinary key.) For large bodies: parseLargeJson.
 */
export function parseJson(input: Uint8Array | string, limit = deepest, decode: Decode = decodeUtf8): unknown {
  const text = typeof input === 'string' ? input : withoutMark(decode(input))
  if (mayHoldBigIntegers(text))
    return atOnce(
      readJson(typeof input === 'string' ? Buffer.from(input) : input, {
        deepest: limit,
        room: 'anywhere',
        most: text.length,
        // In one piece: to divide nested lists, each level is read once for every level around it.
        piece: Number.POSITIVE_INFINITY,
        decode,
      }),
    )
  const value = parse(text)
  if (mayNestDeeperThan(text, limit) && isDeeperThan(value, limit)) throw new TooDeep(limit)
  return value
}

/** The same for any size, with pauses. `room`: the parts that may be large. Bytes that are not UTF-8 are damage to their text only. */
export function parseLargeJson(bytes: Uint8Array, room: Room): Promise<unknown> {
  return bytes.length <= piece
    ? Promise.try(parseJson, bytes, deepest, decodeDamaged)
    : paced(readJson(bytes, { deepest, room, decode: decodeDamaged }))
}

/** JSON of a body as programs read it that decode every number to a double, as those in Go do. */
export function plainJson(value: unknown): string {
  return JSON.stringify(value, (_, member) => (typeof member === 'bigint' ? Number(member) : member)) ?? 'null'
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (cause) {
    throw notJson(
      text.trim() === '' ? 'it is empty' : cause instanceof Error ? cause.message : 'it cannot be read',
      cause,
    )
  }
}

/** A cheap test that is exact for ordinary reports: a safe integer has at most 16 digits. */
function mayHoldBigIntegers(text: string): boolean {
  return /\d{16}/.test(text)
}

/** A cheap test that is exact for ordinary reports: a text with few brackets cannot nest deeply. */
function mayNestDeeperThan(text: string, limit: number): boolean {
  let brackets = 0
  for (const bracket of ['{', '[']) {
    for (let i = text.indexOf(bracket); i !== -1; i = text.indexOf(bracket, i + 1)) if (++brackets > limit) return true
  }
  return false
}
