/** What ends or delays a round of a webhook: its operator, the clock of the database, and other receivers. */
import { describe, expect, it, onTestFinished } from 'vitest'
import type { Deliver } from '../../src/outlets/sinks/round.ts'
import { createSinks } from '../../src/outlets/sinks/sinks.ts'
import { readHead } from '../../src/store/connection/log-head.ts'
import { deleteSink, sinksByKey } from '../../src/store/sinks/sinks.ts'
import { stores } from '../support/databases/stores.ts'
import { startReceiver } from '../support/systems/receiver.ts'
import { fleet, type Replica, renewing, tailOf, tell, useSinks } from './harness.ts'

const filter = { kinds: ['INSTANCE_STATUS_CHANGED'] } as const

describe.each(stores)('rounds of sinks on $name', (store) => {
  const { use, startStore, start } = useSinks(store)

  const stateOf = async ({ road }: Replica, key: number) => (await sinksByKey(road.database.session, [key])).get(key)

  /** Waits until a replica has read its sinks again. A second renewal follows only after the first one has been read. */
  async function readAgain({ road, outgoing }: Replica): Promise<void> {
    const renewals = async (): Promise<unknown> => {
      outgoing.refresh()
      const [row] = await road.database.session.run<{ n: unknown }>('select max(held_until) as n from sinks')
      return row?.n
    }
    for (let times = 0; times < 2; times += 1) {
      const before = await renewals()
      await expect.poll(renewals).not.toEqual(before)
    }
  }

  it('end when the webhook is paused, and go on when it is resumed', async () => {
    const receiver = await use(startReceiver())
    const replica = await start(await startStore())
    const { manager } = replica.outgoing
    const after = await tailOf(replica.road)
    await fleet(replica.road, 10)
    receiver.answer(async ({ body }, response) => {
      receiver.answer(200)
      await manager.pause(sink.key, true)
      await expect.poll(() => replica.outgoing.held).toBe(0)
      first = body.id
      response.writeHead(200).end()
    })
    let first: string | null = null
    const { sink } = await manager.createWebhook({ name: 'w', url: receiver.url, secret: null, filter, after })
    await expect.poll(async () => (await stateOf(replica, sink.key))?.succeededAt ?? null).not.toBe(null)
    expect(receiver.received.map(({ body }) => body.id)).toEqual([first])
    expect((await stateOf(replica, sink.key))?.cursor).toBe(Number(first))
    await manager.pause(sink.key, false)
    const all = await receiver.until(({ length }) => length === 10)
    expect(new Set(all.map(({ body }) => body.id)).size).toBe(10)
  })

  it('leave nothing of a webhook that is deleted meanwhile', async () => {
    const receiver = await use(startReceiver())
    const replica = await start(await startStore())
    const { session } = replica.road.database
    const after = await tailOf(replica.road)
    await fleet(replica.road, 3)
    receiver.answer(async (_, response) => {
      await deleteSink(session, sink.key)
      response.writeHead(200).end()
    })
    const { sink } = await replica.outgoing.manager.createWebhook({
      ...{ name: 'w', url: receiver.url, secret: null, filter, after },
    })
    await receiver.until(({ length }) => length > 0)
    await expect.poll(() => stateOf(replica, sink.key)).toBe(undefined)
    // Waits for the end of the round.
    await replica.outgoing.stop()
    expect(await session.run('select event_id from deliveries')).toEqual([])
  })

  it('try a new address at once, whatever the former one answers meanwhile', async () => {
    const [former, present] = [await use(startReceiver()), await use(startReceiver())]
    const never = { first: 3_600_000, longest: 3_600_000 }
    const replica = await start(await startStore(), { backOff: never })
    const { manager } = replica.outgoing
    const after = await tailOf(replica.road)
    former.answer(async (_, response) => {
      await manager.changeWebhook(sink.key, { url: present.url })
      await readAgain(replica)
      response.writeHead(500).end()
    })
    const { sink } = await manager.createWebhook({ name: 'w', url: former.url, secret: null, filter, after })
    await tell(replica.road, 'one')
    await present.until(({ length }) => length === 1)
    expect(former.received.length).toBe(1)
  })

  it('are tried again when the clock of the database goes back', async () => {
    const receiver = await use(startReceiver())
    receiver.answer(500)
    let now = Date.now() + 3_600_000
    const replica = await start(await startStore(), { clock: () => now })
    const after = await tailOf(replica.road)
    const webhook = { name: 'w', url: receiver.url, secret: null, filter, after }
    const { sink } = await replica.outgoing.manager.createWebhook(webhook)
    await tell(replica.road, 'one')
    await expect.poll(async () => (await stateOf(replica, sink.key))?.failures).toBe(1)
    receiver.answer(200)
    now -= 3_600_000
    replica.outgoing.refresh()
    await expect.poll(async () => (await stateOf(replica, sink.key))?.failures).toBe(0)
  })

  it('are paused after the time of their failures, not after a jump of the clock of the database', async () => {
    const [minute, weeks] = [60_000, 20 * 86_400_000]
    const receiver = await use(startReceiver())
    receiver.answer(500)
    let now = Date.now()
    const replica = await start(await startStore(), { clock: () => now, giveUpAfter: 90 * minute })
    const webhook = { name: 'w', url: receiver.url, secret: null, filter, after: await tailOf(replica.road) }
    const { sink } = await replica.outgoing.manager.createWebhook(webhook)
    await tell(replica.road, 'one')
    const paused: (boolean | undefined)[] = []
    for (const [number, passed] of [0, weeks, -2 * weeks, 50 * minute, 50 * minute].entries()) {
      now += passed
      replica.outgoing.refresh()
      await expect.poll(async () => (await stateOf(replica, sink.key))?.failures).toBe(number + 1)
      paused.push((await stateOf(replica, sink.key))?.paused)
    }
    expect(paused).toEqual([false, false, false, false, true])
  })

  it('are paused after the time since their last success', async () => {
    const minute = 60_000
    const receiver = await use(startReceiver())
    let now = Date.now()
    const replica = await start(await startStore(), { clock: () => now, giveUpAfter: 90 * minute })
    const webhook = { name: 'w', url: receiver.url, secret: null, filter, after: await tailOf(replica.road) }
    const { sink } = await replica.outgoing.manager.createWebhook(webhook)
    for (const [name, status, failures] of [
      ['one', 500, 1],
      ['two', 200, 0],
      ['three', 500, 1],
    ] as const) {
      receiver.answer(status)
      now += 50 * minute
      await tell(replica.road, name)
      replica.outgoing.refresh()
      await expect.poll(async () => (await stateOf(replica, sink.key))?.failures).toBe(failures)
      if (status === 200) await expect.poll(async () => (await stateOf(replica, sink.key))?.lastStatus).toBe(200)
    }
    expect((await stateOf(replica, sink.key))?.paused).toBe(false)
  })

  it('keep their pause when readings of the clock differ a little', async () => {
    const [failing, fine] = [await use(startReceiver()), await use(startReceiver())]
    failing.answer(500)
    let now = Date.now() + 3_600_000
    const replica = await start(await startStore(), { clock: () => now })
    const webhook = { name: 'w', secret: null, filter, after: await tailOf(replica.road) }
    const { sink } = await replica.outgoing.manager.createWebhook({ ...webhook, url: failing.url })
    await tell(replica.road, 'one')
    await expect.poll(async () => (await stateOf(replica, sink.key))?.failures).toBe(1)
    now -= 500
    // A look at all sinks delivers to this one.
    const other = await replica.outgoing.manager.createWebhook({ ...webhook, name: 'v', url: fine.url })
    await expect.poll(async () => (await stateOf(replica, other.sink.key))?.lastStatus).toBe(200)
    expect((await stateOf(replica, sink.key))?.failures).toBe(1)
  })

  it('of a long backlog take turns with others', async () => {
    const replica = await start(await startStore())
    const { database, feed } = replica.road
    await replica.outgoing.stop()
    const { revision: after } = await readHead(database.session)
    for (const name of ['one', 'two', 'three'])
      await replica.outgoing.manager.createWebhook({ name, url: 'http://127.0.0.1', secret: null, filter, after })
    await tell(replica.road, 'one')
    const sent: string[] = []
    // Nothing but its turn ends a round.
    const deliver: Deliver = async ({ name, cursor }, _, { isOver }) => {
      sent.push(name)
      while (!isOver()) await new Promise((resolve) => setImmediate(resolve))
      return { cursor, isSent: true, isAccepted: true, status: 200, error: null, nextAt: null }
    }
    const sinks = createSinks({
      ...{ database: renewing(database, (rows) => rows.toSorted((a, b) => a.key - b.key)), hub: feed.hub },
      ...{ clock: Date.now, concurrency: 1, turn: 1 },
      deliver: { WEBHOOK: deliver, CALLBACK: deliver, INVENTORY: deliver, ALERTMANAGER: deliver },
    })
    onTestFinished(() => sinks.stop())
    await expect.poll(() => sent.length).toBeGreaterThanOrEqual(6)
    const round = sent.slice(0, 3)
    expect(round.toSorted()).toEqual(['one', 'three', 'two'])
    expect(sent.slice(3, 6)).toEqual(round)
  })

  it('that wait for others cost nothing meanwhile', async () => {
    const replica = await start(await startStore())
    const { database, feed } = replica.road
    await replica.outgoing.stop()
    const goOn = Promise.withResolvers<void>()
    const [begun, renewals] = [[] as string[], [] as number[]]
    const deliver: Deliver = async ({ name }, head) => {
      begun.push(name)
      await goOn.promise
      return { cursor: head, isSent: true, isAccepted: true, status: 200, error: null, nextAt: null }
    }
    const { revision: after } = await readHead(database.session)
    for (const name of ['one', 'two'])
      await replica.outgoing.manager.createWebhook({ name, url: 'http://127.0.0.1', secret: null, filter, after })
    await tell(replica.road, 'one')
    let ticks = 0
    const sinks = createSinks({
      database: renewing(database, (rows) => {
        renewals.push(ticks)
        return rows
      }),
      hub: feed.hub,
      deliver: { WEBHOOK: deliver, CALLBACK: deliver, INVENTORY: deliver, ALERTMANAGER: deliver },
      clock: Date.now,
      concurrency: 1,
      interval: 300,
    })
    onTestFinished(() => sinks.stop())
    await expect.poll(() => begun.length).toBe(1)
    // Shorter than the time between two regular looks, and four times as long as the time in which changes are gathered.
    const timer = setInterval(() => {
      ticks += 1
    }, 200)
    onTestFinished(() => clearInterval(timer))
    const seen = renewals.length
    await expect.poll(() => renewals.length).toBeGreaterThan(seen + 4)
    expect(ticks).toBeGreaterThan(1)
    goOn.resolve()
    await expect.poll(() => begun.toSorted()).toEqual(['one', 'two'])
  })
})
