import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { ready } from '../../src/domain/readiness/assessment.ts'
import { isCounted, type ObjectStatus, resourceReadiness, sumReadiness } from '../../src/domain/readiness/sum.ts'
import { type Readiness, readinesses } from '../../src/domain/values.ts'

const sum = (...of: Readiness[]) => sumReadiness(of.map((readiness) => ({ readiness })))

describe('a sum', () => {
  test('of nothing is unknown', () => {
    expect(sum()).toBe('UNKNOWN')
  })

  test('is its worst: FAILED, PENDING, UNKNOWN, READY', () => {
    expect(sum('READY', 'UNKNOWN', 'PENDING', 'FAILED')).toBe('FAILED')
    expect(sum('READY', 'UNKNOWN', 'PENDING')).toBe('PENDING')
    expect(sum('READY', 'UNKNOWN')).toBe('UNKNOWN')
    expect(sum('READY', 'READY')).toBe('READY')
  })

  test('depends neither on order nor on repeats nor on how it is parted', () => {
    const some = fc.array(fc.constantFrom(...readinesses), { minLength: 1 })
    fc.assert(
      fc.property(some, some, (left, right) => {
        expect(sum(...left, ...right)).toBe(sum(...right, ...left))
        expect(sum(...left, ...right)).toBe(sum(sum(...left), sum(...right)))
      }),
    )
  })

  test('reads any iterable once', () => {
    expect(sumReadiness(new Set([{ readiness: 'READY' as const }]).values())).toBe('READY')
  })
})

describe('a resource', () => {
  const standing = (more: Partial<ObjectStatus> = {}): ObjectStatus => ({
    sync: 'APPLIED',
    presence: 'PRESENT',
    showable: true,
    ...more,
  })
  const rows: readonly (readonly [string, Partial<ObjectStatus>, boolean, Readiness, string | null])[] = [
    ['that is there says what its object says', {}, true, 'READY', null],
    ['that only the cluster has takes part, too', { sync: null }, true, 'READY', null],
    ['that is not there is waited for', { presence: 'NOT_PRESENT' }, true, 'PENDING', 'NotPresent'],
    ['of which nothing was received is unknown', { presence: 'UNKNOWN' }, true, 'UNKNOWN', null],
    [
      'that was deleted and is gone is no matter',
      { sync: 'DELETED', presence: 'NOT_PRESENT' },
      false,
      'UNKNOWN',
      'Deleted',
    ],
    ['that was deleted and lingers is no matter', { sync: 'DELETED' }, false, 'READY', null],
    ['that its source cannot show is no matter', { presence: 'UNKNOWN', showable: false }, false, 'UNKNOWN', null],
    [
      'that its source cannot show is never missing',
      { presence: 'NOT_PRESENT', showable: false },
      false,
      'UNKNOWN',
      null,
    ],
    ['that only the cluster had is not missed', { sync: null, presence: 'NOT_PRESENT' }, false, 'UNKNOWN', null],
  ]
  test.each(rows)('%s', (_, more, part, readiness, reason) => {
    expect(isCounted(standing(more))).toBe(part)
    expect(resourceReadiness(standing(more), ready())).toMatchObject({ readiness, reason })
  })

  test('that is there but was never shown whole is unknown', () => {
    expect(resourceReadiness(standing(), null).readiness).toBe('UNKNOWN')
  })
})
