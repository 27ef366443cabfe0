/** Rounds of a webhook that is changed, or that its server holds no more. */
import { describe, expect, it, onTestFinished } from 'vitest'
import { createOutgoing } from '../../src/sinks/compose.ts'
import { createSinks, type Deliver } from '../../src/sinks/sinks.ts'
import { type Sink, sinksByKey } from '../../src/store/sinks/sinks.ts'
import { startReceiver } from '../support/receiver.ts'
import { stores } from '../support/stores.ts'
import { renewing, tailOf, tell, useSinks } from './harness.ts'

const filter = { kinds: ['INSTANCE_STATUS_CHANGED'] } as const

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

  /** Rounds of one webhook, which only `isOver` ends. Resolves in the first one. */
  async function startEndless(renewed: Parameters<typeof renewing>[1] = (rows) => rows) {
    const { road, outgoing } = await start(await startStore())
    await outgoing.stop()
    const webhook = { name: 'w', url: 'http://127.0.0.1', secret: null, filter, after: await tailOf(road) }
    const { sink } = await outgoing.manager.createWebhook(webhook)
    await tell(road, 'one')
    const [rounds, ended]: [Sink[], Sink[]] = [[], []]
    const deliver: Deliver = async (round, _, { isOver }) => {
      rounds.push(round)
      while (!isOver()) await new Promise((resolve) => setImmediate(resolve))
      ended.push(round)
      return { cursor: round.cursor, isSent: false, isFurther: false, status: null, error: null, nextAt: null }
    }
    const sinks = createSinks({
      ...{ database: renewing(road.database, renewed), hub: road.feed.hub, clock: Date.now, interval: 50 },
      deliver: { WEBHOOK: deliver, CALLBACK: deliver, INVENTORY: deliver, ALERTMANAGER: deliver },
    })
    onTestFinished(() => sinks.stop())
    await expect.poll(() => rounds.length).toBe(1)
    return { sinks, manager: outgoing.manager, session: road.database.session, key: sink.key, rounds, ended }
  }
})
