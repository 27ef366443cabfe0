/** Where the browser goes after it has signed in. */

const longest = 1_000

/**
 * A path of this server. Null for any other address: a link to the sign-in of this server must not lead to another one. Browsers
 * read `\` as `/` and drop tabs and line ends, so `/\other.example` and `/<tab>/other.example` are other servers.
 */
export function readReturnTo(text: string | null): string | null {
  if (text === null || text === '') return '/'
  if (text.length > longest || !/^\/(?![/\\])[\x21-\x5b\x5d-\x7e]*$/.test(text)) return null
  const base = 'http://rollcall.invalid'
  const url = URL.parse(text, base)
  return url?.origin === base ? text : null
}
