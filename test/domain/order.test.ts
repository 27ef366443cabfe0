import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { noMarks, type OrderMarks } from '../../src/domain/deployment.ts'
import { clockTolerance, compareDigits, orderReport } from '../../src/domain/order.ts'

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
      marks: marks({ boot: 'b', seq: '1' }),
    })
  })

  it("is decided by the reporter's clock last", () => {
    expect(orderReport(marks({ observedAt: now - 5 }), marks({ observedAt: now - 6 }), now).staleBy).toBe('observedAt')
    expect(orderReport(marks({ observedAt: now - 5 }), marks({ observedAt: now - 5 }), now).staleBy).toBeNull()
  })

  it('ignores a clock that is more than five minutes ahead, so that it silences nobody later', () => {
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
