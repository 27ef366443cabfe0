/** Rules that compare the forecast of a rollout's end. */
import { describe, expect, it } from 'vitest'
import { type AlertCondition, evaluate, type Measure, summarize } from '../../src/domain/alerts/alert.ts'
import type { Ending } from '../../src/domain/alerts/ending.ts'
import { zeroCounters } from '../../src/domain/counters.ts'

const now = 1_800_000_000_000
const fresh = { isFiring: false, breachedSince: null }
const firing = { isFiring: true, breachedSince: null }

const left: AlertCondition = {
  ...{ metric: 'TIME_LEFT', unit: 'COUNT', threshold: 3_600, resolveThreshold: 3_000, forSeconds: 0, minimum: 1 },
}
const delay: AlertCondition = { ...left, metric: 'DELAY', threshold: 0, resolveThreshold: -60, deadline: now + 600_000 }

function ending(end: Ending, changedAt = now): Measure {
  return { counters: { ...zeroCounters(), installing: 1 }, stalled: 0, offline: 0, changedAt, end }
}

describe('a rule with a forecast', () => {
  it('raises an alert from its time left, and resolves it below the resolve threshold', () => {
    expect(evaluate(left, ending(now + 3_599_000), fresh, now)).toMatchObject({ act: null, value: 3_599 })
    expect(evaluate(left, ending(now + 3_600_000), fresh, now)).toMatchObject({ act: 'RAISE', value: 3_600 })
    expect(evaluate(left, ending(now + 3_100_000), firing, now)).toMatchObject({ act: null, value: 3_100 })
    expect(evaluate(left, ending(now + 2_999_000), firing, now)).toMatchObject({ act: 'RESOLVE', value: 2_999 })
    expect(evaluate(left, ending(null), firing, now)).toMatchObject({ act: 'RESOLVE', value: null, dueAt: null })
  })

  it('compares the end with a deadline, which may be earlier', () => {
    expect(evaluate(delay, ending(now + 500_000), fresh, now)).toMatchObject({ act: null, value: -100 })
    expect(evaluate(delay, ending(now + 600_000), fresh, now)).toMatchObject({ act: 'RAISE', value: 0 })
    expect(evaluate(delay, ending(now + 550_000), firing, now)).toMatchObject({ act: null, value: -50 })
    expect(evaluate(delay, ending(now + 500_000), firing, now)).toMatchObject({ act: 'RESOLVE', value: -100 })
  })

  it('neither raises nor resolves without a forecast, unless the deadline has passed', () => {
    expect(evaluate(left, ending('UNKNOWN'), fresh, now)).toMatchObject({ act: null, value: null })
    expect(evaluate(left, ending('UNKNOWN'), firing, now)).toMatchObject({ act: null, value: null })
    expect(evaluate(delay, ending('UNKNOWN'), firing, now)).toMatchObject({ act: null, value: null })
    expect(evaluate(delay, ending('UNKNOWN'), fresh, now + 605_000)).toMatchObject({ act: 'RAISE', value: 5 })
  })

  it('is due again after a minute, at its deadline, and later where nothing changes', () => {
    const dueIn = (condition: AlertCondition, measure: Measure, at = now, standing = fresh): number | null => {
      const { dueAt } = evaluate(condition, measure, standing, at)
      return dueAt === null ? null : (dueAt - at) / 1_000
    }
    expect(dueIn(left, ending(now + 1_000))).toBe(60)
    expect(dueIn(left, ending(now + 9_000_000), now, firing)).toBe(60)
    expect(dueIn(left, ending('UNKNOWN', now - 1_200_000))).toBe(120)
    expect(dueIn(left, ending('UNKNOWN', now - 86_400_000_000))).toBe(3_600)
    expect(dueIn(delay, ending('UNKNOWN'), now + 570_000)).toBe(30)
    expect(dueIn(delay, ending(null))).toBeNull()
    expect(dueIn({ ...left, forSeconds: 20 }, ending(now + 9_000_000))).toBe(20)
    expect(dueIn({ ...left, threshold: 1e308 }, ending(now + 9_000_000))).toBe(60)
  })

  it('has a summary in seconds', () => {
    expect(summarize({ ...left, value: 4_000 })).toBe('Time left: 4000 s (threshold 3600 s)')
    expect(summarize({ ...delay, value: 12 })).toBe('Delay: 12 s (threshold 0 s)')
  })
})
