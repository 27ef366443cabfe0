/** Changes to subscribers: live, resumed, filtered, and from several replicas. */
import fc from 'fast-check'
import { describe, expect, it, vi } from 'vitest'
import type { ChangeFilter } from '../../src/domain/nouns/change.ts'
import type { FeedEvent } from '../../src/feed/event-queue.ts'
import type { Topic } from '../../src/feed/hub.ts'
import { beginEpoch } from '../../src/store/connection/epoch.ts'
import type { Database } from '../../src/store/database.ts'
import { readLog } from '../../src/store/read/changes/changes.ts'
import { pruneHistory } from '../../src/store/write/retention.ts'
import { everyStore, postgresStores } from '../support/databases/stores.ts'
import { someOf } from '../support/runner/depth.ts'
import { createRoad } from '../support/servers/road.ts'
import { change, closeAfterEach, closing, cursors, head, open, take, takeUntil } from './harness.ts'

closeAfterEach()

describe.each(everyStore)('changes on $name', (store) => {
  it('begin now, and each comes once', async () => {
    const [road] = await open(store)
    await change(road)
    const stream = road.changes({ filter: {}, after: null })
    const first = stream.next()
    // It has attached when it begins to wait; what follows is certainly after it.
    await expect.poll(() => road.feed.hub.size).toBe(2)
    const revision = await change(road)
    expect((await first).value).toMatchObject({ cursor: revision, reset: null, change: { revision } })
    await stream.return?.()
  })

  it('resumed at any revision, in any pieces, are those of a subscriber who never left', async () => {
    const [road] = await open(store)
    const start = await head(road.database)
    for (let n = 0; n < 20; n += 1) await change(road, `d-${n % 3}`)
    const end = await head(road.database)
    const uncut = await takeUntil(road.changes({ filter: {}, after: start }), end)
    expect(cursors(uncut)).toEqual(Array.from({ length: end - start }, (_, n) => start + n + 1))
    await fc.assert(
      fc.asyncProperty(fc.array(fc.integer({ min: 1, max: 7 })), async (pieces) => {
        const seen: FeedEvent[] = []
        for (const piece of [...pieces, Number.POSITIVE_INFINITY]) {
          const after = seen.at(-1)?.cursor ?? start
          const stream = road.changes({ filter: {}, after })
          seen.push(...(await take(stream, Math.min(piece, end - after))))
          await stream.return?.()
        }
        expect(seen).toEqual(uncut)
      }),
      { numRuns: someOf(8, 20) },
    )
  })

  it.each<readonly [filter: ChangeFilter, topic: Topic]>([
    [{ deploymentIds: ['d-1'], rolloutKeys: [7] }, 'deployment:d-1'],
    [{ kinds: [], where: { deviceIds: ['edge-1'] } }, 'device:edge-1'],
    [{ rolloutKeys: [7], where: { and: [{ and: [{ instanceIds: ['run'] }] }] } }, 'instance:run'],
    [{ where: { and: [{ rolloutKeys: [7] }, { not: { deviceIds: ['edge-1'] } }] } }, 'rollout:7'],
    [{ where: { or: [{ rolloutKeys: [7] }] } }, 'all'],
    [{ where: { not: { not: { rolloutKeys: [7] } } } }, 'all'],
  ])('with the filter %j are taken from the topic %s', async (filter, topic) => {
    const [road] = await open(store)
    const subscribe = vi.spyOn(road.feed.hub, 'subscribe')
    const stream = road.changes({ filter, after: null })
    const first = stream.next()
    await expect.poll(() => subscribe.mock.calls.length).toBe(1)
    expect(subscribe.mock.calls[0]?.[0].topics).toEqual([topic])
    await stream.return?.()
    await first
  })

  it('that match a filter are the same from memory, from the log and live', async () => {
    const [road] = await open(store)
    const filter: ChangeFilter = { deploymentIds: ['d-1'], to: ['FAILED', 'INSTALLED'] }
    const start = await head(road.database)
    const live = road.changes({ filter, after: start })
    const got: FeedEvent[] = []
    const following = (async () => {
      for await (const event of live) got.push(event)
    })()
    for (let n = 0; n < 24; n += 1) await change(road, `d-${n % 2}`)
    const end = await head(road.database)
    const log = (await readLog(road.database.session, start, 1_000)).filter(
      (c) =>
        c.deploymentId === 'd-1' &&
        c.kind === 'DEPLOYMENT_STATE_CHANGED' &&
        (c.to === 'FAILED' || c.to === 'INSTALLED'),
    )
    await expect.poll(() => got.length).toBe(log.length)
    const again = await take(road.changes({ filter, after: start }), log.length)
    expect(cursors(got)).toEqual(log.map(({ revision }) => revision))
    expect(again.map((event) => event.change)).toEqual(log)
    expect(log.length).toBeGreaterThan(0)
    expect(end).toBeGreaterThan(start)
    await live.return?.()
    await following
  })

  it('behind the tail get a reset, and all retained changes follow', async () => {
    const [road] = await open(store)
    const start = await head(road.database)
    for (let n = 0; n < 4; n += 1) await change(road)
    expect(await pruneHistory(road.database, Date.now() + 1_000, 2)).toBeGreaterThan(0)
    const [{ tail = 0 } = {}] = await road.database.session.run<{ tail: number }>('select tail from log_head')
    expect(tail).toBeGreaterThan(start)
    const end = await change(road)
    const [reset, ...rest] = await takeUntil(road.changes({ filter: {}, after: start }), end)
    expect(reset).toEqual({ cursor: tail, change: null, reset: 'CURSOR_EXPIRED' })
    expect(cursors(rest)).toEqual(Array.from({ length: end - tail }, (_, n) => tail + n + 1))
  })

  it("above the database's head get a reset", async () => {
    const [road] = await open(store)
    const start = await head(road.database)
    const end = await change(road)
    const events = await takeUntil(road.changes({ filter: {}, after: end + 1_000_000 }), end)
    expect(events[0]).toEqual({ cursor: start, change: null, reset: 'CURSOR_EXPIRED' })
    expect(events.at(-1)?.cursor).toBe(end)
  })

  it('of another epoch get a reset, and those up to its end continue without one', async () => {
    const [road] = await open(store)
    const ended = await change(road)
    const live = road.changes({ filter: {}, after: ended })
    const next = live.next()
    await expect.poll(() => road.feed.hub.size).toBe(2)
    const base = await road.database.transaction((session) => beginEpoch(session, Date.now()))
    const revision = await change(road)
    expect((await next).value).toMatchObject({ cursor: revision, reset: null })
    const lost = await takeUntil(road.changes({ filter: {}, after: ended + 1 }), revision)
    expect(lost[0]).toEqual({ cursor: base, change: null, reset: 'CURSOR_EXPIRED' })
    expect(cursors(lost.slice(1))).toEqual([revision])
    const resumed = await takeUntil(road.changes({ filter: {}, after: ended - 1 }), revision)
    expect(cursors(resumed)).toEqual([ended, revision])
    await live.return?.()
  })

  it('of several epochs ago go on through each of them', async () => {
    const [road] = await open(store)
    const ended = await change(road)
    const revisions: number[] = []
    for (let epoch = 0; epoch < 3; epoch += 1) {
      await road.database.transaction((session) => beginEpoch(session, Date.now()))
      // One of them remains empty.
      if (epoch !== 1) revisions.push(await change(road), await change(road))
    }
    const resumed = await takeUntil(road.changes({ filter: {}, after: ended - 1 }), revisions.at(-1) ?? 0)
    expect(cursors(resumed)).toEqual([ended, ...revisions])
  })

  it('that are not read end with OVERFLOW at the last delivered one, and resume from there', async () => {
    const [road] = await open(store, { capacity: 5 })
    const stream = road.changes({ filter: {}, after: null })
    const first = stream.next()
    await expect.poll(() => road.feed.hub.size).toBe(2)
    const delivered = await change(road)
    await first
    for (let n = 0; n < 8; n += 1) await change(road)
    await expect.poll(async () => road.feed.hub.last).toBe(await head(road.database))
    // The hub may have read the last ones from the log together. Only more of them are too many.
    await change(road)
    const end = await head(road.database)
    // Otherwise the stream could take the first changes before the last ones arrive, and nothing overflows.
    await expect.poll(() => road.feed.hub.last).toBe(end)
    expect(await take(stream, 9)).toEqual([{ cursor: delivered, change: null, reset: 'OVERFLOW' }])
    const resumed = await takeUntil(road.changes({ filter: {}, after: delivered }), end)
    expect(cursors(resumed)).toEqual(Array.from({ length: end - delivered }, (_, n) => delivered + n + 1))
  })

  it('of a quiet filtered subscriber move its cursor by bookmarks', async () => {
    const [road] = await open(store, { bookmarkInterval: 5 })
    const stream = road.changes({ filter: { deploymentIds: ['quiet'] }, after: null })
    const first = stream.next()
    await expect.poll(() => road.feed.hub.size).toBe(2)
    const revision = await change(road, 'loud')
    expect((await first).value).toEqual({ cursor: revision, change: null, reset: null })
    await stream.return?.()
  })

  it('leave no listener behind, in whatever state they were left', async () => {
    const [road] = await open(store)
    const start = await head(road.database)
    await change(road)
    const unread = road.changes({ filter: {}, after: start })
    const waiting = road.changes({ filter: {}, after: null })
    const pending = waiting.next()
    const watching = road.watch({ topics: ['all'] })
    const present = await watching.next()
    present.value?.release()
    const idle = watching.next()
    await expect.poll(() => road.feed.hub.size).toBe(3)
    for (const stream of [unread, waiting, watching]) await stream.return?.()
    expect(await pending).toEqual({ done: true, value: undefined })
    expect(await idle).toEqual({ done: true, value: undefined })
    // The backlog's own subscription stays.
    expect(road.feed.hub.size).toBe(1)
    expect(road.feed.subscribers).toMatchObject({ changes: 0, states: 0 })
  })

  it('that a crowd has missed are read once for all of them', async () => {
    const empty = await store.create()
    closing.push(() => empty.drop())
    const writing = await createRoad(await empty.open())
    const start = await head(writing.database)
    if (store.name === 'PGlite') closing.push(() => writing.close())
    for (let n = 0; n < 30; n += 1) await change(writing)
    const end = await head(writing.database)
    if (store.name === 'PostgreSQL') await writing.close()
    const database = store.name === 'PGlite' ? writing.database : await empty.open()
    let [reads, ranges] = [0, 0]
    const { promise: allHaveCome, resolve: come } = Promise.withResolvers<void>()
    const counted = {
      ...database,
      session: {
        ...database.session,
        run: (async (text, parameters) => {
          if (text.includes('epochs')) {
            ranges += 1
            await allHaveCome
          }
          return database.session.run(text, parameters)
        }) as Database['session']['run'],
        rows: ((query) => {
          reads += 1
          return database.session.rows(query)
        }) as Database['session']['rows'],
      },
    }
    const road = await createRoad(counted)
    closing.push(() => (store.name === 'PGlite' ? Promise.resolve(road.feed.close()) : road.close()))
    const group = Array.from({ length: 200 }, () => road.changes({ filter: {}, after: start }))
    const taking: Promise<FeedEvent[]>[] = []
    for (const stream of group) {
      taking.push(takeUntil(stream, end))
      await new Promise((resolve) => setImmediate(resolve))
    }
    come()
    const histories = await Promise.all(taking)
    for (const history of histories) expect(cursors(history)).toEqual(cursors(histories[0] ?? []))
    expect(histories[0]).toHaveLength(end - start)
    expect(reads).toBeLessThanOrEqual(10)
    // A query that began after a caller arrived may answer it. So callers that arrive during the first query share the second.
    expect(ranges).toBe(2)
    await Promise.all(group.map((stream) => stream.return?.()))
  })
})

