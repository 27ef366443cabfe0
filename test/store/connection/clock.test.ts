/** Leases and due times are judged by the database's clock, whatever a server's own clock shows. */
import { afterEach, describe, expect, it, onTestFinished, vi } from 'vitest'
import { defaultTimeouts } from '../../../src/api/rest/guard.ts'
import { createDatabaseClock } from '../../../src/store/connection/clock.ts'
import { holdLease, holdLeases } from '../../../src/store/leases.ts'
import { openDatabase } from '../../../src/store/open.ts'
import { holdSinks } from '../../../src/store/sinks/sink-progress.ts'
import { createSink } from '../../../src/store/sinks/sinks.ts'
import { openFresh } from '../../support/databases/databases.ts'
import { everyStore, postgresStores } from '../../support/databases/stores.ts'
import { temporaryFolder } from '../../support/folder.ts'
import { startApp } from '../../support/servers/app.ts'
import { startReceiver } from '../../support/systems/receiver.ts'

const hour = 3_600_000
const trueNow = Date.now
const stepClock = (by: number): void => void vi.spyOn(Date, 'now').mockImplementation(() => trueNow() + by)

describe.each(everyStore)('the clock of $name', (store) => {
  afterEach(() => vi.restoreAllMocks())

  it.each([hour, -hour])("is not moved by a step of the server's own by %s ms", async (by) => {
    const database = await openFresh(store)
    stepClock(by)
    const clock = await createDatabaseClock(database, { interval: 10 })
    onTestFinished(() => clock.close())
    const began = clock.now()
    expect(Math.abs(began - trueNow())).toBeLessThan(hour / 2)
    stepClock(-by)
    await expect.poll(() => clock.now()).toBeGreaterThan(began + 100)
    expect(Math.abs(clock.now() - trueNow())).toBeLessThan(hour / 2)
  })

  it('judges the leases and changes of a server whose own is an hour ahead', async () => {
    const receiver = await startReceiver()
    onTestFinished(() => receiver.close())
    const on = await store.create()
    onTestFinished(() => on.drop())
    stepClock(hour)
    const server = await startApp({
      on,
      env: { SINK_ALLOW: '127.0.0.1' },
      timeouts: { ...defaultTimeouts, duties: 200 },
    })
    onTestFinished(() => server.stop())
    await server.query(
      'mutation ($url: String!) { createWebhook(input: { name: "w", url: $url }) { __typename ... on UserError { message } } }',
      { url: receiver.url },
    )
    const body = { deploymentId: 'd', status: { state: 'installing' }, components: [] }
    expect((await server.post('/device/e/deployment/d/status', body)).status).toBe(201)
    await receiver.until((all) => all.length > 0)
    const { session } = server.app.database
    const ahead = async (): Promise<unknown[]> =>
      session.run(
        `select 'sink' as what from sinks where held_until > $1::timestamptz or created_at > $1::timestamptz
         union all select 'lease' from leases where until > $1::timestamptz
         union all select 'change' from change_log where at > $1::timestamptz`,
        [new Date(trueNow() + hour / 2).toISOString()],
      )
    await expect.poll(() => session.run('select 1 from leases')).not.toEqual([])
    expect(await session.run('select 1 from sinks where held_until is not null')).toHaveLength(1)
    expect(await ahead()).toEqual([])
  })
})

describe.each(everyStore)('a lease on $name', (store) => {
  it('that was taken before the clock went back is free', async () => {
    const database = await openFresh(store)
    onTestFinished(() => database.close())
    const { session } = database
    const now = trueNow()
    const term = 15_000
    const take = (name: string, holder: string, at: number) =>
      holdLease(session, { name, holder, now: at, term, grace: 60_000 })
    expect(await take('killed', 'one', now + hour)).toBe(now + hour)
    // No server listened in between, as far as is known.
    expect(await take('killed', 'two', now)).toBe(now)
    // Servers read the clock with some difference.
    expect(await take('killed', 'one', now - 500)).toBeNull()
    const takeMany = (holder: string, at: number) => holdLeases(session, { names: ['many'], holder, now: at, term })
    expect([...(await takeMany('one', now + hour))]).toEqual(['many'])
    expect([...(await takeMany('two', now))]).toEqual(['many'])
    expect([...(await takeMany('one', now - 500))]).toEqual([])

    const sink = { kind: 'WEBHOOK', name: 'w', instanceKey: null, secret: null, settings: {} } as const
    await createSink(session, { ...sink, url: 'http://127.0.0.1/', filter: {}, cursor: 0 }, now)
    const takeSinks = async (holder: string, at: number) =>
      (await holdSinks(session, { holder, now: at, term, more: 1 })).sinks.map(({ name }) => name)
    expect(await takeSinks('one', now + hour)).toEqual(['w'])
    expect(await takeSinks('two', now)).toEqual(['w'])
    expect(await takeSinks('one', now - 500)).toEqual([])
  })
})

describe('an embedded database', () => {
  it('has no held leases when it is opened, whatever the clock showed when they were taken', async () => {
    const config = { url: null, dataDir: temporaryFolder() }
    const first = await openDatabase(config)
    const lease = { name: 'x', term: 15_000, grace: 60_000 }
    const since = await holdLease(first.session, { ...lease, holder: 'one', now: trueNow() + hour })
    expect(since).not.toBeNull()
    await first.close()
    const second = await openDatabase(config)
    onTestFinished(() => second.close())
    expect(await holdLease(second.session, { ...lease, holder: 'two', now: trueNow() })).not.toBeNull()
  })
})

describe.each(postgresStores)('replicas on $name', (store) => {
  it('agree on the time, whatever their own clocks show', async () => {
    const database = await openFresh(store)
    const right = await createDatabaseClock(database)
    vi.spyOn(Date, 'now').mockImplementation(() => trueNow() + hour)
    const wrong = await createDatabaseClock(database)
    onTestFinished(() => {
      vi.restoreAllMocks()
      right.close()
      wrong.close()
    })
    expect(Math.abs(right.now() - wrong.now())).toBeLessThan(hour / 2)
  })
})
