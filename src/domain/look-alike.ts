/**
 * Texts that look the same but differ. A device chooses its ID, its names and its messages, so it may write U+202E (the letters after it run
 * backwards) or U+200B (a space without width). What a person reads shows such a character as an escape. What a program reads has the exact text.
 */

/**
 * Control characters, characters without a glyph, and those that change the order of others. Languages and emoji need joiners (U+200C and U+200D) and
 * variation selectors. Line breaks and tabs are visible.
 */
const hidden =
  /(?![\n\t\u200c-\u200d\p{Variation_Selector}])[\p{Cc}\p{Default_Ignorable_Code_Point}\p{Zl}\p{Zp}\ufff9-\ufffb]/u

/** Characters that were met: 1 if they are shown as they are, and the escapes of the others. */
const visible = new Uint8Array(0x110000)
const escapes = new Map<number, string>()

function escapeOf(point: number): string | undefined {
  if (visible[point]) return undefined
  const known = escapes.get(point)
  if (known) return known
  const character = String.fromCodePoint(point)
  if (hidden.test(character)) escapes.set(point, escapeCharacters(character))
  else visible[point] = 1
  return escapes.get(point)
}

/**
 * The same text with each hidden character as JSON escapes it, so the escaped text of a JSON document is the same document. In a loop, since a text may
 * have nothing else: a pattern with a callback takes several times as long.
 */
export function escapeHidden(text: string): string {
  if (!hidden.test(text)) return text
  let shown = ''
  let from = 0
  for (let at = 0; at < text.length; ) {
    const point = text.codePointAt(at) ?? 0
    const escaped = escapeOf(point)
    const next = at + (point > 0xffff ? 2 : 1)
    if (escaped) {
      shown += text.slice(from, at) + escaped
      from = next
    }
    at = next
  }
  return shown + text.slice(from)
}

/** The same in one line. */
export function escapeLine(text: string): string {
  return escapeHidden(text.replaceAll(/[\n\r\t]+/g, ' '))
}

/** The same text in characters that everyone can tell apart: others are escaped. */
export function escapeToAscii(text: string): string {
  return text.replaceAll(/[^\x20-\x7e]+/g, escapeCharacters)
}

const ignorable = /\p{Default_Ignorable_Code_Point}+/gu

/**
 * Small letters of Cyrillic, Greek and Armenian, and the Latin letter that they or their capitals look like. These are the letters of Unicode's table
 * (UTS 39, confusables) that stand for one letter. The whole table was rejected: it takes 0 for O and 1 for l, so gw-10 for gw-l0.
 */
const [foreign, latin] = [
  'авекмнорстухіјѕһԁԛԝӏ' + 'αβεζηικμνορτυχϲϳ' + 'օսհ',
  'abekmhopctyxijshdqwl' + 'abezhikmvoptyxcj' + 'ouh',
]
const alike: ReadonlyMap<string, string> = new Map([...foreign].map((letter, index) => [letter, latin.charAt(index)]))
const alikeLetters = new RegExp(`[${foreign}]`, 'gu')
/** Full width, and letters of mathematics. */
const styled = /[\uff01-\uff5e\u{1d400}-\u{1d7ff}]+/gu

/**
 * One text for all that look the same: without characters that have no glyph, with one form of each accented letter (NFC), of each space, of
 * both cases, and of letters that look like Latin ones. PostgreSQL's lower() was rejected, because its result depends on the collation of the database.
 */
export function foldName(name: string): string {
  const visible = name
    .replaceAll(styled, (text) => text.normalize('NFKD'))
    .normalize('NFD')
    .replaceAll(ignorable, '')
  const small = visible.replaceAll(/\s+/g, ' ').toUpperCase().toLowerCase()
  return small.replaceAll(alikeLetters, (letter) => alike.get(letter) ?? letter).normalize('NFC')
}

/** `\u202e`. A character beyond U+FFFF is two escapes. */
function escapeCharacters(characters: string): string {
  return Array.from(
    { length: characters.length },
    (_, at) => `\\u${characters.charCodeAt(at).toString(16).padStart(4, '0')}`,
  ).join('')
}
