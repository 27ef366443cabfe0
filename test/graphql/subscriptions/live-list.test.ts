import fc from 'fast-check'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { markSilent } from '../../../src/ingest/commands/connectivity.ts'
import { registerDevices } from '../../../src/ingest/commands/devices/register.ts'
import { readHead } from '../../../src/store/connection/log-head.ts'
import { devices, live, liveBy } from '../../store/read/history.ts'
import { stores } from '../../support/databases/stores.ts'
import { someOf } from '../../support/runner/depth.ts'
import { type Stream, transports } from '../clients.ts'
import { type Api, startApi } from '../harness.ts'
import { applyAny, applyUpdate, type ListedRow, listSubscription, liveListOf, withoutIds } from './live-list-client.ts'

const query = `query ($filter: DeploymentFilter, $orderBy: DeploymentOrder, $ordering: DeploymentOrdering, $first: Int, $at: Revision) {
  deployments(filter: $filter, orderBy: $orderBy, ordering: $ordering, first: $first, atRevision: $at) {
    nodes { deploymentId state revision components { name state } } pageInfo { hasNextPage }
  }
}`

/** A gateway that claims a declared deployment with a report that changes nothing becomes its reporter without a revision. */
const comparable = (rows: readonly ListedRow[]): object[] => rows.map(({ id: _, reporter: _reporter, ...row }) => row)

