/** The index of alert rules finds every rule that a scope concerns, and few others. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type AlertRule, alertMetrics, alertUnits, evaluate, type Measure } from '../../../src/domain/alerts/alert.ts'
import { zeroCounters } from '../../../src/domain/counters.ts'
import { createRuleIndex } from '../../../src/ingest/alerts/rule-index.ts'
import type { StoredRule } from '../../../src/store/alerts/rows.ts'

const now = 1_800_000_000_000

function stored(key: number, rule: Partial<AlertRule>): StoredRule {
  return {
    key,
    name: `rule ${key}`,
    version: 1,
    origin: 'API',
    rule: {
      ...{ metric: 'FAILED', unit: 'COUNT', threshold: 1, resolveThreshold: 1, forSeconds: 0, minimum: 1 },
      ...{ description: null, perRollout: true, severity: 'WARNING', labels: [], runbookUrl: null },
      ...rule,
    },
    selector: { given: {}, filter: {} },
    enabled: true,
    deleted: false,
    createdAt: now,
    updatedAt: now,
  }
}

const few = fc.integer({ min: 0, max: 3 })
const counters = fc
  .record({ pending: few, installing: few, installed: few, failed: few, convergenceStale: few })
  .map((some) => ({ ...zeroCounters(), ...some }))
const measure: fc.Arbitrary<Measure> = fc.record({
  counters,
  stalled: few,
  offline: few,
  changedAt: fc.option(few.map((seconds) => now - seconds * 1_000)),
  end: fc.constant(null),
})
const rule = fc.record({
  metric: fc.constantFrom(...alertMetrics),
  unit: fc.constantFrom(...alertUnits),
  threshold: fc.constantFrom(-1, 0, 1, 2, 33, 50, 100),
  minimum: fc.constantFrom(1, 4),
  forSeconds: fc.constantFrom(0, 60),
})

describe('the index of alert rules', () => {
  it('leaves out only rules without any result', () => {
    fc.assert(
      fc.property(fc.array(rule, { maxLength: 20 }), measure, fc.array(few), (rules, numbers, standing) => {
        const all = rules.map((one, key) => stored(key, one))
        const concerned = createRuleIndex(all).concerned(numbers, standing, now)
        for (const one of all) {
          if (standing.includes(one.key)) expect(concerned).toContain(one)
          if (concerned.has(one)) continue
          const { act, dueAt } = evaluate(one.rule, numbers, { isFiring: false, breachedSince: null }, now)
          expect([one.rule, act, dueAt]).toEqual([one.rule, null, null])
        }
      }),
    )
  })

  it('finds those that are breached or stand, among a thousand', () => {
    const rules = Array.from({ length: 1_000 }, (_, key) => stored(key, { threshold: key + 1 }))
    const index = createRuleIndex(rules)
    const failed = (count: number): Measure => ({
      ...{ stalled: 0, offline: 0, changedAt: now, end: null },
      counters: { ...zeroCounters(), failed: count },
    })
    const keysOf = (numbers: Measure, standing: readonly number[]): number[] =>
      [...index.concerned(numbers, standing, now)].map(({ key }) => key)
    expect(keysOf(failed(0), [])).toEqual([])
    expect(keysOf(failed(3), [700])).toEqual([0, 1, 2, 700])
  })
})
