/** How long a snapshot is read from: on the embedded database, reports wait for that long. */
import { afterAll, beforeAll, expect, it } from 'vitest'
import { createRefresher } from '../../src/feed/refresh.ts'
import type { Database } from '../../src/store/database.ts'
import { pglite } from '../support/databases/stores.ts'

const hold = 100
let database: Database
beforeAll(async () => {
  database = await (await pglite.create()).open()
})
afterAll(() => database.close())

/** Streams that take so many milliseconds each, one after another as on one connection. */
async function read({ streams, cost, subscribers = 1, seen }: Reading): Promise<readonly number[]> {
  let now = 0
  const hub = { last: Number.MAX_SAFE_INTEGER, reach: async () => undefined }
  const refresher = createRefresher(database, hub as never, { concurrency: 1, hold, clock: () => now })
  const held = new Map<object, number>()
  const read = async (whose: string): Promise<void> => {
    const { snapshot, release } = await refresher.join(whose, subscribers)
    now += cost
    held.set(snapshot, (held.get(snapshot) ?? 0) + cost)
    seen?.()
    await Promise.resolve()
    release()
  }
  await Promise.all(Array.from({ length: streams }, (_, n) => read(`caller ${n % 3}`)))
  return [...held.values()]
}

interface Reading {
  readonly streams: number
  readonly cost: number
  readonly subscribers?: number
  /** Called when a stream has read. */
  readonly seen?: () => void
}

it('is bounded when each stream reads for long: only the first portion exceeds it', async () => {
  const [first = 0, ...others] = await read({ streams: 200, cost: 40 })
  expect(first).toBe(32 * 40)
  // What has begun when the time is over is a portion of two.
  for (const time of others) expect(time).toBeLessThanOrEqual(hold + 2 * 40)
})

it('is one stream when one alone takes longer', async () => {
  const [, ...others] = await read({ streams: 50, cost: 1_000 })
  expect(others.every((time) => time === 1_000)).toBe(true)
})

it('takes ever more streams at once while they are cheap', async () => {
  expect(await read({ streams: 3_000, cost: 0.01 })).toHaveLength(1)
})

it('counts the subscribers of a stream, which may each read something else', async () => {
  const [first] = await read({ streams: 200, cost: 80, subscribers: 16 })
  expect(first).toBe(2 * 80)
})

it('ends when a report waits: the report is written after the portion that is being read', async () => {
  let hasRead = 0
  let before: number | null = null
  let written: Promise<void> | null = null
  const seen = (): void => {
    hasRead += 1
    written ??= database.transaction(async () => {
      before = hasRead
    })
  }
  await read({ streams: 500, cost: 0.01, seen })
  await written
  expect(before).toBe(32)
  expect(hasRead).toBe(500)
})