describe.each(everyStore)('a feed that closes on $name', (store) => {
  it('says of no stream that it is complete, also of one that begins later', async () => {
    const [road] = await open(store)
    const changes = road.changes({ filter: {}, after: null })
    const states = road.watch({ topics: ['all'] })
    const { value: present } = await states.next()
    present?.release()
    const waiting = [changes.next(), states.next()]
    await expect.poll(() => road.feed.hub.size).toBe(3)
    road.feed.close()
    const late = road.changes({ filter: {}, after: null })
    for (const next of [...waiting, late.next()]) await expect(next).rejects.toMatchObject({ code: 'UNAVAILABLE' })
    await late.return()
    expect(road.feed.hub.size).toBe(1)
    expect(road.feed.subscribers).toMatchObject({ changes: 0, states: 0 })
  })
})

describe.each(postgresStores)('two replicas on $name', (store) => {
  it('deliver the same changes in the same order, on every replica', async () => {
    const [one, other] = await open(store, {}, 2)
    const second = other ?? expect.unreachable()
    const start = await head(one.database)
    const streams = [one, second].map((road) => road.changes({ filter: {}, after: start }))
    await Promise.all(Array.from({ length: 40 }, (_, n) => change(n % 2 ? one : second, `d-${n}`, `edge-${n}`)))
    const end = await head(one.database)
    const [a = [], b = []] = await Promise.all(streams.map((stream) => takeUntil(stream, end)))
    expect(cursors(a)).toEqual(Array.from({ length: end - start }, (_, n) => start + n + 1))
    expect(b).toEqual(a)
    await Promise.all(streams.map((stream) => stream.return?.()))
  })
})
