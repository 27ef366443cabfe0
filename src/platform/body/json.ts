/** Parses JSON without losing digits of integers. */
import { DomainError } from '../../domain/errors.ts'
import { isDeeperThan } from '../limits/nesting.ts'
import { atOnce, paced } from '../limits/pace.ts'
import { notJson } from './json-parts.ts'
import { piece, type Room, readJson } from './json-reader.ts'

/** The nesting limit of a body. The deepest known report nests four levels. */
export const deepest = 64

const utf8 = new TextDecoder('utf-8', { fatal: true })

/**
 * JSON.parse, but integers beyond ±(2^53-1) become bigint. A body that is not UTF-8, not JSON, or nested too deep is an INVALID_REQUEST.
 * (JSON.parse lets the last of repeated keys win, and treats `__proto__` as an ordinary key.) For large bodies: parseLargeJson.
 */
export function parseJson(input: Uint8Array | string, limit = deepest): unknown {
  const text = typeof input === 'string' ? input : decodeUtf8(input)
  if (mayHoldBigIntegers(text))
    return atOnce(
      readJson(typeof input === 'string' ? Buffer.from(input) : input, {
        deepest: limit,
        room: 'anywhere',
        most: text.length,
      }),
    )
  const value = parse(text)
  if (mayNestDeeperThan(text, limit) && isDeeperThan(value, limit))
    throw new DomainError('INVALID_REQUEST', `The JSON is nested deeper than ${limit} levels.`)
  return value
}

/** The same for any size, with pauses. `room`: the parts that may be large. */
export function parseLargeJson(bytes: Uint8Array, room: Room): Promise<unknown> {
  return bytes.length <= piece ? Promise.try(parseJson, bytes) : paced(readJson(bytes, { deepest, room }))
}

/** JSON of a body as programs read it that decode every number to a double, as those in Go do. */
export function plainJson(value: unknown): string {
  return JSON.stringify(value, (_, member) => (typeof member === 'bigint' ? Number(member) : member)) ?? 'null'
}

export function decodeUtf8(bytes: Uint8Array): string {
  try {
    return utf8.decode(bytes)
  } catch (cause) {
    throw new DomainError('INVALID_REQUEST', 'The text is not valid UTF-8.', { cause })
  }
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
