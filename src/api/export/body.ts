/**
 * The bytes of an export, made as they are asked for: a part of the rows is read, encoded and sent before the next one is read. Each part has a
 * snapshot of its own, so a client that reads slowly holds no transaction open. One snapshot for the whole export was rejected: it would keep
 * the database from removing old rows for as long as the slowest client reads.
 */
import type { Encoder } from './formats/format.ts'
import type { Part } from './kinds/kind.ts'
import type { Tally } from './tally.ts'

export type ReadPart = (after: string | null) => Promise<Part>

export async function* bodyOf(first: Part, read: ReadPart, encoder: Encoder, tally: Tally): AsyncGenerator<Buffer> {
  let part = first
  for (;;) {
    tally.addRows(part.rows)
    const bytes = encoder.add(part.rows)
    tally.addBytes(bytes)
    yield bytes
    if (part.next === null) break
    part = await read(part.next)
  }
  const rest = encoder.end()
  tally.addBytes(rest)
  yield rest
}
