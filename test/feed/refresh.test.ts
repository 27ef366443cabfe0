/** How long a snapshot is read from: on the embedded database, reports wait for that long. */
import { afterAll, beforeAll, expect, it } from 'vitest'
import { createRefresher } from '../../src/feed/refresh.ts'
import type { Database } from '../../src/store/database.ts'
import { stores } from '../support/stores.ts'

const embedded = stores.find(({ name }) => name === 'PGlite')
const hold = 100
let database: Database
beforeAll(async () => {
  if (!embedded) throw new Error('PGlite is not under test')
  database = await (await embedded.create()).open()
})
afterAll(() => database.close())

/** Streams that take so many milliseconds each; the milliseconds for which each snapshot was held. */
async function read(streams: number, cost: number): Promise<readonly number[]> {
  let now = 0
  const hub = { last: Number.MAX_SAFE_INTEGER, reach: async () => undefined }
  const refresher = createRefresher(database, hub as never, { concurrency: 1, hold, clock: () => now })
  const held = new Map<object, number>()
  const read = async (whose: string): Promise<void> => {
    const { snapshot, release } = await refresher.join(whose)
    // One after another, as on one connection.
    now += cost
    held.set(snapshot, (held.get(snapshot) ?? 0) + cost)
    await Promise.resolve()
    release()
  }
  await Promise.all(Array.from({ length: streams }, (_, n) => read(`caller ${n % 3}`)))
  return [...held.values()]
}

it('is bounded when each stream reads for long: only the first portion exceeds it', async () => {
  const [first = 0, ...others] = await read(200, 40)
  expect(first).toBe(32 * 40)
  // What has begun when the time is over is a portion of two.
  for (const time of others) expect(time).toBeLessThanOrEqual(hold + 2 * 40)
})

it('is one stream when one alone takes longer', async () => {
  const [, ...others] = await read(50, 1_000)
  expect(others.every((time) => time === 1_000)).toBe(true)
})

it('takes ever more streams at once while they are cheap', async () => {
  expect(await read(3_000, 0.01)).toHaveLength(1)
})
