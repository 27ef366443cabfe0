/**
 * The bytes of an export, made as they are asked for: a part of the rows is read, encoded and sent before the next one is read. Each part has a
 * snapshot of its own, so a client that reads slowly holds no transaction open. One snapshot for the whole export was rejected: it would keep
 * the database from removing old rows for as long as the slowest client reads.
 */
import type { Encoder } from './formats/format.ts'
import type { Part } from './kinds/kind.ts'
import type { Tally } from './tally.ts'

export type ReadPart = (after: string | null) => Promise<Part>

/** `first` is emptied: what is given as a value stays in memory until the export ends, as do the variables of a suspended function. */
export async function* bodyOf(first: Part[], read: ReadPart, encoder: Encoder, tally: Tally): AsyncGenerator<Buffer> {
  const encode = ({ rows, next }: Part): { readonly bytes: Buffer; readonly next: string | null } => {
    tally.addRows(rows)
    const bytes = encoder.add(rows)
    tally.addBytes(bytes)
    return { bytes, next }
  }
  const begin = () => encode(first.pop() ?? { rows: [], next: null })
  for (let made = begin(); ; made = await read(made.next).then(encode)) {
    yield made.bytes
    if (made.next === null) break
  }
  const rest = encoder.end()
  tally.addBytes(rest)
  yield rest
}
