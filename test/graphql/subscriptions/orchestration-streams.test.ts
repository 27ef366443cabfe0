/** The defects of EMCO's own stream (docs/wire.md §2.4), each tested to work here. */
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { stores } from '../../support/databases/stores.ts'
import { type RunningApp, startApp } from '../../support/servers/app.ts'
import { type Answer, type Emco, newContext, newGroup, shownDeployment } from '../../support/systems/emco.ts'
import { type Stream, transports } from '../clients.ts'
import { applyAny, liveListOf, withoutIds } from './live-list-client.ts'

const changes = `subscription ($filter: ChangeFilter, $after: Revision) { changes(filter: $filter, after: $after) { cursor change {
  __typename revision at observedAt kind
  ... on ResourceStatusChanged { component reason fromSync toSync fromPresence toPresence fromReadiness toReadiness
    resource { name instance { instanceId } } }
  ... on InstanceStatusChanged { fromStatus toStatus instance { instanceId } }
  ... on LifecycleActionRecorded { action { state } }
  ... on ConnectivityChanged { fromConnectivity toConnectivity target { name } }
} } }`
const rollout = `subscription ($key: RolloutKey!) { rollout(key: $key) { cursor rollout {
  state status readiness instance { instanceId } resourceCounts { total readiness { ready pending failed } }
} } }`
const counts = `subscription ($filter: ResourceFilter) { resourceCounts(filter: $filter) { cursor counts {
  total sync { applied pending failed } readiness { ready pending }
} } }`