describe.each(stores)('a live list of deployments on $name', (store) => {
  let apis: Api[]
  let drop: () => Promise<void>
  let open: Stream[] = []

  beforeAll(async () => {
    const empty = await store.create()
    drop = empty.drop
    const shared = { ...store, create: async () => ({ ...empty, drop: async () => {} }) }
    // A stream that keeps two commits is behind often.
    const start = () => startApi({ store: shared, road: { feed: { stateCapacity: 2 } } })
    apis = [await start(), ...(store.name === 'PostgreSQL' ? [await start()] : [])]
  })
  afterEach(async () => {
    await Promise.all(open.map((stream) => stream.close()))
    open = []
  })
  afterAll(async () => {
    for (const api of apis) await api.close()
    await drop()
  })
  const api = (number = 0): Api => apis[number % apis.length] ?? expect.unreachable()

  function watch(variables: object, { number = 0, document = listSubscription } = {}): Stream {
    const transport = transports[number % transports.length] ?? expect.unreachable()
    const stream = transport.watch(api(number >> 1).url, document, { ...variables })
    open.push(stream)
    return stream
  }

  const leaf = fc.oneof(
    fc.record({ states: fc.subarray(['PENDING', 'INSTALLING', 'INSTALLED', 'FAILED', 'REMOVING', 'REMOVED']) }),
    fc.record({ deploymentIds: fc.subarray(['web', 'db', 'Cache', 'queue', 'auth']) }),
    fc.record({ deviceIds: fc.subarray(['alpha', 'beta', 'gw', 'gw/one']) }),
    fc.record({ hasError: fc.boolean() }),
    fc.record({ errorCodes: fc.constant(['101']) }),
    fc.record({ consistent: fc.boolean() }),
    fc.record({ components: fc.constant(['api']) }),
  )
  const filters = fc.oneof(
    fc.constant({}),
    leaf,
    leaf.map((not) => ({ where: { not } })),
    fc.tuple(leaf, leaf).map(([one, other]) => ({ ...one, where: { or: [other, { hasError: true }] } })),
  )
  const orders = fc.oneof(
    fc.record({ orderBy: fc.constantFrom('CHANGED_DESC', 'CHANGED_ASC', 'STATE', 'NAME') }),
    fc.record({
      ordering: fc.record({ field: fc.constantFrom('STATE', 'NAME'), direction: fc.constantFrom('ASC', 'DESC') }),
    }),
  )

  it('equals the query at each cursor, also after it resumes, is behind, or goes on with another server', async () => {
    await fc.assert(
      fc.asyncProperty(
        filters,
        orders,
        fc.integer({ min: 1, max: 7 }),
        fc.integer({ min: 1, max: 1_000_000 }),
        fc.array(fc.nat({ max: 7 }), { minLength: 1, maxLength: 3 }),
        async (filter, order, first, seed, servers) => {
          const list = { filter, ...order, first }
          let rows: readonly ListedRow[] = []
          let after: string | undefined
          for (const [turn, number] of servers.entries()) {
            const stream = watch({ ...list, after }, { number })
            const following = (async () => {
              for (;;) {
                const { deployments: update } = await stream.data()
                expect([update.isSnapshot, update.reset]).toEqual([after === undefined, null])
                after = String(update.cursor)
                rows = applyUpdate(rows, update)
                const { deployments } = await api().ask(query, { ...list, at: after })
                expect(comparable(rows)).toEqual(deployments.nodes)
                expect(update.hasNextPage).toBe(deployments.pageInfo.hasNextPage)
              }
            })()
            const ended = following.catch((error: unknown) => error)
            await live(api().road.database, seed + turn, 8)
            const { deployments } = await api().ask(query, list)
            const caughtUp = expect
              .poll(() => (after === undefined ? null : comparable(rows)))
              .toEqual(deployments.nodes)
            // A failure of an update is the better message.
            await Promise.race([caughtUp, following])
            await stream.close()
            expect(await ended).toMatchObject({ message: 'the stream is complete' })
            // What happens while nothing is connected.
            await live(api().road.database, seed - turn, 3)
          }
        },
      ),
      { numRuns: someOf(3, 6) },
    )
  })

  it('of devices equals the query at each cursor, also after it resumes, is behind, or goes on with another server', async () => {
    for (const reporter of devices) await api().report({ reporter, deploymentId: 'web' })
    const fields = 'deviceId connectivity retirement { reason } deploymentCounts { total failed installed }'
    const documents = liveListOf('devices', fields)
    const part = fc.oneof(
      fc.record({ deviceIds: fc.subarray([...devices]) }),
      fc.record({ failing: fc.boolean() }),
      fc.record({ connectivity: fc.subarray(['ONLINE', 'OFFLINE', 'UNKNOWN']) }),
    )
    const deviceFilters = fc.oneof(
      fc.constant({}),
      part,
      part.map((not) => ({ where: { not } })),
    )
    const deviceOrders = fc.record({
      field: fc.constantFrom('NAME', 'CONNECTIVITY'),
      direction: fc.constantFrom('ASC', 'DESC'),
    })
    await fc.assert(
      fc.asyncProperty(
        deviceFilters,
        deviceOrders,
        fc.integer({ min: 1, max: 7 }),
        fc.integer({ min: 1, max: 1_000_000 }),
        fc.array(fc.nat({ max: 7 }), { minLength: 1, maxLength: 3 }),
        async (filter, orderBy, first, seed, servers) => {
          const list = { filter, orderBy, first }
          let rows: readonly { readonly id: string }[] = []
          let after: string | undefined
          for (const [turn, number] of servers.entries()) {
            const stream = watch({ ...list, after }, { number, document: documents.subscription })
            const following = (async () => {
              for (;;) {
                const { list: update } = await stream.data()
                expect([update.isSnapshot, update.reset]).toEqual([after === undefined, null])
                after = String(update.cursor)
                rows = applyAny(rows, update)
                const { list: queried } = await api().ask(documents.query, { ...list, at: after })
                expect(withoutIds(rows)).toEqual(queried.nodes)
                expect(update.hasNextPage).toBe(queried.pageInfo.hasNextPage)
              }
            })()
            const ended = following.catch((error: unknown) => error)
            await live(api().road.database, seed + turn, 8)
            const { list: queried } = await api().ask(documents.query, list)
            const caughtUp = expect.poll(() => (after === undefined ? null : withoutIds(rows))).toEqual(queried.nodes)
            await Promise.race([caughtUp, following])
            await stream.close()
            expect(await ended).toMatchObject({ message: 'the stream is complete' })
            // What happens while nothing is connected.
            await live(api().road.database, seed - turn, 3)
          }
        },
      ),
      { numRuns: someOf(2, 4) },
    )
  })

  it('of devices has what no change says with the next change', async () => {
    const documents = liveListOf('devices', 'deviceId name')
    const stream = watch(
      { filter: { text: 'named-' }, orderBy: { field: 'LAST_HEARD' }, first: 5 },
      { document: documents.subscription },
    )
    expect((await stream.data()).list).toMatchObject({ isSnapshot: true, rows: [] })
    const device = { name: 'one', labels: null, parent: null, expectedInterval: null, tokenHash: 'hash of named' }
    await api().road.writer.submit(registerDevices([{ ...device, deviceId: 'named-1' }]))
    await api().report({ reporter: 'other', deploymentId: 'x' })
    expect((await stream.data()).list).toMatchObject({ rows: [{ change: 'INSERTED', row: { name: 'one' } }] })
    await api().road.writer.submit(registerDevices([{ ...device, deviceId: 'named-1', name: 'two' }]))
    await api().report({ reporter: 'other', deploymentId: 'y' })
    const { list: update } = await stream.data()
    expect(update).toMatchObject({ rows: [{ change: 'UPDATED', row: { name: 'two' } }] })
    const again = watch(
      { filter: { text: 'named-' }, first: 5, after: update.cursor },
      { document: documents.subscription },
    )
    expect((await again.data()).list).toMatchObject({ isSnapshot: true, reset: null, rows: [{}] })
  })

  it('costs a commit the same statements for one subscriber as for many, and as many as are needed', async () => {
    const list = { filter: { reporters: ['counted'] }, first: 2 }
    await api().report({ reporter: 'counted', deploymentId: 'a' })
    const streams = Array.from({ length: 6 }, () => watch(list))
    for (const stream of streams)
      expect((await stream.data()).deployments).toMatchObject({ isSnapshot: true, rows: [{}] })
    api().statements()
    await api().report({ reporter: 'counted', deploymentId: 'b' })
    for (const stream of streams)
      expect((await stream.data()).deployments).toMatchObject({
        isSnapshot: false,
        removed: [],
        rows: [{ change: 'INSERTED', position: 0, deployment: { deploymentId: 'b' } }],
      })
    // Which of the rows are listed, and the row that is new.
    expect(api().statements()).toBe(2)
    const late = watch(list)
    expect((await late.data()).deployments).toMatchObject({ isSnapshot: true, rows: [{}, {}], hasNextPage: false })
  })

  it('has the whole list for a cursor that has expired or never was, and for a filter without a history', async () => {
    const { revision } = await api().ask('{ revision }')
    const first = async (variables: object) => (await watch({ first: 1, ...variables }).data()).deployments
    for (const after of ['1', '999999999999'])
      expect(await first({ after })).toMatchObject({ isSnapshot: true, reset: { reason: 'CURSOR_EXPIRED' } })
    const filter = { where: { not: { labels: [{ key: 'site', value: 'none' }] } } }
    expect(await first({ after: revision, filter })).toMatchObject({ isSnapshot: true, reset: null })
    expect(await first({ after: 'begin' })).toMatchObject({ isSnapshot: true, reset: null })
    expect(await first({ after: revision })).toMatchObject({ isSnapshot: false, rows: [], removed: [] })
  })

  it('refuses a page of no rows or of too many', async () => {
    for (const first of [0, -1, 101]) {
      const errors = await watch({ first })
        .next()
        .then(
          (answer) => answer?.errors,
          (error: unknown) => error,
        )
      expect(errors).toMatchObject([{ extensions: { code: 'BAD_USER_INPUT' } }])
    }
  })

  it('has the rows of a device that goes offline, though no deployment changed', async () => {
    await api().road.writer.submit(
      registerDevices([
        { deviceId: 'quiet', name: null, labels: null, parent: null, expectedInterval: 1, tokenHash: 'hash of quiet' },
      ]),
    )
    await api().report({ reporter: 'quiet', deploymentId: 'q' })
    const stream = watch({ filter: { deploymentIds: ['q'], where: { connectivity: ['OFFLINE'] } } })
    expect((await stream.data()).deployments).toMatchObject({ rows: [] })
    // The histories before have moved the log's time ahead of the clock, by more or less than the tests took.
    const { at } = await readHead(api().road.database.session)
    expect(
      (
        await liveBy(api().road.database, at + 10_000).submit(
          markSilent([{ kind: 'DEVICE', provider: '', name: 'quiet' }], 0),
        )
      ).marked,
    ).toBe(1)
    expect((await stream.data()).deployments).toMatchObject({ rows: [{ deployment: { deploymentId: 'q' } }] })
    await api().report({ reporter: 'quiet', deploymentId: 'q', state: 'FAILED' })
    expect((await stream.data()).deployments).toMatchObject({ rows: [], removed: [expect.any(String)] })
  })
})
