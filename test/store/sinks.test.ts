import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { recordReport } from '../../src/ingest/commands/report.ts'
import { beginEpoch } from '../../src/store/connection/epoch.ts'
import { readHead } from '../../src/store/connection/log-head.ts'
import { noteDelivery, pageDeliveries, wantDelivery, wantedDeliveries } from '../../src/store/sinks/deliveries.ts'
import { marksOf, writeMarks } from '../../src/store/sinks/sink-marks.ts'
import { holdSinks, moveCursor, noteAttempt, releaseSinks } from '../../src/store/sinks/sink-progress.ts'
import { changeSink, createSink, deleteSink, lagsOf, listSinkStates, sinksByKey } from '../../src/store/sinks/sinks.ts'
import { report } from '../support/clients/reports.ts'
import { everyStore } from '../support/databases/stores.ts'
import { createEmptyRoad, type Road } from '../support/servers/road.ts'

describe.each(everyStore)('sinks on $name', (store) => {
  let road: Road
  beforeAll(async () => {
    road = await createEmptyRoad(store)
  })
  afterAll(() => road.close())

  const session = () => road.database.session
  const make = async (name: string, cursor = 0) => {
    const sink = { kind: 'WEBHOOK', name, instanceKey: null, url: 'https://hook.example', secret: null } as const
    return (await createSink(session(), { ...sink, filter: {}, settings: {}, cursor }, Date.now())).key
  }
  const send = (sinkKey: number, n: number, kept: number) => {
    const outcome = { revision: n, body: '{}', lastStatus: 200, lastError: null }
    return noteDelivery(session(), { sinkKey, eventId: `event-${n}`, ...outcome }, Date.now(), kept)
  }
  const whole = { size: 100, after: null, before: null, backward: false }
  const kept = async (sinkKey: number) =>
    (await pageDeliveries(session(), [sinkKey], whole)).get(sinkKey)?.edges.map(({ node }) => node) ?? []
  const sent = async (sinkKey: number) => (await kept(sinkKey)).map(({ eventId }) => eventId)

  it('keep their newest deliveries, and those that a caller wants again', async () => {
    const [one, other] = [await make('one'), await make('other')]
    await send(other, 1, 3)
    for (let n = 1; n <= 4; n += 1) await send(one, n, 3)
    expect(await sent(one)).toEqual(['event-4', 'event-3', 'event-2'])
    const [, , oldest] = await kept(one)
    await wantDelivery(session(), oldest?.key ?? 0)
    for (let n = 5; n <= 8; n += 1) await send(one, n, 3)
    expect(await sent(one)).toEqual(['event-8', 'event-7', 'event-6', 'event-2'])
    expect(await sent(other)).toEqual(['event-1'])
  })

  it('send a delivery again once for each wish, in order, whatever becomes of it', async () => {
    const key = await make('wished')
    for (const n of [1, 2, 3]) await send(key, n, 10)
    for (const { key: delivery } of await kept(key)) await wantDelivery(session(), delivery)
    const wanted = async () => (await wantedDeliveries(session(), [key])).map(({ eventId }) => eventId)
    expect(await wanted()).toEqual(['event-1', 'event-2', 'event-3'])
    const failed = { revision: 1, body: '{}', lastStatus: 503, lastError: 'answered 503' }
    await noteDelivery(session(), { sinkKey: key, eventId: 'event-1', ...failed }, Date.now(), 10)
    expect(await wanted()).toEqual(['event-2', 'event-3'])
    const [, , first] = await kept(key)
    expect(first).toMatchObject({ attempts: 2, lastStatus: 503, lastError: 'answered 503' })
    // It was delivered once.
    expect(first?.deliveredAt).toEqual(first?.createdAt)
  })

  it('are tried at once when they are changed', async () => {
    const key = await make('changed')
    await session().run(
      `update sinks set failures = 4, next_at = now() + interval '1 hour', settings = '{"failingSince": 1, "request": "r"}' where key = $1`,
      [key],
    )
    const changed = await changeSink(session(), key, { name: 'renamed' })
    expect(changed).toMatchObject({ failures: 0, nextAt: null, settings: { request: 'r' } })
    expect(changed?.settings).not.toHaveProperty('failingSince')
  })

  it('leave nothing behind when they are deleted', async () => {
    const [gone, left] = [await make('gone'), await make('left')]
    for (const key of [gone, left]) {
      await send(key, 1, 3)
      await writeMarks(session(), key, [{ resourceKey: 1, hash: 'h', detailHash: null, told: {} }], [])
    }
    await deleteSink(session(), gone)
    expect([await sent(gone), await sent(left)]).toEqual([[], ['event-1']])
    expect([(await marksOf(session(), gone)).size, (await marksOf(session(), left)).size]).toEqual([0, 1])
  })

  it('are shared, and noted only by the replica that holds them', async () => {
    const now = Date.now()
    const keys = await Promise.all(['held 1', 'held 2', 'held 3'].map((name) => make(name)))
    const hold = async (holder: string, more: number, at = now) => {
      const { sinks } = await holdSinks(session(), { holder, now: at, term: 1_000, more })
      return sinks.map(({ key }) => key)
    }
    const sinkOf = async (key: number) => (await sinksByKey(session(), [key])).get(key) ?? expect.unreachable()
    const state = async (key: number) => {
      const { cursor, failures, lastStatus } = await sinkOf(key)
      return { cursor, failures, lastStatus }
    }
    // Those of other tests.
    await session().run('update sinks set paused = true where not key = any ($1::bigint[])', [`{${keys.join()}}`])
    const first = await hold('one', 1)
    expect(first).toHaveLength(1)
    expect(await hold('one', 1)).toHaveLength(2)
    const [own = 0] = first
    const [other = 0, ...more] = await hold('two', 3)
    expect([more, (await hold('one', 3)).includes(other)]).toEqual([[], false])

    const attempt = { at: now, cursor: 7, status: 500, error: 'answered 500', nextAt: null }
    const failed = { ...attempt, isSent: true, isAccepted: false, isGivenUp: false }
    for (const write of [
      () => noteAttempt(session(), own, 'two', failed),
      () => moveCursor(session(), own, 'two', 7),
    ]) {
      await write()
      expect(await state(own)).toEqual({ cursor: 0, failures: 0, lastStatus: null })
    }
    await moveCursor(session(), own, 'one', 5)
    await moveCursor(session(), own, 'one', 4)
    expect((await state(own)).cursor).toBe(5)
    await noteAttempt(session(), own, 'one', failed)
    expect(await state(own)).toEqual({ cursor: 7, failures: 1, lastStatus: 500 })
    // A round that was frozen ends after another replica has come further.
    await noteAttempt(session(), own, 'one', { ...failed, at: now + 1, cursor: 6, isAccepted: true })
    expect(await sinkOf(own)).toMatchObject({ cursor: 7, failures: 1, attemptedAt: now + 1, succeededAt: now + 1 })
    // Nothing was sent, so nothing is known about the receiver.
    await noteAttempt(session(), own, 'one', { ...failed, at: now + 2, status: null, error: null, isSent: false })
    const untouched = { attemptedAt: now + 1, succeededAt: now + 1, lastStatus: 500 }
    expect(await sinkOf(own)).toMatchObject({ failures: 0, ...untouched })

    await releaseSinks(session(), 'one')
    expect((await hold('two', 3)).toSorted()).toEqual(keys.toSorted())
    expect(await hold('one', 3)).toEqual([])
    expect(await hold('one', 3, now + 1_001)).toHaveLength(3)
  })

  it('are deleted for a request only while it is the last that was made', async () => {
    const key = await make('asked')
    await changeSink(session(), key, { settings: { request: 'second' } })
    expect(await deleteSink(session(), key, 'first')).toBeNull()
    expect(await deleteSink(session(), key, 'second')).toMatchObject({ key })
  })

  it('lag by the revisions that there are, also over the end of an epoch', async () => {
    const key = await make('behind', (await readHead(session())).revision)
    const lag = async () => (await lagsOf(session(), [key])).get(key)
    expect(await lag()).toBe(0)
    await road.writer.submit(recordReport(report({ deploymentId: 'before' })))
    expect(await lag()).toBe(1)
    await road.database.transaction((own) => beginEpoch(own, Date.now() + 3_600_000))
    expect(await lag()).toBe(1)
    await road.writer.submit(recordReport(report({ deploymentId: 'after' })))
    expect(await lag()).toBe(2)
    expect(await listSinkStates(road.database)).toContainEqual(expect.objectContaining({ name: 'behind', lag: 2 }))
  })
})
