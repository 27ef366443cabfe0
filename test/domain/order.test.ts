import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  clockTolerance,
  isOlderConnection,
  noMarks,
  type OrderMarks,
  orderConnection,
  orderReport,
} from '../../src/domain/transition/order.ts'
import { compareDigits } from '../../src/domain/values.ts'

const now = Date.UTC(2026, 0, 1)
const marks = (some: Partial<OrderMarks>): OrderMarks => ({ ...noMarks, ...some })

describe('the order of reports', () => {
  it('is that of arrival when they share no key', () => {
    expect(orderReport(marks({ seq: '9' }), marks({ observedAt: 1 }), now).staleBy).toBeNull()
  })

  it('is decided by the manifest version before anything else', () => {
    const known = marks({ adoptedManifestVersion: '10', seq: '1', observedAt: 1 })
    const older = marks({ adoptedManifestVersion: '9', seq: '2', observedAt: 2 })
    expect(orderReport(known, older, now).staleBy).toBe('adoptedManifestVersion')
    expect(orderReport(older, known, now).staleBy).toBeNull()
  })

  it('compares versions beyond a double digit by digit', () => {
    const known = marks({ adoptedManifestVersion: '18446744073709551615' })
    expect(orderReport(known, marks({ adoptedManifestVersion: '18446744073709551614' }), now).staleBy).toBe(
      'adoptedManifestVersion',
    )
    expect(compareDigits('9007199254740993', '9007199254740992')).toBeGreaterThan(0)
    expect(compareDigits('99', '100')).toBeLessThan(0)
  })

  it('is decided by the sequence within one boot only', () => {
    const known = marks({ boot: 'a', seq: '5' })
    expect(orderReport(known, marks({ boot: 'a', seq: '4' }), now).staleBy).toBe('seq')
    expect(orderReport(known, marks({ boot: 'b', seq: '1' }), now)).toEqual({
      staleBy: null,
      marks: marks({ boot: 'b', seq: '1', earlier: [{ boot: 'a', seq: '5' }] }),
    })
  })

  it('knows the repeat of a report of an earlier boot, though neither says a time', () => {
    const reports = ['a', 'b', 'c'].map((boot) => marks({ boot, seq: '5' }))
    let known = noMarks
    for (const report of reports) known = orderReport(known, report, now).marks
    for (const boot of ['a', 'b']) {
      expect(orderReport(known, marks({ boot, seq: '5' }), now).staleBy).toBe('seq')
      expect(orderReport(known, marks({ boot, seq: '4', observedAt: now }), now).staleBy).toBe('seq')
    }
    expect(orderReport(known, marks({ boot: 'c', seq: '5' }), now).staleBy).toBeNull()
    // Not heard before: another boot of the same name, perhaps.
    expect(orderReport(known, marks({ boot: 'a', seq: '6' }), now).staleBy).toBeNull()
    const timed = orderReport(known, marks({ boot: 'd', seq: '1', observedAt: now - 5 }), now).marks
    expect(orderReport(timed, marks({ boot: 'c', seq: '1', observedAt: now }), now).staleBy).toBeNull()
  })

  it('remembers no more boots than a few, and none of an older manifest version', () => {
    let known = marks({ adoptedManifestVersion: '1' })
    for (let boot = 0; boot < 20; boot += 1)
      known = orderReport(known, marks({ boot: String(boot), seq: '1' }), now).marks
    expect(known.earlier?.map(({ boot }) => boot)).toEqual(['18', '17', '16', '15'])
    expect(orderReport(known, marks({ adoptedManifestVersion: '2' }), now).marks.earlier).toBeUndefined()
  })

  it("is decided by the reporter's clock last", () => {
    expect(orderReport(marks({ observedAt: now - 5 }), marks({ observedAt: now - 6 }), now).staleBy).toBe('observedAt')
    expect(orderReport(marks({ observedAt: now - 5 }), marks({ observedAt: now - 5 }), now).staleBy).toBeNull()
  })

  it('ignores a clock that is more than five minutes ahead, so that it silences no later report', () => {
    const ahead = orderReport(marks({ observedAt: now - 5 }), marks({ observedAt: now + clockTolerance + 1 }), now)
    expect(ahead).toEqual({ staleBy: null, marks: marks({ observedAt: now - 5 }) })
    expect(orderReport(noMarks, marks({ observedAt: now + clockTolerance }), now).marks.observedAt).toBe(
      now + clockTolerance,
    )
  })

  it('keeps the mark of a key that a report does not carry', () => {
    const known = marks({ adoptedManifestVersion: '5', boot: 'a', seq: '7' })
    const { marks: kept } = orderReport(known, noMarks, now)
    expect(orderReport(kept, marks({ adoptedManifestVersion: '4' }), now).staleBy).toBe('adoptedManifestVersion')
    expect(orderReport(kept, marks({ boot: 'a', seq: '6' }), now).staleBy).toBe('seq')
  })

  it('forgets the sequence and the time of an older version', () => {
    const known = marks({ adoptedManifestVersion: '5', boot: 'a', seq: '7', observedAt: now })
    expect(orderReport(known, marks({ adoptedManifestVersion: '6' }), now).marks).toEqual(
      marks({ adoptedManifestVersion: '6' }),
    )
  })

  const u64 = fc.option(fc.bigInt({ min: 0n, max: 3n }).map(String), { nil: null })
  const anyMarks = fc.record({
    adoptedManifestVersion: u64,
    boot: fc.constantFrom(null, 'a', 'b'),
    seq: u64,
    observedAt: fc.option(fc.integer({ min: now - 3, max: now + 3 }), { nil: null }),
  })

  it('never calls the repetition of a report stale', () => {
    fc.assert(
      fc.property(anyMarks, anyMarks, (known, report) => {
        const first = orderReport(known, report, now)
        fc.pre(first.staleBy === null)
        expect(orderReport(first.marks, report, now).staleBy).toBeNull()
      }),
    )
  })

  it('never lets two reports each be older than the other', () => {
    fc.assert(
      fc.property(anyMarks, anyMarks, (a, b) => {
        const aFirst = orderReport(orderReport(noMarks, a, now).marks, b, now)
        const bFirst = orderReport(orderReport(noMarks, b, now).marks, a, now)
        expect(aFirst.staleBy !== null && bFirst.staleBy !== null).toBe(false)
      }),
    )
  })
})

describe('the order of connections', () => {
  const now = Date.UTC(2026, 0, 1)
  const hour = 3_600_000
  const isOlder = (known: number, own: number, to: 'ONLINE' | 'OFFLINE', isInOrder: boolean): boolean =>
    isOlderConnection(orderConnection(now - known, 'OFFLINE', now), orderConnection(now - own, to, now), {
      ...{ to, now, isInOrder },
    })

  it.each([
    ['a birth from before a connection that began long ago', hour, 2 * hour, 'ONLINE', true, false],
    ['the same, where messages may overtake each other', hour, 2 * hour, 'ONLINE', false, true],
    ['a birth from before a connection that began now', 1_000, hour, 'ONLINE', true, true],
    ['a will from before a connection that began long ago', hour, 2 * hour, 'OFFLINE', true, true],
    ['a birth of a newer connection', hour, 1_000, 'ONLINE', true, false],
    ['a will of a newer connection', hour, 1_000, 'OFFLINE', false, false],
    ['a birth of a clock that is far ahead', hour, -hour, 'ONLINE', true, false],
  ] as const)('decides whether %s is older', (_, known, own, to, isInOrder, expected) => {
    expect(isOlder(known, own, to, isInOrder)).toBe(expected)
  })
})
