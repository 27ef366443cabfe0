/** What changed between two states of a list. Pure. */
import type { Revision } from '../../../domain/values.ts'

export interface ListedRow {
  readonly key: number
  readonly revision: Revision
}

export interface RowChange {
  readonly change: 'INSERTED' | 'UPDATED' | 'MOVED'
  readonly key: number
  /** In the list as it is after all changes. */
  readonly position: number
}

export interface Difference {
  /** By position. */
  readonly rows: readonly RowChange[]
  readonly removed: readonly number[]
}

/**
 * A subscriber applies it without comparing anything: it takes out the removed rows and all rows of the difference, and puts the latter in at
 * their positions, in that order. So the other rows must keep their order, and each row that has changed is in the difference.
 */
export function difference(
  before: readonly ListedRow[],
  after: readonly ListedRow[],
  isTouched: (key: number) => boolean,
): Difference {
  const places = new Map(before.map(({ key, revision }, place) => [key, { place, revision }]))
  const isSame = ({ key, revision }: ListedRow): boolean => places.get(key)?.revision === revision && !isTouched(key)
  const following = nextUnchanged(after, (row) => (isSame(row) ? (places.get(row.key)?.place ?? null) : null))
  const rows: RowChange[] = []
  let last = -1
  for (const [position, row] of after.entries()) {
    const known = places.get(row.key)
    if (!known) {
      rows.push({ change: 'INSERTED', key: row.key, position })
      continue
    }
    const isInOrder = known.place > last && known.place <= (following[position] ?? known.place)
    if (isInOrder) last = known.place
    if (!isInOrder || !isSame(row)) rows.push({ change: isInOrder ? 'UPDATED' : 'MOVED', key: row.key, position })
  }
  const left = new Set(after.map(({ key }) => key))
  return { rows, removed: before.map(({ key }) => key).filter((key) => !left.has(key)) }
}

/** For each row, the former place of the next one that did not change, itself included. */
function nextUnchanged(
  rows: readonly ListedRow[],
  formerPlace: (row: ListedRow) => number | null,
): readonly (number | null)[] {
  let next: number | null = null
  return rows
    .toReversed()
    .map((row) => (next = formerPlace(row) ?? next))
    .reverse()
}
