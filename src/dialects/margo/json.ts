/** JSON as it is written: no digit of an integer lost, and nothing in it that a later reader could choke on. */
import { DomainError } from '../../domain/errors.ts'
import { isDeeperThan } from '../../limits/nesting.ts'

/** How deep a body may nest; the deepest report known nests four levels. */
export const deepest = 64

const utf8 = new TextDecoder('utf-8', { fatal: true })

/**
 * JSON.parse, but integers beyond ±(2^53-1) come as bigint. A body that is broken UTF-8, no JSON, or nested too deep is an INVALID_REQUEST.
 * (Of duplicate keys the last wins, and `__proto__` is a key like any other: JSON.parse sees to both.)
 */
export function parseJson(input: Uint8Array | string, limit = deepest): unknown {
  const text = typeof input === 'string' ? input : decodeUtf8(input)
  const value = parse(text)
  if (mayNestDeeperThan(text, limit) && isDeeperThan(value, limit))
    throw new DomainError('INVALID_REQUEST', `The JSON is nested deeper than ${limit} levels.`)
  return mayHoldBigIntegers(text) ? parse(text, keepDigits) : value
}

function decodeUtf8(bytes: Uint8Array): string {
  try {
    return utf8.decode(bytes)
  } catch (cause) {
    throw new DomainError('INVALID_REQUEST', 'The text is not valid UTF-8.', { cause })
  }
}

function parse(text: string, reviver?: (key: string, value: unknown) => unknown): unknown {
  try {
    return JSON.parse(text, reviver)
  } catch (cause) {
    const why = text.trim() === '' ? 'it is empty' : cause instanceof Error ? cause.message : 'it cannot be read'
    throw new DomainError('INVALID_REQUEST', `The text is not valid JSON: ${why}.`, { cause })
  }
}

/** The third argument is ES2026's; the compiler's library does not list it yet. */
function keepDigits(_key: string, value: unknown, context?: { readonly source?: string }): unknown {
  if (typeof value !== 'number' || Number.isSafeInteger(value)) return value
  const source = context?.source
  return source !== undefined && /^-?\d+$/.test(source) ? BigInt(source) : value
}

/** Cheap, and right for every report that is not odd: a safe integer has at most 16 digits. */
function mayHoldBigIntegers(text: string): boolean {
  return /\d{16}/.test(text)
}

/** Cheap, and right for every report that is not odd: without so many brackets there is no such depth. */
function mayNestDeeperThan(text: string, limit: number): boolean {
  let brackets = 0
  for (const bracket of ['{', '[']) {
    for (let i = text.indexOf(bracket); i !== -1; i = text.indexOf(bracket, i + 1)) if (++brackets > limit) return true
  }
  return false
}
