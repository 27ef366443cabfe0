/** What changed between two states of a list. Pure. */
import type { Revision } from '../../../../domain/values.ts'

export interface ListedRow<Key = number, Version = Revision> {
  readonly key: Key
  /** Differs if the row has changed. */
  readonly revision: Version
}

export interface RowChange<Key = number> {
  readonly change: 'INSERTED' | 'UPDATED' | 'MOVED'
  readonly key: Key
  /** The position in the list before the changes. Null: it was not in the list. */
  readonly from: number | null
  /** The position in the list after all changes. */
  readonly position: number
}

export interface Difference<Key = number> {
  /** By position. */
  readonly rows: readonly RowChange<Key>[]
  readonly removed: readonly Key[]
}

/**
 * A subscriber applies it without comparing anything: it takes out the removed rows and all rows of the difference, and puts the latter in at
 * their positions, in that order. So the other rows must keep their order, and each row that has changed is in the difference.
 */
export function difference<Key, Version>(
  before: readonly ListedRow<Key, Version>[],
  after: readonly ListedRow<Key, Version>[],
  isTouched: (key: Key) => boolean,
): Difference<Key> {
  const places = new Map(before.map(({ key, revision }, place) => [key, { place, revision }]))
  const isSame = ({ key, revision }: ListedRow<Key, Version>): boolean =>
    places.get(key)?.revision === revision && !isTouched(key)
  const following = nextUnchanged(after, (row) => (isSame(row) ? (places.get(row.key)?.place ?? null) : null))
  const rows: RowChange<Key>[] = []
  let last = -1
  for (const [position, row] of after.entries()) {
    const known = places.get(row.key)
    if (!known) {
      rows.push({ change: 'INSERTED', key: row.key, from: null, position })
      continue
    }
    const isInOrder = known.place > last && known.place <= (following[position] ?? known.place)
    if (isInOrder) last = known.place
    if (!isInOrder || !isSame(row))
      rows.push({ change: isInOrder ? 'UPDATED' : 'MOVED', key: row.key, from: known.place, position })
  }
  const left = new Set(after.map(({ key }) => key))
  return { rows, removed: before.map(({ key }) => key).filter((key) => !left.has(key)) }
}

/** For each row, the former place of the next one that did not change, itself included. */
function nextUnchanged<Key, Version>(
  rows: readonly ListedRow<Key, Version>[],
  formerPlace: (row: ListedRow<Key, Version>) => number | null,
): readonly (number | null)[] {
  let next: number | null = null
  return rows
    .toReversed()
    .map((row) => (next = formerPlace(row) ?? next))
    .reverse()
}
