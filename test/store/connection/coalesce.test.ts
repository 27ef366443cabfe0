import { expect, it, vi } from 'vitest'
import { coalesce, coalesceByKey } from '../../../src/store/connection/coalesce.ts'

/** Work that ends when the test says so. */
function createWork() {
  const runs: PromiseWithResolvers<number>[] = []
  const work = vi.fn(() => {
    const run = Promise.withResolvers<number>()
    runs.push(run)
    return run.promise
  })
  return { work, end: (run: number) => runs[run]?.resolve(run), fail: (run: number) => runs[run]?.reject(new Error()) }
}

it('runs the work once more for all callers that arrive during a run', async () => {
  const { work, end } = createWork()
  const ask = coalesce(work)
  const first = ask()
  const later = [ask(), ask(), ask()]
  expect(work).toHaveBeenCalledTimes(1)
  end(0)
  expect(await first).toBe(0)
  await expect.poll(() => work.mock.calls.length).toBe(2)
  expect(ask.running()).not.toBeNull()
  end(1)
  expect(await Promise.all(later)).toEqual([1, 1, 1])
  expect([work.mock.calls.length, ask.running()]).toEqual([2, null])
})

it('begins no run beside the one that is due', async () => {
  const { work, end } = createWork()
  const ask = coalesce(work)
  const results = [ask(), ask()]
  end(0)
  while (ask.running() !== null) await null
  expect(ask.isIdle()).toBe(false)
  results.push(ask())
  await results[0]
  await expect.poll(() => work.mock.calls.length).toBeGreaterThan(1)
  expect(work.mock.calls.length).toBe(2)
  end(1)
  expect(await Promise.all(results)).toEqual([0, 1, 1])
  expect(ask.isIdle()).toBe(true)
})

it('gives the error of a run to the callers of that run only', async () => {
  const { work, end, fail } = createWork()
  const ask = coalesce(work)
  const [first, second] = [ask(), ask()]
  fail(0)
  await expect(first).rejects.toThrow()
  await expect.poll(() => work.mock.calls.length).toBe(2)
  end(1)
  expect(await second).toBe(1)
})

it('shares a run among the callers with the same key, until it is over', async () => {
  const { work, end } = createWork()
  const ask = coalesceByKey<number>()
  const results = [ask('a', work), ask('b', work), ask('a', work)]
  end(0)
  end(1)
  expect(await Promise.all(results)).toEqual([0, 1, 0])
  const again = ask('a', work)
  end(2)
  expect(await again).toBe(2)
})
