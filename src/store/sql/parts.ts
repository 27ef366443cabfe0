/**
 * Parts of bounded bytes, for readers that go through many rows. A row may have a megabyte of texts that devices have sent. What a reader does not divide
 * is refused above a bound (connection/reading.ts).
 */
import { type SQL, sql } from 'drizzle-orm'

/** Bytes of a part of a stream, or of one statement that reads a part of what is needed as a whole: what its reader holds at once, and mostly encodes in one turn of the event loop. */
export const partBytes = 1 << 20

/**
 * `from (…) as part where …`: the first rows of `select` until they have so many bytes, and the row that exceeds them. `size`: the bytes of a row of `part`.
 * `order`: the columns of `part` by which `select` is ordered.
 */
export function untilBytes(select: SQL, size: SQL, order: SQL, bytes = partBytes): SQL {
  return sql`from (select part.*, sum(part_size) over (order by ${order} rows unbounded preceding) - part_size as part_before
      from (select part.*, ${size} as part_size from (${select}) as part) as part) as part where part_before < ${bytes}::bigint`
}

/** The bytes of columns as text. The database has to decompress a column for that, but does not send it. */
export function bytesOf(...columns: readonly SQL[]): SQL {
  return sql.join(
    columns.map((column) => sql`coalesce(octet_length(${column}::text), 0)`),
    sql` + `,
  )
}

/** In order: each part has at most so many bytes, or is one item. */
export function* inParts<T extends { readonly size: number }>(
  items: readonly T[],
  bytes = partBytes,
): Generator<readonly T[]> {
  let [part, size]: [T[], number] = [[], 0]
  for (const item of items) {
    if (part.length > 0 && size + item.size > bytes) {
      yield part
      ;[part, size] = [[], 0]
    }
    part.push(item)
    size += item.size
  }
  if (part.length > 0) yield part
}

/**
 * How many rows the next part looks at. The database computes the bytes of all of them, so a part that was cut is followed by a smaller one, and one that
 * was not by a larger one.
 */
export function createPartSize(most: number): { next(): number; read(rows: number, isCut: boolean): void } {
  let size = Math.min(most, 32)
  return {
    next: () => size,
    read(rows, isCut) {
      size = isCut ? Math.max(1, Math.min(size, 2 * rows)) : Math.min(most, 2 * size)
    },
  }
}
