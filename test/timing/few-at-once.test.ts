import { expect, it } from 'vitest'
import { fewAtOnce } from '../../src/platform/timing/few-at-once.ts'

it('does something with each element, with at most so many at once, also if some fail', async () => {
  const done: number[] = []
  const held: (() => void)[] = []
  let running = 0
  let highest = 0
  const elements = Array.from({ length: 25 }, (_, index) => index)
  const all = fewAtOnce(elements, 4, async (element) => {
    running += 1
    highest = Math.max(highest, running)
    await new Promise<void>((resolve) => held.push(resolve))
    running -= 1
    done.push(element)
    if (element % 3 === 0) throw new Error('refused')
  })
  while (done.length < elements.length) {
    held.shift()?.()
    await new Promise(setImmediate)
  }
  await all
  expect(done.toSorted((a, b) => a - b)).toEqual(elements)
  expect(highest).toBe(4)
  await fewAtOnce([], 4, () => Promise.reject(new Error('nothing is there')))
})
