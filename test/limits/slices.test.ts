import { expect, it } from 'vitest'
import { paced } from '../../src/platform/limits/pace.ts'
import { createSlices } from '../../src/platform/limits/slices.ts'

/** Turns of the event loop by hand. */
function createLoop() {
  const scheduled: (() => void)[] = []
  return {
    schedule: (run: () => void) => void scheduled.push(run),
    async turn(): Promise<void> {
      for (const run of scheduled.splice(0)) run()
      await new Promise<void>((resolve) => setImmediate(resolve))
    },
    get isIdle() {
      return scheduled.length === 0
    },
  }
}

it('lets go on at once what there is room for, and the rest in later turns, in order', async () => {
  const loop = createLoop()
  const slices = createSlices(10, loop.schedule)
  const done: number[] = []
  for (let n = 0; n < 12; n += 1) {
    const turn = slices.enter('a', 4)
    if (turn) void turn.then(() => done.push(n))
    else done.push(n)
  }
  expect(done).toEqual([0, 1, 2])
  expect(slices.waits()).toBe(9)
  await loop.turn()
  expect(done).toEqual([0, 1, 2, 3, 4, 5])
  await loop.turn()
  expect(done).toHaveLength(9)
  await loop.turn()
  expect(done).toEqual(Array.from({ length: 12 }, (_, n) => n))
  await loop.turn()
  expect(loop.isIdle).toBe(true)
})

it('asks for a later turn only when half of the room is spent', async () => {
  const loop = createLoop()
  const slices = createSlices(10, loop.schedule)
  slices.enter('a', 4)
  expect(loop.isIdle).toBe(true)
  slices.enter('a', 1)
  expect(loop.isIdle).toBe(false)
  await loop.turn()
  expect(loop.isIdle).toBe(true)
  expect(slices.enter('a', 9)).toBeUndefined()
  expect(slices.enter('a', 1)).toBeUndefined()
  expect(slices.enter('a', 1)).toBeInstanceOf(Promise)
})

it('what goes on takes its share of the turn, whatever it executes then', async () => {
  const loop = createLoop()
  const slices = createSlices(10, loop.schedule)
  slices.enter('a', 10)
  const done: string[] = []
  void slices.enter('a', 1)?.then(() => {
    done.push('first')
    slices.enter('a', 100)
  })
  void slices.enter('a', 1)?.then(() => done.push('second'))
  await loop.turn()
  expect(done).toEqual(['first'])
  await loop.turn()
  expect(done).toEqual(['first', 'second'])
})

it('serves callers by turns, however much one of them has waiting', async () => {
  const loop = createLoop()
  const slices = createSlices(10, loop.schedule)
  slices.enter('greedy', 10)
  const done: string[] = []
  const wait = (whose: string): void => void slices.enter(whose, 1)?.then(() => done.push(whose))
  for (let n = 0; n < 5_000; n += 1) wait('greedy')
  for (const whose of ['modest', 'modest', 'other']) wait(whose)
  await loop.turn()
  expect(done.slice(0, 5)).toEqual(['greedy', 'modest', 'other', 'greedy', 'modest'])
  expect(done).toHaveLength(10)
  for (let n = 0; n < 500; n += 1) await loop.turn()
  expect(done).toHaveLength(5_003)
})

it('paced work uses up a turn for each of its slices, and operations come between', async () => {
  const loop = createLoop()
  const slices = createSlices(10, loop.schedule)
  const done: string[] = []
  function* work(name: string) {
    for (let slice = 0; slice < 2; slice += 1) {
      const until = performance.now() + 11
      while (performance.now() < until);
      done.push(name)
      yield undefined
    }
  }
  void paced(work('body 1'), slices)
  void paced(work('body 2'), slices)
  expect(done).toEqual(['body 1', 'body 2'])
  await loop.turn()
  expect(done).toEqual(['body 1', 'body 2', 'body 1'])
  void slices.enter('a', 4)?.then(() => done.push('operation'))
  await loop.turn()
  await loop.turn()
  expect(done.slice(3).toSorted()).toEqual(['body 2', 'operation'])
})

it('ends paced work whose caller has left before its next slice', async () => {
  const gone = new AbortController()
  function* endless(): Generator<undefined, never, undefined> {
    for (;;) {
      gone.abort(new Error('too late'))
      yield
    }
  }
  await expect(paced(endless(), createSlices(), 'a', gone.signal)).rejects.toThrow('too late')
})
