/**
 * Where a table in partitions by range is divided next. The last partition has no upper bound, so a write always has a partition.
 *
 *     … | (x, y) receives the writes | [y, ∞) is empty       the head passes the middle of (x, y)
 *     … | (x, y) receives the writes | [y, z) | [z, ∞)       the head passes y, and later the middle of [y, z)
 *
 * An upper bound for every partition was rejected: a write beyond the last bound would fail if no server had added a partition in time.
 */
import type { Millis } from '../../domain/values.ts'

export interface PartitionRange {
  /** Inclusive. Null: no bound. */
  readonly from: number | null
  /** Exclusive. Null: no bound. */
  readonly to: number | null
}

export interface Growth {
  /** The next key is not lower. */
  readonly head: number
  /** An early key of the partition that receives the writes, of the present epoch, and its time. Null: it has no row. */
  readonly first: { readonly key: number; readonly at: Millis } | null
  readonly now: Millis
  /** Rows of the whole table, as the planner estimates them. */
  readonly rows: number
  /** Milliseconds that rows are kept. Null: for ever. */
  readonly kept: Millis | null
}

/** The keys of a partition, at least: smaller tables are not worth the cost that each partition adds to every plan. */
export const smallest = 500_000
/** Partitions of the time that rows are kept. With a hundred, a read of the log took five times as long. */
export const perHistory = 12
/** No more than that, however the rate of writes changes. */
export const mostPartitions = 24

/** The next upper bound of the last partition. Null: it needs none yet. `ranges` ascend. */
export function nextBound(ranges: readonly PartitionRange[], growth: Growth): number | null {
  const { head, first } = growth
  if (first === null || ranges.length >= mostPartitions) return null
  const last = ranges.at(-1)
  if (last?.from == null) {
    // The first partition has all rows of a database that was not divided. It ends soon, but after the writes during its division.
    const keys = Math.max(head - first.key, growth.rows)
    return keys < smallest ? null : head + Math.max(smallest / 5, Math.ceil(keys / 16))
  }
  const before = ranges.at(-2)
  const from = Math.max(before?.from ?? first.key, first.key)
  if (head < last.from && head < (from + last.from) / 2) return null
  return Math.max(head, last.from) + spanOf(growth, first)
}

function spanOf({ head, now, rows, kept }: Growth, first: { readonly key: number; readonly at: Millis }): number {
  if (kept === null) return Math.max(smallest, Math.ceil(rows / (perHistory / 2)))
  const rate = (head - first.key) / Math.max(now - first.at, 1)
  return Math.max(smallest, Math.ceil(rate * (kept / perHistory)))
}
