/** Reads a Parquet file back with a reader that shares no code with the writer, and compares it with the rows that were written. */
import { createHash, type Hash } from 'node:crypto'
import type { Column } from '../columns.ts'

/** A digest of rows, whatever they are stored in. */
interface RowDigest {
  add(values: readonly unknown[]): void
  value(): { readonly rows: number; readonly digest: string }
}

export function createRowDigest(): RowDigest {
  const hash: Hash = createHash('sha256')
  let rows = 0
  return {
    add(values) {
      rows += 1
      hash.update(`${JSON.stringify(values.map(plain))}\n`)
    },
    value: () => ({ rows, digest: hash.copy().digest('hex') }),
  }
}

/** The reader has dates for times. */
function plain(value: unknown): string | null {
  if (value === null || value === undefined) return null
  return value instanceof Date ? String(value.getTime()) : String(value)
}

/** Rows between two turns of the event loop. */
const together = 2_000

/** The digest of all rows of a file. Throws if it is not a whole Parquet file. */
export async function digestOf(bytes: Buffer, columns: readonly Column[]): Promise<ReturnType<RowDigest['value']>> {
  const { parquetMetadata, parquetReadObjects } = await import('hyparquet')
  const file = bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength) as ArrayBuffer
  const metadata = parquetMetadata(file)
  const found = createRowDigest()
  for (let rowStart = 0; rowStart < Number(metadata.num_rows); rowStart += together) {
    const rows = await parquetReadObjects({ file, metadata, rowStart, rowEnd: rowStart + together })
    for (const row of rows) found.add(columns.map(({ name }) => row[name]))
    await new Promise(setImmediate)
  }
  return found.value()
}
