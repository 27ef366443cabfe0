/** Bytes of a body as text. */
import { isUtf8 } from 'node:buffer'
import { DomainError } from '../../domain/errors.ts'

/** A byte order mark is a character of the text. */
export type Decode = (bytes: Uint8Array) => string

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** Throws INVALID_REQUEST. */
export const decodeUtf8: Decode = (bytes) => {
  try {
    return utf8.decode(bytes)
  } catch (cause) {
    throw new DomainError('INVALID_REQUEST', 'The text is not valid UTF-8.', { cause })
  }
}

/** Half of a surrogate pair, which no valid text has: an id with it is refused, and a message with it is kept with U+FFFD (`storable`). */
const damage = '\ud800'
const replacement = '\ufffd'
/** Noncharacters of Unicode. Each has three bytes, as U+FFFD has. */
const noncharacters = Array.from({ length: 32 }, (_, i) => String.fromCharCode(0xfdd0 + i))

/** The text of bytes that may not be UTF-8: each invalid sequence is `damage`. */
export const decodeDamaged: Decode = (bytes) => {
  if (isUtf8(bytes)) return decodeUtf8(bytes)
  const copy = Buffer.from(bytes)
  // Node writes U+FFFD for an invalid sequence, so those that were sent are put aside.
  const aside = noncharacters.find((one) => !copy.includes(one))
  if (aside === undefined) return decodeUtf8(bytes)
  for (let at = copy.indexOf(replacement); at >= 0; at = copy.indexOf(replacement, at + 3)) copy.write(aside, at)
  return (
    copy
      .toString()
      // An escape that follows could be the other half of a pair.
      .replaceAll(/\ufffd(?=\\u)/gi, damage + aside)
      .replaceAll(replacement, damage)
      .replaceAll(aside, replacement)
  )
}

export function withoutMark(text: string): string {
  return text.startsWith('\ufeff') ? text.slice(1) : text
}
