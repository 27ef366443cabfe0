import { describe, expect, it } from 'vitest'
import { stores } from '../support/databases/stores.ts'
import { change, closeAfterEach, head, open } from './harness.ts'

closeAfterEach()

describe.each(stores)('a watched state on $name', (store) => {
  it('begins with the present and goes on with what follows it', async () => {
    const [road] = await open(store)
    const before = await change(road)
    const stream = road.watch({ topics: ['deployment:d-1'] })
    const { value: first } = await stream.next()
    expect(first).toMatchObject({ cursor: before, coalesced: 0, changes: [] })
    expect((await first?.snapshot.head)?.revision).toBe(before)
    first?.release()
    const next = stream.next()
    await change(road, 'another')
    const revision = await change(road)
    const { value: second } = await next
    expect(second?.changes.map((c: { revision: number }) => c.revision)).toEqual([revision])
    expect(second?.cursor).toBeGreaterThanOrEqual(revision)
    expect((await second?.snapshot.head)?.revision).toBe(second?.cursor)
    second?.release()
    await stream.return?.()
  })

  it('merges what it could not tell in time, and says how much', async () => {
    const [road] = await open(store)
    const stream = road.watch({ topics: ['deployment:d-1'] })
    const { value: first } = await stream.next()
    first?.release()
    const revisions = [await change(road), await change(road), await change(road)]
    const { value: second } = await stream.next()
    expect(second).toMatchObject({ coalesced: 2, cursor: revisions.at(-1) })
    expect(second?.changes.map((c: { revision: number }) => c.revision)).toEqual(revisions)
    second?.release()
    await stream.return?.()
  })

  it('never goes back and never says less than its cursor, under load', async () => {
    const [road] = await open(store)
    const stream = road.watch({ topics: ['all'] })
    const events: { cursor: number; revisions: number[] }[] = []
    const following = (async () => {
      for await (const event of stream) {
        events.push({ cursor: event.cursor, revisions: event.changes.map(({ revision }) => revision) })
        event.release()
      }
    })()
    await Promise.all(Array.from({ length: 60 }, (_, n) => change(road, `d-${n % 5}`, `edge-${n % 5}`)))
    const end = await head(road.database)
    await expect.poll(() => events.at(-1)?.cursor).toBe(end)
    const start = events[0]?.cursor ?? 0
    expect(events.flatMap(({ revisions }) => revisions)).toEqual(
      Array.from({ length: end - start }, (_, n) => start + n + 1),
    )
    for (const [index, { cursor, revisions }] of events.entries()) {
      expect(cursor).toBeGreaterThan(events[index - 1]?.cursor ?? 0)
      expect(revisions.at(-1) ?? cursor).toBeLessThanOrEqual(cursor)
    }
    await stream.return?.()
    await following
  })
})
