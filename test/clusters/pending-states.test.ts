import { describe, expect, it } from 'vitest'
import { readCustomResource } from '../../src/ingest/clusters/custom-resource.ts'
import { createPendingStates, type PendingStatesLimits } from '../../src/ingest/clusters/pending-states.ts'
import { atOnce } from '../../src/platform/limits/pace.ts'
import { bundle } from '../support/systems/emco.ts'
import { showing } from './harness.ts'

function open(limits: PendingStatesLimits) {
  let now = 0
  let dropped = 0
  const room = createPendingStates(
    () => now,
    (count) => {
      dropped += count
    },
    limits,
  )
  const one = (label: string, ...names: readonly string[]) => {
    const object = bundle(label, showing(...names))
    const read = atOnce(readCustomResource(object, JSON.stringify(object).length))
    if (!read) throw new Error('it has no instance')
    return read
  }
  return {
    room,
    one,
    keep: (label: string, ...names: readonly string[]) => room.keep(one(label, ...names)),
    labels: () => room.ofContext('1').map(({ label }) => label),
    pass: (ms: number) => {
      now += ms
    },
    get dropped() {
      return dropped
    },
  }
}

describe('the waiting room', () => {
  it('has one place for each label, and a limit: the oldest is dropped first', () => {
    const waiting = open({ most: 2 })
    for (const label of ['1-a', '1-b', '1-a', '1-c']) waiting.keep(label)
    expect(waiting.labels()).toEqual(['1-b', '1-c'])
    expect(waiting.dropped).toBe(1)
  })

  it('holds so much and not more, and knows when there is room again', () => {
    const { size } = open({}).one('1-a', 'x')
    const waiting = open({ heaviest: 2.5 * size })
    waiting.keep('1-a', 'x')
    waiting.keep('1-b', 'x')
    waiting.keep('1-b', 'y')
    expect(waiting.dropped).toBe(0)
    waiting.room.forget('1-a')
    waiting.keep('1-c', 'x')
    expect(waiting.dropped).toBe(0)
    waiting.keep('1-d', 'x')
    expect(waiting.labels()).toEqual(['1-c', '1-d'])
    waiting.keep('1-e', ...Array.from({ length: 100 }, (_, index) => `n${index}`))
    expect(waiting.labels()).toEqual([])
    expect(waiting.dropped).toBe(4)
  })

  it('calls again after ever longer pauses, and sends away who has waited too long', () => {
    const waiting = open({ backOff: { first: 10, longest: 40 }, longest: 1_000 })
    waiting.keep('1-a', 'x')
    const pauses: number[] = []
    for (let tries = 0, since = 0; tries < 5; since += 1) {
      waiting.pass(1)
      const [due] = waiting.room.due()
      if (!due) continue
      pauses.push(since + 1)
      since = -1
      tries += 1
      waiting.room.keep(due)
    }
    for (const [index, [least, most]] of [
      [5, 10],
      [10, 20],
      [20, 40],
      [20, 40],
      [20, 40],
    ].entries()) {
      expect(pauses[index]).toBeGreaterThanOrEqual(least ?? 0)
      expect(pauses[index]).toBeLessThanOrEqual(most ?? 0)
    }
    waiting.pass(1_000)
    expect(waiting.room.due()).toEqual([])
    expect([waiting.room.size, waiting.dropped]).toEqual([0, 1])
  })
})