describe.each(stores)('a subscriber of an orchestrator on $name', (store) => {
  const [webSocket] = transports
  let server: RunningApp
  let emco: Emco
  const open: Stream[] = []
  beforeAll(async () => {
    server = await startApp({ store })
  })
  afterAll(() => server.stop())
  afterEach(async () => {
    for (const stream of open.splice(0)) await stream.close()
  })

  const watch = (document: string, variables: Record<string, unknown> = {}): Stream => {
    if (!webSocket) throw new Error('there is no transport')
    const stream = webSocket.watch(`${server.url}/graphql`, document, variables)
    open.push(stream)
    return stream
  }
  /** Reads until an event matches; returns it with the events before. */
  const until = async (stream: Stream, field: string, wanted: (payload: Answer) => boolean): Promise<Answer[]> => {
    const seen: Answer[] = []
    for (;;) {
      const { [field]: payload } = await stream.data()
      seen.push(payload)
      if (wanted(payload)) return seen
    }
  }
  /** All new events. */
  const follow = async (filter: object): Promise<Stream> => {
    const { revision } = await server.query('{ revision }')
    return watch(changes, { filter, after: revision })
  }
  const start = async (...resources: readonly string[]) => {
    emco = newGroup(server)
    const context = newContext()
    await emco.act('Created', 'Approved', `Instantiated ${context}`)
    await emco.apply(
      context,
      resources.map((name) => ({ name })),
    )
    return context
  }

  it('gets the present first', async () => {
    const context = await start('a', 'b')
    await emco.show(context, { deploymentStatuses: [shownDeployment('a')] })
    const stream = watch(rollout, { key: emco.key })
    expect((await stream.data()).rollout.rollout).toEqual({
      state: 'INSTANTIATED',
      status: 'INSTANTIATED',
      readiness: 'PENDING',
      instance: { instanceId: context },
      resourceCounts: { total: 2, readiness: { ready: 1, pending: 1, failed: 0 } },
    })
    const counted = watch(counts, { filter: { instanceIds: [context] } })
    expect((await counted.data()).resourceCounts.counts).toMatchObject({ total: 2, sync: { applied: 2 } })
  })

  it('can subscribe before the rollout exists, and stays through instances', async () => {
    emco = newGroup(server)
    const stream = watch(rollout, { key: emco.key })
    expect((await stream.data()).rollout.rollout).toBeNull()
    const [a, b] = [newContext(), newContext()]
    await emco.act('Created', 'Approved', `Instantiated ${a}`)
    const isOf = (context: string) => (update: Answer) => update.rollout?.instance?.instanceId === context
    await until(stream, 'rollout', isOf(a))
    await emco.apply(a, [{ name: 'x' }])
    await until(stream, 'rollout', ({ rollout: one }) => one.status === 'INSTANTIATED')
    await emco.act('Terminated')
    await emco.apply(a, [{ name: 'x', status: 'Deleted' }])
    await until(stream, 'rollout', ({ rollout: one }) => one.status === 'TERMINATED')
    await emco.act(`Instantiated ${b}`)
    const [, ...later] = await until(stream, 'rollout', isOf(b))
    await emco.apply(b, [{ name: 'x' }, { name: 'y' }])
    const [{ rollout: last }] = (
      await until(stream, 'rollout', ({ rollout: one }) => one.status === 'INSTANTIATED')
    ).slice(-1)
    expect(last).toMatchObject({ instance: { instanceId: b }, resourceCounts: { total: 2 } })
    for (const { cursor } of later) expect(Number(cursor)).toBeGreaterThan(0)
  })

  it('gets only changes that match its filter', async () => {
    const a = await start('x')
    const groupOfA = emco
    const b = await start('x')
    const first = watch(counts, { filter: { instanceIds: [a] } })
    const second = watch(counts, { filter: { instanceIds: [b] } })
    const third = watch(counts, { filter: { instanceIds: [b], sync: ['FAILED'] } })
    await Promise.all([first, second, third].map((stream) => stream.data()))
    const told = await follow({ instanceIds: [b], kinds: ['RESOURCE_STATUS_CHANGED'] })
    const total = async (stream: Stream) => (await stream.data()).resourceCounts.counts.total
    await emco.apply(b, [{ name: 'y' }])
    expect(await total(second)).toBe(2)
    await groupOfA.apply(a, [{ name: 'q' }])
    await emco.apply(b, [{ name: 'z', status: 'Failed' }])
    expect(await total(second)).toBe(3)
    // The first event of each is its own: none of the others' came before.
    expect(await total(first)).toBe(2)
    expect(await total(third)).toBe(1)
    const seen = await until(told, 'changes', ({ change }) => change.resource.name === 'z')
    expect(seen.map(({ change }) => [change.resource.name, change.resource.instance.instanceId])).toEqual([
      ['y', b],
      ['z', b],
    ])
  })

  it('gets failures, retries, terminations and deletions, with time, reason and cursor', async () => {
    const context = await start('a')
    const stream = await follow({ instanceIds: [context] })
    const wanted: Record<string, (change: Answer) => boolean> = {
      failed: ({ toSync }) => toSync === 'FAILED',
      retrying: ({ toSync }) => toSync === 'RETRYING',
      notReady: ({ toReadiness, reason }) => toReadiness === 'PENDING' && typeof reason === 'string',
      ready: ({ fromReadiness, toReadiness }) => fromReadiness === 'PENDING' && toReadiness === 'READY',
      vanished: ({ fromPresence, toPresence }) => fromPresence === 'PRESENT' && toPresence === 'NOT_PRESENT',
      terminating: ({ toStatus }) => toStatus === 'TERMINATING',
      deleted: ({ toSync }) => toSync === 'DELETED',
      terminated: ({ toStatus }) => toStatus === 'TERMINATED',
    }
    await emco.apply(context, [{ name: 'a', status: 'Failed' }])
    await emco.apply(context, [{ name: 'a', status: 'Retrying' }])
    await emco.apply(context, [{ name: 'a' }])
    await emco.show(context, { deploymentStatuses: [shownDeployment('a', false)] })
    await emco.show(context, { deploymentStatuses: [shownDeployment('a')] })
    await emco.show(context, { deploymentStatuses: [] })
    await emco.act('Terminated')
    await emco.apply(context, [{ name: 'a', status: 'Deleted' }])
    const seen = await until(stream, 'changes', ({ change }) => change?.toStatus === 'TERMINATED')
    for (const [name, test] of Object.entries(wanted))
      expect([name, seen.filter(({ change }) => test(change)).length > 0]).toEqual([name, true])
    const revisions = seen.map(({ change }) => Number(change.revision))
    expect(revisions).toEqual(revisions.toSorted((a, b) => a - b))
    expect(seen.map(({ cursor }) => cursor)).toEqual(seen.map(({ change }) => change.revision))
    for (const { change } of seen) expect(Date.parse(change.at)).toBeGreaterThan(0)
  })

  it('never gets `not ready` because a report could not be accepted', async () => {
    const context = await start('a')
    await emco.show(context, { deploymentStatuses: [shownDeployment('a')] })
    const stream = watch(rollout, { key: emco.key })
    expect((await stream.data()).rollout.rollout.readiness).toBe('READY')
    const path = `${emco.base}/resource-bundle-states/p%2Bedge01`
    const label = { metadata: { labels: { 'emco/deployment-id': `${context}-sink` } } }
    for (const body of [
      {},
      { ...label, status: { deploymentStatuses: [] }, metadata: {} },
      { metadata: { labels: { 'emco/deployment-id': '404404-sink' } } },
    ])
      expect((await emco.call('PUT', path, body)).status).toBeGreaterThanOrEqual(400)
    expect((await emco.call('POST', `${emco.base}/instances/${context}/resources`, { resources: 1 })).status).toBe(422)
    await emco.apply(context, [{ name: 'b', status: 'Pending' }])
    const seen = await until(stream, 'rollout', ({ rollout: one }) => one.resourceCounts.total === 2)
    // Only the new instance, which does not exist yet, is waited for.
    expect(seen.map(({ rollout: one }) => one.resourceCounts.readiness.ready)).toEqual(seen.map(() => 1))
  })

  it('that does not read delays no other subscriber', async () => {
    const context = await start('a')
    const idle = watch(rollout, { key: emco.key })
    await idle.data()
    const stream = watch(counts, { filter: { instanceIds: [context] } })
    await stream.data()
    for (let n = 0; n < 40; n += 1) await emco.apply(context, [{ name: `r${n}` }])
    const seen = await until(stream, 'resourceCounts', (update) => update.counts.total === 41)
    expect(seen.length).toBeGreaterThan(0)
    const [latest] = (await until(idle, 'rollout', (update) => update.rollout.resourceCounts.total === 41)).slice(-1)
    expect(latest.cursor).toBe(seen.at(-1)?.cursor)
  })

  it('has a live list that equals the query at each cursor, also after it resumes and through instances', async () => {
    const documents = liveListOf('resources', 'name component sync presence readiness reason revision')
    const context = await start('a', 'b', 'c')
    const filter = { deploymentIds: [context] }
    const ofGroup = { where: { or: [filter, { reasons: ['CrashLoopBackOff'] }] }, sync: ['APPLIED', 'FAILED'] }
    const b = newContext()
    const lists = [
      { filter, orderBy: { field: 'READINESS', direction: 'DESC' }, first: 2 },
      { filter: { apps: ['sink'] }, orderBy: { field: 'CHANGED', direction: 'DESC' }, first: 4 },
      { filter: ofGroup, orderBy: { field: 'NAME' }, first: 3 },
      { filter: { where: { or: [filter, { deploymentIds: [b] }] } }, first: 3 },
    ]
    const states = lists.map((list) => ({ list, rows: [] as readonly { readonly id: string }[], after: '' }))
    const phases = [
      async () => {
        await emco.show(context, { deploymentStatuses: [shownDeployment('b'), shownDeployment('c', false)] })
        await emco.apply(context, [{ name: 'd' }, { name: 'a', status: 'Failed' }, { name: 'other', app: 'source' }])
      },
      async () => {
        await emco.apply(context, [{ name: 'b', status: 'Deleted' }, { name: 'e' }])
        await emco.show(context, { deploymentStatuses: [shownDeployment('c'), shownDeployment('d')] })
      },
      async () => {
        await emco.act('Terminated', `Instantiated ${b}`)
        await emco.apply(b, [{ name: 'a' }, { name: 'z' }])
      },
    ]
    for (const [turn, phase] of phases.entries()) {
      const streams = states.map((state) => {
        const stream = watch(documents.subscription, { ...state.list, after: state.after || undefined })
        const following = (async () => {
          for (;;) {
            const { list: update } = await stream.data()
            expect([update.isSnapshot, update.reset]).toEqual([state.after === '', null])
            state.after = String(update.cursor)
            state.rows = applyAny(state.rows, update)
            const { list: queried } = await server.query(documents.query, { ...state.list, at: state.after })
            expect(withoutIds(state.rows)).toEqual(queried.nodes)
            expect(update.hasNextPage).toBe(queried.pageInfo.hasNextPage)
          }
        })()
        return { stream, ended: following.catch((error: unknown) => error) }
      })
      await phase()
      for (const state of states) {
        const { list: queried } = await server.query(documents.query, state.list)
        await expect.poll(() => (state.after === '' ? null : withoutIds(state.rows))).toEqual(queried.nodes)
        if (turn < 2) expect(queried.nodes.length).toBeGreaterThan(1)
      }
      for (const { stream, ended } of streams) {
        await stream.close()
        expect(await ended).toMatchObject({ message: 'the stream is complete' })
      }
      // What happens while nothing is connected.
      await emco.apply(turn === 2 ? b : context, [{ name: `between-${turn}` }])
    }
  })

  it('gets changes of a cluster’s connectivity', async () => {
    emco = newGroup(server)
    const name = `edge-${newContext()}`
    const stream = await follow({ kinds: ['CONNECTIVITY_CHANGED'] })
    const path = `/v2/cluster-providers/p/clusters/${name}/connectivity`
    for (const connectivity of ['Available', 'Available', 'Retrying', 'Unknown'])
      await emco.call('PUT', path, { connectivity })
    const seen = await until(stream, 'changes', ({ change }) => change.toConnectivity === 'UNKNOWN')
    expect(seen.map(({ change }) => [change.target.name, change.fromConnectivity, change.toConnectivity])).toEqual([
      [name, 'UNKNOWN', 'ONLINE'],
      [name, 'ONLINE', 'RETRYING'],
      [name, 'RETRYING', 'UNKNOWN'],
    ])
  })
})
