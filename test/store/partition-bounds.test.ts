/** Where the tables of the history are divided, for any rate of writes. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { mostPartitions, nextBound, type PartitionRange, smallest } from '../../src/store/write/partition-bounds.ts'

const day = 86_400_000

/** A table that grows by `rates` keys in each of its hours, and is divided and loses expired partitions once an hour. */
function grow(rates: readonly number[], kept: number | null) {
  let ranges: PartitionRange[] = [{ from: null, to: null }]
  let head = 1
  const times: { readonly key: number; readonly at: number }[] = [{ key: 1, at: 0 }]
  const lengths: number[] = []
  for (const [hour, rate] of rates.entries()) {
    head += rate
    const now = (hour + 1) * 3_600_000
    times.push({ key: head, at: now })
    for (let rounds = 0; rounds < 5; rounds += 1) {
      const present = ranges.find(({ to }) => to === null || head < to)
      const first = times.find(({ key }) => key >= (present?.from ?? 0)) ?? null
      const bound = nextBound(ranges, { head, first, now, rows: head, kept })
      if (bound === null) break
      expect(bound).toBeGreaterThan(head)
      expect(bound).toBeGreaterThan((ranges.at(-1)?.from ?? 0) + smallest / 10)
      ranges = [...ranges.slice(0, -1), { from: ranges.at(-1)?.from ?? null, to: bound }, { from: bound, to: null }]
    }
    if (kept !== null) {
      const oldest = times.findLast(({ at }) => at < now - kept)?.key ?? 0
      ranges = ranges.filter(({ to }) => to === null || to > oldest)
    }
    lengths.push(ranges.length)
  }
  return { ranges, head, lengths }
}

describe('the partitions of a table', () => {
  it('always have one for the next row, and stay few', () => {
    fc.assert(
      fc.property(
        fc.array(fc.oneof(fc.integer({ min: 0, max: 5_000 }), fc.integer({ min: 0, max: 20_000_000 })), {
          maxLength: 300,
        }),
        fc.option(fc.constantFrom(day / 24, day, 30 * day)),
        (rates, kept) => {
          const { ranges, lengths } = grow(rates, kept)
          expect(ranges.at(-1)?.to).toBeNull()
          for (const [index, range] of ranges.entries()) if (index > 0) expect(range.from).toBe(ranges[index - 1]?.to)
          expect(Math.max(0, ...lengths)).toBeLessThanOrEqual(mostPartitions)
        },
      ),
    )
  })

  it('are one while the table is small', () => {
    expect(grow([smallest - 2, 0, 0], null).ranges).toHaveLength(1)
  })

  it('are a twelfth of the history each, of a steady fleet', () => {
    const { lengths } = grow(new Array<number>(24 * 90).fill(100_000), 30 * day)
    // Those of the history, one that is partly expired, the one that is written and the next.
    expect(lengths.at(-1)).toBeGreaterThanOrEqual(12)
    expect(lengths.at(-1)).toBeLessThanOrEqual(16)
  })

  it('stay few of a history that is kept for ever', () => {
    const { lengths, head } = grow(new Array<number>(500).fill(200_000), null)
    expect(head).toBe(100_000_001)
    expect(lengths.at(-1)).toBeLessThanOrEqual(mostPartitions)
  })

  it('continue behind the revisions that an epoch leaps over', () => {
    const ranges: PartitionRange[] = [
      { from: null, to: 1_000_000 },
      { from: 1_000_000, to: 2_000_000 },
      { from: 2_000_000, to: null },
    ]
    const leapt = 2 ** 41
    const first = { key: leapt + 1, at: 0 }
    const bound = nextBound(ranges, { head: leapt + 10, first, now: day, rows: 1_500_000, kept: day })
    expect(bound).toBe(leapt + 10 + smallest)
  })

  it('end within the reach of the fleet, although the first row is of a clock that was ahead', () => {
    const growth = { head: 2 * smallest, first: { key: 1, at: day }, now: day / 2, rows: 2 * smallest, kept: 30 * day }
    const bound = nextBound([{ from: null, to: null }], growth) ?? Number.POSITIVE_INFINITY
    expect(bound).toBeGreaterThan(2 * smallest)
    expect(bound).toBeLessThan(1_000 * smallest)
  })
})
