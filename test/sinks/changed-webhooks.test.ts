/** Rounds of a webhook that is changed, or that its server holds no more. */
import { describe, expect, it, onTestFinished } from 'vitest'
import { createOutgoing } from '../../src/outlets/sinks/compose.ts'
import type { Deliver } from '../../src/outlets/sinks/round.ts'
import { createSinks } from '../../src/outlets/sinks/sinks.ts'
import { createWebhookDeliver } from '../../src/outlets/sinks/webhook.ts'
import { beginEpoch } from '../../src/store/connection/epoch.ts'
import { readHead } from '../../src/store/connection/log-head.ts'
import { noteDelivery } from '../../src/store/sinks/deliveries.ts'
import { type Sink, sinksByKey } from '../../src/store/sinks/sinks.ts'
import { stores } from '../support/databases/stores.ts'
import { startReceiver } from '../support/systems/receiver.ts'
import { renewing, tailOf, tell, useSinks } from './harness.ts'

const filter = { kinds: ['INSTANCE_STATUS_CHANGED'] } as const

const nothing = { isSent: false, isAccepted: false, status: null, error: null, nextAt: null }

describe.each(stores)('rounds of a webhook on $name', (store) => {
  const { use, startStore, start } = useSinks(store)

  it('send what follows a change of the filter, also while the webhook is being read', async () => {
    const receiver = await use(startReceiver())
    const { road, outgoing: former } = await start(await startStore())
    await former.stop()
    const { manager } = former
    const webhook = { name: 'w', url: receiver.url, secret: null, after: await tailOf(road) }
    const { sink } = await manager.createWebhook({ ...webhook, filter: { kinds: ['DEVICE_RETIRED'] } })
    let isChanged = false
    const database = renewing(road.database, async (rows) => {
      if (isChanged) return rows
      isChanged = true
      await manager.changeWebhook(sink.key, { filter })
      await tell(road, 'one')
      return rows
    })
    const options = { aai: null, allow: ['127.0.0.1'], publicUrl: 'http://rollcall.test', clock: Date.now }
    const outgoing = createOutgoing({ ...options, database, feed: road.feed })
    onTestFinished(() => outgoing.stop())
    const [sent] = await receiver.until(({ length }) => length === 1)
    expect(sent?.body.data.instanceId).toBe('one')
  })

  it.each([
    { url: 'http://127.0.0.1/other' },
    { secret: `whsec_${'b'.repeat(32)}` },
    { filter: { kinds: ['ALERT_RAISED'] } },
  ] as const)('end when their webhook is changed: %j', async (change) => {
    const { sinks, manager, key, rounds } = await startEndless()
    await manager.changeWebhook(key, change)
    sinks.refresh()
    await expect.poll(() => rounds[1]).toMatchObject(change)
  })

  it('end when the hold ends and cannot be renewed', async () => {
    let isLost = false
    const { sinks, rounds, ended } = await startEndless((rows) => {
      if (isLost) throw new Error('the database is gone')
      return rows
    })
    isLost = true
    await expect.poll(() => ended.length).toBe(1)
    expect([rounds.length, sinks.held]).toEqual([1, 1])
  })

  it('that end before anything is sent say nothing about the receiver', async () => {
    const { sinks, session, key } = await startEndless()
    await session.run("update sinks set failures = 3, last_error = 'answered 500'")
    await sinks.stop()
    expect((await sinksByKey(session, [key])).get(key)).toMatchObject({ failures: 3, lastError: 'answered 500' })
  })

  it('begin where the last one has ended, also while the webhook is being read', async () => {
    const goOn = Promise.withResolvers<void>()
    const rounds: Sink[] = []
    const end: Deliver = async (round, head) => {
      rounds.push(round)
      await goOn.promise
      return { ...nothing, cursor: head, isSent: true, isAccepted: true, status: 200 }
    }
    let isOld = true
    const { road, key } = await startRounds(end, async (rows) => {
      if (rounds.length === 0 || !isOld) return rows
      isOld = false
      goOn.resolve()
      await expect.poll(async () => (await sinksByKey(road.database.session, [key])).get(key)?.lastStatus).toBe(200)
      return rows
    })
    const { revision } = await readHead(road.database.session)
    await expect.poll(() => isOld).toBe(false)
    await tell(road, 'two')
    await expect.poll(() => rounds.length).toBe(2)
    expect(rounds[1]?.cursor).toBe(revision)
  })

  it('that fail after a success wait as after the first failure', async () => {
    const now = Date.now()
    const fail: Deliver = async ({ cursor }) => ({ ...nothing, cursor, isSent: true, isAccepted: true, error: 'no' })
    const isLate = { failures: 20, attemptedAt: now - 1 }
    const { road, key } = await startRounds(
      fail,
      (rows) => rows.map((row) => ({ ...row, ...isLate })),
      () => now,
    )
    const state = async () => (await sinksByKey(road.database.session, [key])).get(key)
    await expect.poll(async () => (await state())?.failures).toBe(1)
    expect((await state())?.nextAt ?? 0).toBeLessThanOrEqual(now + 1_000)
  })

  it('go on in another epoch without a reset, and wait for its first change', async () => {
    const receiver = await use(startReceiver())
    const { road, outgoing } = await start(await startStore())
    const webhook = { name: 'w', url: receiver.url, secret: null, filter, after: await tailOf(road) }
    const { sink } = await outgoing.manager.createWebhook(webhook)
    await tell(road, 'one')
    await receiver.until(({ length }) => length === 1)
    const base = await road.database.transaction((own) => beginEpoch(own, Date.now()))
    outgoing.refresh()
    const cursor = async () => (await sinksByKey(road.database.session, [sink.key])).get(sink.key)?.cursor
    await expect.poll(cursor).toBe(base)
    await tell(road, 'two')
    const all = await receiver.until((sent) => sent.some(({ body }) => body.data.instanceId === 'two'))
    expect(new Set(all.map(({ body }) => body.type))).toEqual(new Set(['rollcall.instance-status-changed']))
  })

  it.each([1, 2])('end before what is left, after %i questions', async (questions) => {
    const { road, outgoing } = await start(await startStore())
    await outgoing.stop()
    const { session } = road.database
    const webhook = { name: 'w', url: 'http://127.0.0.1', secret: null, after: await tailOf(road) }
    const { sink } = await outgoing.manager.createWebhook({ ...webhook, filter: { kinds: ['DEVICE_RETIRED'] } })
    await tell(road, 'one')
    for (const n of [1, 2, 3]) {
      const sent = { revision: n, body: '{}', lastStatus: 500, lastError: 'no' }
      await noteDelivery(session, { sinkKey: sink.key, eventId: `event-${n}`, ...sent }, Date.now(), 10)
    }
    await session.run('update deliveries set is_wanted = true')
    let sent = 0
    const send = async () => {
      sent += 1
      return { status: 200, bytes: Buffer.alloc(0), isWhole: true }
    }
    const deliver = createWebhookDeliver({ database: road.database, send, source: 'test', clock: Date.now })
    let asked = 0
    const isOver = () => ++asked > questions
    const { revision } = await readHead(session)
    const round = await deliver(sink, revision, { isOver, reached: async () => {} })
    expect([sent, round.cursor]).toEqual([questions, sink.cursor])
    await session.run('update deliveries set is_wanted = false')
    expect(await deliver(sink, revision, { isOver, reached: async () => {} })).toMatchObject({ cursor: sink.cursor })
  })

  /** Rounds of one webhook, which only `isOver` ends. Resolves in the first one. */
  async function startEndless(renewed: Parameters<typeof renewing>[1] = (rows) => rows) {
    const [rounds, ended]: [Sink[], Sink[]] = [[], []]
    const deliver: Deliver = async (round, _, { isOver }) => {
      rounds.push(round)
      while (!isOver()) await new Promise((resolve) => setImmediate(resolve))
      ended.push(round)
      return { ...nothing, cursor: round.cursor }
    }
    const { road, ...started } = await startRounds(deliver, renewed)
    await expect.poll(() => rounds.length).toBe(1)
    return { ...started, session: road.database.session, rounds, ended }
  }

  /** Of a webhook that is behind. */
  async function startRounds(deliver: Deliver, renewed: Parameters<typeof renewing>[1], clock = Date.now) {
    const { road, outgoing } = await start(await startStore())
    await outgoing.stop()
    const webhook = { name: 'w', url: 'http://127.0.0.1', secret: null, filter, after: await tailOf(road) }
    const { sink } = await outgoing.manager.createWebhook(webhook)
    await tell(road, 'one')
    const sinks = createSinks({
      ...{ database: renewing(road.database, renewed), hub: road.feed.hub, clock, interval: 50 },
      deliver: { WEBHOOK: deliver, CALLBACK: deliver, INVENTORY: deliver, ALERTMANAGER: deliver },
    })
    onTestFinished(() => sinks.stop())
    return { road, sinks, manager: outgoing.manager, key: sink.key }
  }
})
