import fc from 'fast-check'
import { expect, it } from 'vitest'
import { createFairQueue } from '../../src/platform/limits/fair-queue.ts'

it('gives each caller’s in order, and callers by turns', () => {
  const queue = createFairQueue<number>()
  for (let n = 0; n < 3_000; n += 1) queue.add('greedy', n)
  queue.add('modest', 0)
  expect([queue.take(), queue.take(), queue.take()]).toEqual([
    { whose: 'greedy', item: 0 },
    { whose: 'modest', item: 0 },
    { whose: 'greedy', item: 1 },
  ])
  expect(queue.size()).toBe(2_998)
})

it('loses nothing and doubles nothing, whatever comes and goes', () => {
  const steps = fc.array(fc.option(fc.constantFrom('a', 'b', 'c'), { freq: 2 }), { maxLength: 5_000, size: 'max' })
  fc.assert(
    fc.property(steps, (all) => {
      const queue = createFairQueue<number>()
      const waiting = new Map<string, number[]>()
      for (const [item, whose] of all.entries()) {
        if (whose !== null) {
          queue.add(whose, item)
          waiting.set(whose, [...(waiting.get(whose) ?? []), item])
        } else {
          const taken = queue.take()
          if (taken) expect(taken.item).toBe(waiting.get(taken.whose)?.shift())
          else expect([...waiting.values()].flat()).toEqual([])
        }
      }
      expect(queue.size()).toBe([...waiting.values()].flat().length)
    }),
    { numRuns: 30 },
  )
})
