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

interface First {
  readonly key: number
  readonly at: Millis
}

export interface Growth {
  /** The next key is not lower. */
  readonly head: number
  /** An early key of the partition that receives the writes, of the present epoch, and its time. Null: it has no row. */
  readonly first: First | null
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
    // The first partition has all rows of a database that was not divided.
    const keys = Math.max(head - first.key, growth.rows)
    return keys < smallest ? null : head + Math.max(dayOf(growth, first), Math.ceil(keys / 16))
  }
  if (head >= last.from) return head + Math.max(dayOf(growth, first), spanOf(growth, first))
  const from = Math.max(ranges.at(-2)?.from ?? first.key, first.key)
  return head < (from + last.from) / 2 ? null : last.from + spanOf(growth, first)
}

/** Milliseconds. A rate of a shorter time says little. */
const shortestSpan = 600_000

/** The keys of a partition that begins where the writes have not been. */
function spanOf(growth: Growth, first: First): number {
  const { rows, kept } = growth
  if (kept === null) return Math.max(smallest, Math.ceil(rows / (perHistory / 2)))
  return Math.max(smallest, Math.ceil(rateOf(growth, first) * (kept / perHistory)))
}

/**
 * The keys of a day. A partition that has rows is not ended earlier: its bound applies before the division is complete, and to complete it needs a
 * lock that a dump may hold for hours.
 */
function dayOf(growth: Growth, first: First): number {
  return Math.max(smallest, Math.ceil(rateOf(growth, first) * 86_400_000))
}

/** Keys a millisecond. After a clock that was ahead, the first row may seem to be of the future. */
function rateOf({ head, now }: Growth, first: First): number {
  return (head - first.key) / Math.max(now - first.at, shortestSpan)
}
