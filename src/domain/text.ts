/**
 * Text that PostgreSQL can store. It cannot store U+0000, and UTF-8 cannot encode half of a surrogate pair. JSON writes both as
 * escapes, so a JSON column accepts them, but then every `->>` on that row fails, and with it every query that reads the row.
 * An id with such a character is refused, because a changed id would be another id. In other text the character becomes U+FFFD,
 * as decoders of UTF-8 do.
 */

export function isStorable(text: string): boolean {
  return !text.includes('\0') && text.isWellFormed()
}

const unseen = /^\s|\s$|\p{Cc}/u

/** Whether two names may look the same but differ: by white space at an end (U+FEFF is white space) or by control characters. */
export function hasUnseen(name: string): boolean {
  return unseen.test(name)
}

/** Characters of another system's text in an error, in a line of a log, and where it is stored. */
const longestForeign = 300

/** A text of another system, for persons: it is bounded, on one line, and can be stored. */
export function foreignText(text: string, longest = longestForeign): string {
  const cut = text.length > longest ? `${text.slice(0, longest)}…` : text
  return cut.replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, ' ').toWellFormed()
}

export function storable(text: string): string {
  return isStorable(text) ? text : text.toWellFormed().replaceAll('\0', '\ufffd')
}

/** `value` as JSON text. */
export function storableJson(value: unknown): string {
  return storableJsonText(JSON.stringify(value) ?? 'null')
}

const mayBeUnstorable = /\\u(?:0000|d[89a-f])/i
/** Matches an escaped backslash as a whole, so that the text after it is not taken for an escape. */
const escapes = /\\(?:u0000|ud[89ab][0-9a-f]{2}(\\ud[c-f][0-9a-f]{2})?|ud[c-f][0-9a-f]{2}|.)/gis

/** The same JSON text, with every character that cannot be stored replaced. */
export function storableJsonText(json: string): string {
  if (!mayBeUnstorable.test(json)) return json
  return json.replace(escapes, (found, low?: string) =>
    found.length === 6 && low === undefined ? String.raw`\ufffd` : found,
  )
}
