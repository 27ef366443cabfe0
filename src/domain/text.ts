/**
 * Text that can be kept. PostgreSQL holds no U+0000, and UTF-8 no half of a surrogate pair. JSON writes both as escapes, so a column of JSON
 * takes them without a word; from then on each `->>` on that row fails, and with it every query that reads the row. Ids are refused where
 * they come in (changed, they would be other ids). Other text is mended: such a character becomes U+FFFD, as decoders of UTF-8 do.
 */

export function isStorable(text: string): boolean {
  return !text.includes('\0') && text.isWellFormed()
}

export function storable(text: string): string {
  return isStorable(text) ? text : text.toWellFormed().replaceAll('\0', '\ufffd')
}

/** `value` as JSON text. */
export function storableJson(value: unknown): string {
  return mendJson(JSON.stringify(value) ?? 'null')
}

const mayBeUnstorable = /\\u(?:0000|d[89a-f])/i
/** An escaped backslash is taken whole, so that what follows it is not taken for an escape. */
const escapes = /\\(?:u0000|ud[89ab][0-9a-f]{2}(\\ud[c-f][0-9a-f]{2})?|ud[c-f][0-9a-f]{2}|.)/gis

/** JSON text, wherever it was written: the same but for what cannot be kept. */
export function mendJson(json: string): string {
  if (!mayBeUnstorable.test(json)) return json
  return json.replace(escapes, (found, low?: string) =>
    found.length === 6 && low === undefined ? String.raw`\ufffd` : found,
  )
}
