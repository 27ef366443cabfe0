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
const damage = 0xd800
const replacement = 0xfffd
/** Noncharacters of Unicode. Each has three bytes, as U+FFFD has. */
const noncharacters = Array.from({ length: 32 }, (_, i) => String.fromCharCode(0xfdd0 + i))

/** The text of bytes that may not be UTF-8: each invalid sequence is `damage`. In loops, since a body may be nothing but invalid sequences. */
export const decodeDamaged: Decode = (bytes) => {
  if (isUtf8(bytes)) return decodeUtf8(bytes)
  const copy = Buffer.from(bytes)
  // Node writes U+FFFD for an invalid sequence, so those that were sent are put aside.
  const aside = noncharacters.find((one) => !copy.includes(one))
  if (aside === undefined) return decodeUtf8(bytes)
  const [first, second, third] = Buffer.from(aside) as unknown as [number, number, number]
  for (let at = 0; at < copy.length - 2; at++)
    if (copy[at] === 0xef && copy[at + 1] === 0xbf && copy[at + 2] === 0xbd) {
      copy[at] = first
      copy[at + 1] = second
      copy[at + 2] = third
    }
  return marked(copy.toString(), aside.charCodeAt(0))
}

function marked(text: string, aside: number): string {
  const units = new Uint16Array(text.length * 2)
  let size = 0
  for (let at = 0; at < text.length; at++) {
    const unit = text.charCodeAt(at)
    units[size++] = unit === aside ? replacement : unit === replacement ? damage : unit
    // An escape that follows could be the other half of a pair.
    if (unit === replacement && text[at + 1] === '\\') units[size++] = replacement
  }
  return Buffer.from(units.buffer, 0, size * 2).toString('utf16le')
}

export function withoutMark(text: string): string {
  return text.startsWith('\ufeff') ? text.slice(1) : text
}
