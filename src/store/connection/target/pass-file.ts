/** Finds a password in a file of libpq's form: a line `host:port:database:user:password`, where `*` is any, and `\` precedes a `:` or a `\` that is meant. */
import type { Address } from './url.ts'

interface Wanted {
  readonly address: Address
  readonly database: string
  readonly user: string
}

/** Null: no line is about it. */
export function passwordIn(text: string, { address, database, user }: Wanted): string | null {
  // As libpq, which names a server on the same machine so.
  const host = address.host.startsWith('/') ? 'localhost' : address.host
  const wanted = [host, String(address.port), database, user]
  for (const line of text.split(/\r?\n/)) {
    if (line.startsWith('#')) continue
    const fields = [...line.matchAll(/((?:\\.|[^:\\])*)(?::|$)/g)].map(([, field = '']) => unescaped(field))
    const isAbout = wanted.every((value, index) => fields[index] === '*' || fields[index] === value)
    if (isAbout && fields[4]) return fields[4]
  }
  return null
}

function unescaped(text: string): string {
  return text.replaceAll(/\\(.)/g, '$1')
}
