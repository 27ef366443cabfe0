/**
 * What a body of a device is read with. A value that decides (an id, a state, an order key) is refused if it is invalid: `complain`. A value
 * that explains (a message, a code, a component of many) is kept as far as it can be stored, since a device does not shorten a text and
 * try again, and its only word about a failure would be lost: `warn` (docs/wire.md §1.6).
 */
import type { DomainError } from '../../../domain/errors.ts'
import type { Warning } from '../../../domain/report.ts'
import { storable } from '../../../domain/text.ts'
import { isAbsent, type Problems, refusal } from '../../../platform/body/problems.ts'

export interface Reading extends Problems {
  warnings: Warning[] | null
  /** Whether the bytes of the body are UTF-8. Otherwise it has half of a surrogate pair where they are not (`decodeDamaged`). */
  readonly isUtf8: boolean
}

export function newReading(isUtf8 = true): Reading {
  return { list: null, warnings: null, isUtf8 }
}

/** In one body: as many as there are problems in a refusal. */
const mostWarnings = 100

export function warn(reading: Reading, kind: Warning['kind'], field: string, message: string): void {
  reading.warnings ??= []
  if (reading.warnings.length < mostWarnings) reading.warnings.push({ kind, field, message })
}

/** Of a body whose bytes are not UTF-8 where nothing is read. Elsewhere, the field has a warning or a problem. */
export function warnOfBytes(reading: Reading): void {
  if (reading.isUtf8 || reading.list !== null || reading.warnings?.some(({ kind }) => kind === 'TEXT_ALTERED')) return
  warn(reading, 'TEXT_ALTERED', 'body', 'must be UTF-8: a member that is not read has other bytes')
}

export interface KeptText {
  readonly text: string
  /** The characters that it had. Null: it is whole. */
  readonly cutFrom: number | null
}

export const none: KeptText = { text: '', cutFrom: null }

/** Of a body that is refused: what would have been taken otherwise than sent is named too, so that one answer names every field. */
export function refusalOf({ list, warnings }: Reading, subject?: string): DomainError {
  return refusal([...(list ?? []), ...(warnings ?? []).map(({ field, message }) => ({ field, message }))], subject)
}

/**
 * A text that explains, as far as it can be stored: NUL, half of a surrogate pair and bytes that are not UTF-8 become U+FFFD, characters
 * beyond `longest` are left out, and another value than a string is its JSON.
 */
export function readExplanation(reading: Reading, field: () => string, value: unknown, longest: number): KeptText {
  if (isAbsent(value) || value === '') return none
  const sent = typeof value === 'string' ? value : textOf(value)
  const clean = storable(sent)
  if (typeof value !== 'string') warn(reading, 'TEXT_ALTERED', field(), 'must be a string: its JSON is kept')
  else if (clean !== sent)
    warn(
      reading,
      'TEXT_ALTERED',
      field(),
      'must be valid UTF-8 without U+0000 or half of a surrogate pair: U+FFFD is kept instead',
    )
  const text = clean.length <= longest ? clean : clean.slice(0, endOf(clean, longest))
  if (text.length === clean.length) return { text, cutFrom: null }
  const length = lengthOf(clean)
  warn(
    reading,
    'TEXT_ALTERED',
    field(),
    `must have at most ${longest} characters, but has ${length}: the first are kept`,
  )
  return { text, cutFrom: length }
}

function textOf(value: unknown): string {
  return JSON.stringify(value, (_, member) => (typeof member === 'bigint' ? String(member) : member)) ?? ''
}

/** Where the first characters of a text end. A character has one or two UTF-16 units. */
function endOf(text: string, characters: number): number {
  let end = 0
  for (let i = 0; i < characters && end < text.length; i++) end += (text.codePointAt(end) ?? 0) > 0xffff ? 2 : 1
  return end
}

export function lengthOf(text: string): number {
  let length = 0
  for (let at = 0; at < text.length; length++) at += (text.codePointAt(at) ?? 0) > 0xffff ? 2 : 1
  return length
}

/** As much of a text as has at most so many bytes in UTF-8. */
export function cutToBytes(text: string, most: number): string {
  if (Buffer.byteLength(text) <= most) return text
  return text.slice(0, new TextEncoder().encodeInto(text, new Uint8Array(most)).read)
}
