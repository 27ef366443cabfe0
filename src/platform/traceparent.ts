/** W3C Trace Context: the header `traceparent`, which names the span that a request belongs to. */

/** Characters. A later version may append fields. They are not kept, so a longer header only costs time. */
const longest = 512
const format = /^(?!ff)([\da-f]{2})-(?!0{32})([\da-f]{32})-(?!0{16})([\da-f]{16})-([\da-f]{2})(-.*)?$/

/** In the form of version 00. Null: the header is absent or invalid, which the specification says to ignore. */
export function readTraceparent(header: string | readonly string[] | undefined): string | null {
  if (typeof header !== 'string' || header.length > longest) return null
  const [, version, traceId, spanId, flags, rest] = format.exec(header) ?? []
  if (version === undefined || flags === undefined || (version === '00' && rest !== undefined)) return null
  // Other flags of a later version have no meaning in version 00.
  const known = version === '00' ? flags : `0${Number.parseInt(flags, 16) & 1}`
  return `00-${traceId}-${spanId}-${known}`
}
