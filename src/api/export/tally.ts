/** Counts what is sent: the figures of a manifest. */
import { createHash } from 'node:crypto'
import type { Column, Row } from './columns.ts'

interface Figures {
  readonly rows: number
  /** Of the rows. Null: they have none. */
  readonly firstRevision: string | null
  readonly lastRevision: string | null
  /** Of the last row, to continue after. Null: no row. */
  readonly cursor: string | null
  readonly bytes: number
  readonly sha256: string
}

export interface Tally {
  addRows(rows: readonly Row[]): void
  addBytes(bytes: Buffer): void
  figures(): Figures
}

export function createTally(columns: readonly Column[]): Tally {
  const hash = createHash('sha256')
  const hasRevision = columns.some(({ name }) => name === 'revision')
  let [rowCount, bytes, lowest, highest] = [0, 0, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY]
  let cursor: string | null = null
  const revision = (value: number): string | null => (Number.isFinite(value) ? String(value) : null)
  return {
    addRows(rows) {
      rowCount += rows.length
      const last = rows.at(-1)
      if (last) cursor = String(last.cursor)
      if (!hasRevision) return
      for (const { revision: own } of rows) {
        if (typeof own !== 'number') continue
        lowest = Math.min(lowest, own)
        highest = Math.max(highest, own)
      }
    },
    addBytes(some) {
      hash.update(some)
      bytes += some.length
    },
    figures: () => ({
      rows: rowCount,
      firstRevision: revision(lowest),
      lastRevision: revision(highest),
      cursor,
      bytes,
      sha256: hash.copy().digest('hex'),
    }),
  }
}
