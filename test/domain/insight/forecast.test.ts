/** Forecasts of simulated rollouts hold what then happened; `npm run bench -- forecast` prints the whole table. */
import { describe, expect, it } from 'vitest'
import { forecast, type Progress, type Steps } from '../../../src/domain/insight/forecast.ts'
import { randomFrom } from '../../../src/domain/insight/random.ts'
import { type Durations, survivalOf } from '../../../src/domain/insight/survival.ts'
import { backTest, summarize } from './back-test.ts'

const ended = (...millis: number[]): Durations[] => millis.map((one) => ({ millis: one, n: 1, isOpen: false }))
const open = (millis: number, n = 1): Durations => ({ millis, n, isOpen: true })
const nothing: Steps = { waits: [], runs: [] }
const some = Array.from({ length: 20 }, (_, index) => 10_000 + index * 500)
const progress = (with_: Partial<Progress>): Progress => ({
  total: 40,
  own: nothing,
  peers: nothing,
  starts: [],
  ...with_,
})
const ask = (of: Partial<Progress>, percent = 100) => forecast(progress(of), percent, randomFrom(1))

describe('a forecast', () => {
  it('holds the truth in 70 to 90 percent of the cases, early and late in a rollout', () => {
    const seeds = Array.from({ length: 8 }, (_, index) => 501 + index)
    const cases = backTest(150, seeds, [0.3, 0.6, 0.9], [70, 90, 100])
    const { held, silent } = summarize(cases)
    expect(held).toBeGreaterThanOrEqual(0.7)
    expect(held).toBeLessThanOrEqual(0.9)
    expect(silent).toBeLessThan(cases.length / 2)
  })

  it('is silent, with the reason, where there is too little', () => {
    expect(ask({})).toEqual({ reason: 'DONE' })
    expect(ask({ own: { waits: [open(5_000, 40)], runs: [] } })).toEqual({ reason: 'NOT_STARTED' })
    expect(ask({ own: { waits: [], runs: [...ended(9_000, 9_500), open(1_000, 3)] } })).toEqual({ reason: 'TOO_FEW' })
    expect(ask({ own: { waits: [], runs: [...ended(...some), open(1_000, 2)] } }, 90)).toEqual({ reason: 'DONE' })
  })

  it('says what it follows from', () => {
    const runs = [...ended(...some), open(3_000, 5)]
    expect(ask({ own: { waits: [], runs } })).toMatchObject({ basis: 'OWN' })
    const peers = { waits: ended(...some), runs: ended(...some) }
    expect(ask({ own: { waits: [open(1_000, 40)], runs: [] }, peers })).toMatchObject({ basis: 'PEERS' })
    expect(ask({ own: { waits: [open(1_000, 5)], runs }, peers })).toMatchObject({ basis: 'BOTH' })
  })

  it('is ordered, later for more, and the same for the same question', () => {
    const of = { own: { waits: [], runs: [...ended(...some), open(3_000, 20)] } }
    const found = [60, 80, 100].map((percent) => ask(of, percent))
    for (const one of found) {
      if (!('at' in one)) throw new Error(one.reason)
      expect(one.low).toBeLessThanOrEqual(one.at)
      expect(one.at).toBeLessThanOrEqual(one.high)
    }
    const medians = found.map((one) => ('at' in one ? one.at : 0))
    expect(medians).toEqual(medians.toSorted((a, b) => a - b))
    expect(ask(of, 60)).toEqual(found[0])
  })

  it('follows the pace of the starts', () => {
    const starts = Array.from({ length: 20 }, (_, index) => (index + 1) * 1_000)
    const runs = ended(...Array.from({ length: 40 }, () => 500))
    const few = ask({ total: 1_000, own: { waits: [open(60_000, 100)], runs }, starts }, 95)
    const many = ask({ total: 1_000, own: { waits: [open(60_000, 800)], runs }, starts }, 95)
    // One starts each second: 50 of 100, and 750 of 800, have to start.
    expect('at' in few && few.at).toBeGreaterThan(30_000)
    expect('at' in few && few.at).toBeLessThan(90_000)
    expect('at' in many && many.at).toBeGreaterThan(450_000)
    expect('at' in many && many.at).toBeLessThan(1_200_000)
  })

  it('is fast for a large rollout', () => {
    const runs = [...ended(...some), ...Array.from({ length: 400 }, (_, index) => open(index * 10, 250))]
    expect(ask({ total: 100_000, own: { waits: [], runs } }, 99)).toMatchObject({ basis: 'OWN' })
  })
})

describe('survival', () => {
  const exactly = (n: number) => n

  it('equals the part that is left where nothing is open', () => {
    const { partAfter } = survivalOf(ended(1, 2, 3, 4), exactly, 2)
    // Half a duration is expected beyond all known ones.
    expect(partAfter(0, 2.5)).toBeCloseTo(2.5 / 4.5)
    expect(partAfter(2.5, 1)).toBeCloseTo(1.5 / 2.5)
  })

  it('is the same in whatever order equal durations are read', () => {
    const tied = Array.from({ length: 12 }, (_, index): Durations => ({ millis: 900, n: index + 1, isOpen: false }))
    const of = (read: readonly Durations[]) => {
      const next = randomFrom(1)
      return survivalOf([...read, ...ended(2_000)], (n) => n * (0.5 + next()), 2).partAfter(0, 1_000)
    }
    expect(of(tied.toReversed())).toBe(of(tied))
  })

  it('counts open steps as at least that long', () => {
    const { partAfter } = survivalOf([...ended(1, 3), open(2, 2)], exactly, 2)
    expect(partAfter(0, 1.5)).toBeCloseTo(3.5 / 4.5)
    expect(partAfter(0, 3)).toBeCloseTo((3.5 / 4.5) * (0.5 / 1.5))
  })
})
