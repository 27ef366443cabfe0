import { describe, expect, it } from 'vitest'
import { readHead } from '../../src/store/connection/log-head.ts'
import { readLog } from '../../src/store/read/changes/changes.ts'
import { instanceById } from '../../src/store/read/orchestration/instances.ts'
import { createSink, listSinks, sinksByKey } from '../../src/store/sinks/sinks.ts'
import { pruneHistory } from '../../src/store/write/retention.ts'
import { stores } from '../support/databases/stores.ts'
import { isWhole } from '../support/runner/depth.ts'
import type { Road } from '../support/servers/road.ts'
import { type Received, startReceiver } from '../support/systems/receiver.ts'
import { fleet, labelOf, show, tailOf, tell, useSinks } from './harness.ts'

describe.each(stores)('sinks on $name', (store) => {
  const { isShared, use, startStore, start } = useSinks(store)

  it('are shared by replicas without duplicates, and taken over', async () => {
    const receiver = await use(startReceiver())
    const on = await startStore()
    const first = await start(on)
    // PGlite belongs to one process.
    const second = isShared ? await start(on) : null
    const after = await tailOf(first.road)
    for (let index = 0; index < 12; index += 1)
      await first.outgoing.manager.createWebhook({
        name: `hook ${index}`,
        url: `${receiver.url}/${index}`,
        secret: null,
        filter: { kinds: ['INSTANCE_STATUS_CHANGED'] },
        after,
      })
    await fleet(first.road, 20)
    const counted = () => {
      const ids = new Map<string, string[]>()
      for (const { path, body } of receiver.received) ids.set(path, [...(ids.get(path) ?? []), body.id])
      return ids
    }
    const total = async (road: Road) =>
      (await readLog(road.database.session, 0, 10_000))
        .filter(({ kind }) => kind === 'INSTANCE_STATUS_CHANGED')
        .map(({ revision }) => String(revision))
    const expectAll = async (road: Road) => {
      const events = await total(road)
      await expect.poll(() => receiver.received.length).toBe(12 * events.length)
      for (const ids of counted().values()) expect(ids).toEqual(events)
    }
    await expectAll(first.road)
    await first.stop()
    const next = second ?? (await start(on, { after: first }))
    for (let index = 20; index < 25; index += 1) await tell(next.road, `instance-${index}`)
    await expectAll(next.road)
  })

  it('that hang delay neither other sinks nor reports', async () => {
    const [dead, alive] = [await use(startReceiver()), await use(startReceiver())]
    dead.answer(() => {})
    const { road, outgoing } = await start(await startStore())
    for (const [name, url] of [
      ['dead', dead.url],
      ['alive', alive.url],
    ] as const)
      await outgoing.manager.createWebhook({ name, url, secret: null, filter: {}, after: await tailOf(road) })
    await fleet(road, 30)
    await dead.until((all) => all.length > 0)
    const { revision } = (await readLog(road.database.session, 0, 10_000)).at(-1) ?? { revision: 0 }
    await alive.until((all) => all.some(({ body }) => body.id === String(revision)))
    const heard = new Set(dead.received.map(({ body }) => body.id))
    expect(heard.size).toBe(1)
    const [state] = await listSinks(road.database.session, ['WEBHOOK'], null)
    expect(state).toMatchObject({ name: 'dead', cursor: await tailOf(road) })
    // Breaks off the pending request: the sender stops only when that has ended.
    await dead.close()
  })

  it('get an event again that they answered with a redirect, which is not followed', async () => {
    const receiver = await use(startReceiver())
    const { road, outgoing } = await start(await startStore())
    receiver.answer((_, response) => {
      receiver.answer(200)
      response.writeHead(302, { location: '/elsewhere' }).end()
    })
    await fleet(road, 2)
    const hook = { name: 'moved', url: receiver.url, secret: null, filter: {} }
    await outgoing.manager.createWebhook({ ...hook, after: await tailOf(road) })
    const [first, again] = await receiver.until((all) => all.length > 1)
    expect([again?.path, again?.body.id]).toEqual([first?.path, first?.body.id])
  })

  it('that were paused for longer than history is kept get a reset and continue', async () => {
    const receiver = await use(startReceiver())
    const { road, outgoing } = await start(await startStore())
    await fleet(road, 3)
    const { sink } = await outgoing.manager.createWebhook({
      name: 'late',
      url: receiver.url,
      secret: null,
      filter: {},
      after: await tailOf(road),
    })
    await receiver.until((all) => all.length > 0)
    await outgoing.manager.pause(sink.key, true)
    const before = receiver.received.length
    await fleet(road, 6)
    expect(await pruneHistory(road.database, Date.now() + 1_000, 1_000)).toBeGreaterThan(0)
    await outgoing.manager.pause(sink.key, false)
    await receiver.until((all) => all.some(({ body }) => body.type === 'rollcall.reset'))
    await tell(road, 'after')
    await receiver.until((all) => all.some(({ body }) => body.subject === 'after'))
    const types = receiver.received.slice(before).map(({ body }) => body.type)
    expect(types.filter((type) => type === 'rollcall.reset')).toHaveLength(1)
    expect(receiver.received.find(({ body }) => body.type === 'rollcall.reset')?.body.data).toMatchObject({
      reason: 'CURSOR_EXPIRED',
    })
  })

  it.runIf(isWhole)(
    'get a reset if the history that they still need is removed while they are sent what was before',
    async () => {
      const receiver = await use(startReceiver())
      const { road, outgoing } = await start(await startStore())
      await fleet(road, 250)
      let goOn = (): void => undefined
      receiver.answer((_, response) => {
        goOn = () => {
          receiver.answer(200)
          response.writeHead(200).end()
        }
      })
      const after = await tailOf(road)
      const wanted = { kinds: ['INSTANCE_STATUS_CHANGED'] } as const
      await outgoing.manager.createWebhook({ name: 'slow', url: receiver.url, secret: null, filter: wanted, after })
      await receiver.until((all) => all.length > 0)
      expect(await pruneHistory(road.database, Date.now() + 1_000, 1_000)).toBeGreaterThan(0)
      goOn()
      const { revision } = await readHead(road.database.session)
      const isReset = ({ body }: Received): boolean => body.type === 'rollcall.reset'
      await tell(road, 'after')
      const all = await receiver.until((received) => received.some(({ body }) => body.subject === 'after'))
      expect(all.filter(isReset).map(({ body }) => body.data.to)).toEqual([String(revision)])
    },
  )

  it('that fail for longer than configured are paused, and continue when they are resumed', async () => {
    const receiver = await use(startReceiver())
    receiver.answer(500)
    let now = Date.now()
    const { road, outgoing } = await start(await startStore(), { clock: () => now, giveUpAfter: 60_000 })
    const { sink } = await outgoing.manager.createWebhook({
      name: 'broken',
      url: receiver.url,
      secret: null,
      filter: { kinds: ['INSTANCE_STATUS_CHANGED'] },
      after: await tailOf(road),
    })
    const state = async () => (await sinksByKey(road.database.session, [sink.key])).get(sink.key)
    await tell(road, 'one')
    await expect.poll(async () => (await state())?.failures).toBeGreaterThan(0)
    expect(await state()).toMatchObject({ paused: false, lastError: 'answered 500' })
    now += 70_000
    outgoing.refresh()
    await expect.poll(async () => (await state())?.paused).toBe(true)
    const tries = receiver.received.length
    receiver.answer(200)
    await tell(road, 'two')
    await outgoing.manager.pause(sink.key, false)
    const later = (await receiver.until((all) => all.some(({ body }) => body.subject === 'two'))).slice(tries)
    expect(later.map(({ body }) => body.subject)).toEqual(expect.arrayContaining(['one', 'two']))
    await expect.poll(async () => (await state())?.failures).toBe(0)
    expect((await state())?.settings).toEqual({})
  })

  it('that lose a response now and then are neither slowed down nor paused: a success resets the count of failures', async () => {
    const receiver = await use(startReceiver())
    let ahead = 0
    const { road, outgoing } = await start(await startStore(), {
      clock: () => Date.now() + ahead,
      giveUpAfter: 15_000,
    })
    const { sink } = await outgoing.manager.createWebhook({
      name: 'lossy',
      url: receiver.url,
      secret: null,
      filter: { kinds: ['INSTANCE_STATUS_CHANGED'] },
      after: await tailOf(road),
    })
    const state = async () => (await sinksByKey(road.database.session, [sink.key])).get(sink.key)
    const failures: number[] = []
    let requests = 0
    // Every second response is lost, ten seconds after the previous one.
    receiver.answer(async (_, response) => {
      requests += 1
      if (requests % 2 === 0) return void response.writeHead(200).end()
      failures.push((await state())?.failures ?? 0)
      ahead += 10_000
      response.writeHead(500).end()
    })
    await fleet(road, 6)
    await receiver.until((all) => new Set(all.map(({ body }) => body.subject)).size === 6)
    await expect.poll(async () => (await state())?.failures).toBe(0)
    expect(failures.length).toBeGreaterThan(2)
    expect(Math.max(...failures)).toBe(1)
    expect(await state()).toMatchObject({ paused: false, settings: {} })
  })

  it('are called at most once in their minNotifyInterval, with everything since the last call', async () => {
    const receiver = await use(startReceiver())
    let now = Date.now()
    const { road, outgoing } = await start(await startStore(), { clock: () => now })
    await tell(road, 'one')
    // Before the subscription: the first call has everything there is.
    await show(road, 'one', { 'Deployment/a': 1 })
    const instanceKey = (await instanceById(road.database.session, 'one', null))?.key ?? 0
    const settings = { minNotifyInterval: 10, metadata: null }
    await createSink(
      road.database.session,
      { kind: 'CALLBACK', name: 'c', instanceKey, url: receiver.url, secret: null, filter: {}, settings, cursor: 0 },
      now,
    )
    outgoing.refresh()
    await receiver.until((all) => all.length === 1)
    const isNoted = async () => (await listSinks(road.database.session, ['CALLBACK'], null))[0]?.nextAt
    await expect.poll(isNoted).toBe(now + 10_000)
    for (const generation of [2, 3, 4]) await show(road, 'one', { 'Deployment/a': generation, 'Service/c': generation })
    now += 9_000
    outgoing.refresh()
    // If that had been enough, the callback would have been called before this webhook.
    await tell(road, 'two')
    const other = await use(startReceiver())
    await outgoing.manager.createWebhook({
      name: 'w',
      url: other.url,
      secret: null,
      filter: {},
      after: await tailOf(road),
    })
    await other.until((all) => all.some(({ body }) => body.subject === 'two'))
    expect(receiver.received).toHaveLength(1)
    now += 2_000
    outgoing.refresh()
    const [, second] = await receiver.until((all) => all.length === 2)
    const { created, modified, deleted } = second?.body['resource-changes'] ?? {}
    expect([created.length, modified.length, deleted.length]).toEqual([1, 1, 0])
    expect(labelOf(modified[0].status)).toBe('4')
  })
})
