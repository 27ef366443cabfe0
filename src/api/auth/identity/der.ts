/** Reads the few types of ASN.1 in DER (X.690) that a certificate consists of. What OpenSSL has parsed is read again, because Node shows only some parts of it. */

export class NotDer extends Error {}

export interface Element {
  readonly tag: number
  readonly content: Uint8Array
}

export const tags = { boolean: 1, integer: 2, bits: 3, octets: 4, oid: 6, sequence: 0x30 } as const
/** A tag of its context, constructed. */
export const explicit = (number: number): number => 0xa0 | number

/** The elements of a constructed element, or of a whole text. Throws NotDer. */
export function elementsOf(bytes: Uint8Array): readonly Element[] {
  const found: Element[] = []
  for (let at = 0; at < bytes.length; ) {
    const { element, end } = elementAt(bytes, at)
    found.push(element)
    at = end
  }
  return found
}

function elementAt(bytes: Uint8Array, at: number): { readonly element: Element; readonly end: number } {
  const [tag = 0, first = 0x80] = [bytes[at], bytes[at + 1]]
  // Longer tags, and lengths that the end of the content tells, are in no certificate.
  if ((tag & 0x1f) === 0x1f || first === 0x80 || first > 0x83) throw new NotDer()
  const digits = first < 0x80 ? 0 : first - 0x80
  let length = digits === 0 ? first : 0
  for (let digit = 0; digit < digits; digit += 1) length = length * 256 + (bytes[at + 2 + digit] ?? 0)
  const from = at + 2 + digits
  if (from + length > bytes.length) throw new NotDer()
  return { element: { tag, content: bytes.subarray(from, from + length) }, end: from + length }
}

/** Throws NotDer if there is no such element. */
export function contentOf(element: Element | undefined, tag: number): Uint8Array {
  if (element?.tag !== tag) throw new NotDer()
  return element.content
}

/** An object identifier in dots. */
export function oidOf(element: Element | undefined): string {
  const parts: number[] = []
  let part = 0
  for (const byte of contentOf(element, tags.oid)) {
    part = part * 128 + (byte & 0x7f)
    if (byte >= 0x80) continue
    parts.push(part)
    part = 0
  }
  const [first = 0, ...rest] = parts
  const root = Math.min(2, Math.floor(first / 40))
  return [root, first - root * 40, ...rest].join('.')
}

/** A small number. */
export function numberOf(element: Element | undefined): number {
  const content = contentOf(element, tags.integer)
  if (content.length === 0 || content.length > 4 || (content[0] ?? 0) >= 0x80) throw new NotDer()
  return content.reduce((value, byte) => value * 256 + byte, 0)
}
