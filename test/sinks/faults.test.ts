/**
 * Whatever becomes of resources, receivers and replicas: in the end the inventory holds what is there, a callback's receiver can say what is
 * there, and a webhook's has had every change that its filter wants, in order, and nothing else.
 */
import fc from 'fast-check'
import { afterEach, describe, expect, it } from 'vitest'
import { toDetail } from '../../src/dialects/kubernetes/detail.ts'
import type { Change } from '../../src/domain/change.ts'
import { resourceBundle } from '../../src/domain/rollout.ts'
import { removeInstance, reportInstance, reportInstanceStatus } from '../../src/ingest/commands/bundle.ts'
import type { AaiConfig } from '../../src/sinks/aai.ts'
import { createOutgoing, type Outgoing } from '../../src/sinks/compose.ts'
import { readRange } from '../../src/store/connection/log-head.ts'
import { readLog } from '../../src/store/read/changes.ts'
import { instanceById } from '../../src/store/read/instances.ts'
import { listResources } from '../../src/store/read/resources.ts'
import { createSink, listSinks, sinksByKey } from '../../src/store/sinks/sinks.ts'
import { pruneHistory } from '../../src/store/write/housekeeping.ts'
import { type Aai, startAai } from '../support/aai.ts'
import { type Received, type Receiver, startReceiver } from '../support/receiver.ts'
import { createRoad, type Road } from '../support/road.ts'
import { type EmptyStore, stores } from '../support/stores.ts'

const fast = { interval: 5_000, backOff: { first: 5, longest: 40 }, timeout: 400 }

interface Replica {
  readonly road: Road
  readonly outgoing: Outgoing
  stop(): Promise<void>
}

describe.each(stores)('sinks on $name', (store) => {
  const isShared = store.name === 'PostgreSQL'
  const ending: (() => Promise<void>)[] = []
  afterEach(async () => {
    for (const end of ending.splice(0).reverse()) await end()
  })
  const use = async <T extends { close(): Promise<void> }>(thing: Promise<T>): Promise<T> => {
    const made = await thing
    ending.push(() => made.close())
    return made
  }
  const startStore = async (): Promise<EmptyStore> => {
    const empty = await store.create()
    ending.push(() => empty.drop())
    return empty
  }
  const start = async (
    on: EmptyStore,
    {
      aai = null,
      after,
      ...options
    }: { aai?: AaiConfig | null; clock?: () => number; giveUpAfter?: number; after?: Replica } = {},
  ): Promise<Replica> => {
    // A PGlite in memory is gone when it is closed: there only what tells the sinks is started again.
    const kept = isShared ? undefined : after?.road
    const road = kept ?? (await createRoad(await on.open()))
    const { database, feed } = road
    const outgoing = createOutgoing({
      database,
      feed,
      aai,
      allow: ['127.0.0.1'],
      publicUrl: 'http://rollcall.test',
      clock: Date.now,
      ...fast,
      ...options,
    })
    let isStopped = false
    const stop = async (): Promise<void> => {
      if (isStopped) return
      isStopped = true
      await outgoing.stop()
      if (isShared) await road.close()
    }
    if (!isShared && !kept) ending.push(() => road.close())
    ending.push(stop)
    return { road, outgoing, stop }
  }

  const tell = ({ writer }: Road, instanceId: string) =>
    writer.submit(
      reportInstance({
        instanceId,
        rollout: resourceBundle('rb', 'v1', 'profile'),
        cloudRegion: 'region',
        component: 'rb',
        reportedState: 'INSTALLED',
        isEnding: false,
        resources: [],
        document: JSON.stringify({ id: instanceId }),
      }),
    )
  const show = ({ writer }: Road, instanceId: string, objects: Readonly<Record<string, number>>) =>
    writer.submit(
      reportInstanceStatus(
        instanceId,
        Object.entries(objects).map(([id, generation]) => {
          const [kind = '', name = ''] = id.split('/')
          const detail = { kind, metadata: { name, labels: { generation: String(generation) } } }
          return {
            group: kind === 'Deployment' ? 'apps' : '',
            version: 'v1',
            kind,
            name,
            namespace: 'ns',
            assessment: { readiness: generation % 2 ? 'READY' : 'PENDING', reason: null, message: null },
            detail: toDetail(detail),
          }
        }),
      ),
    )

  const things = ['Deployment/a', 'Deployment/b', 'Service/c', 'Pod/d']
  const step = fc.oneof(
    {
      weight: 5,
      arbitrary: fc.record({
        do: fc.constant('show' as const),
        instance: fc.constantFrom('one', 'two'),
        objects: fc.subarray(things),
        generation: fc.integer({ min: 1, max: 4 }),
      }),
    },
    { weight: 1, arbitrary: fc.record({ do: fc.constant('remove' as const), instance: fc.constant('two') }) },
    {
      weight: 3,
      arbitrary: fc.record({
        do: fc.constant('fault' as const),
        of: fc.constantFrom('callback', 'webhook', 'aai'),
        how: fc.constantFrom('answer 500', 'answer 429', 'drop', 'stall', 'fine'),
      }),
    },
    { weight: 2, arbitrary: fc.record({ do: fc.constant('restart' as const) }) },
    { weight: 1, arbitrary: fc.record({ do: fc.constant('wait' as const) }) },
  )

  it('end right after any sequence of changes, faults and restarts', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 3, maxLength: 14 }), async (steps) => {
        const aai = await use(startAai())
        const [callback, webhook] = [await use(startReceiver()), await use(startReceiver())]
        const on = await startStore()
        const config: AaiConfig = {
          url: aai.url,
          version: 24,
          user: 'u',
          password: 'p',
          applicationId: 'Rollcall',
          includeKinds: null,
          excludeKinds: ['Pod'],
        }
        let replica = await start(on, { aai: config })
        for (const instance of ['one', 'two']) {
          await tell(replica.road, instance)
          await subscribe(replica.road, instance, callback.url)
        }
        const after = await tailOf(replica.road)
        await replica.outgoing.manager.createWebhook({
          name: 'hook',
          url: webhook.url,
          secret: null,
          filter: { kinds: ['RESOURCE_STATUS_CHANGED'], resourceKinds: ['Deployment'] },
          after,
        })
        for (const one of steps) {
          if (one.do === 'show') {
            const objects = Object.fromEntries(one.objects.map((id) => [id, one.generation]))
            await show(replica.road, one.instance, objects).catch(ignoreGone)
          } else if (one.do === 'remove') await replica.road.writer.submit(removeInstance('two')).catch(ignoreGone)
          else if (one.do === 'fault') {
            if (one.of === 'aai') aai.fail(one.how === 'answer 429' ? 429 : 500, one.how === 'fine' ? 0 : 4)
            else behave(one.of === 'callback' ? callback : webhook, one.how)
          } else if (one.do === 'restart') {
            await replica.stop()
            replica = await start(on, { aai: config, after: replica })
          } else await new Promise((resolve) => setTimeout(resolve, 20))
        }
        for (const receiver of [callback, webhook]) receiver.answer(200)
        aai.fail(500, 0)
        await settle(replica.road, { aai, callback, webhook })
        await replica.stop()
      }),
      { numRuns: 8 },
    )
  })

  /** What there is, and whether each receiver has got it. */
  async function settle(
    { database: { session } }: Road,
    { aai, callback, webhook }: { aai: Aai; callback: Receiver; webhook: Receiver },
  ): Promise<void> {
    const present: Record<string, unknown> = {}
    const wanted: string[] = []
    for (const id of ['one', 'two']) {
      const instance = await instanceById(session, id, null)
      const rows = await listResources(
        session,
        instance?.key ?? 0,
        { presence: ['PRESENT'] },
        { after: null, limit: 50, detail: 'detail' },
      )
      for (const { kind, name, detail } of rows) {
        present[`${id}/${kind}/${name}`] = detail
        if (kind !== 'Pod') wanted.push(`${id}/${kind}/${name}/${labelOf(detail)}`)
      }
    }
    const inventory = () =>
      [...aai.nodes.entries()]
        .filter(([uri]) => uri.includes('/k8s-resource/'))
        .map(([, node]) => {
          const labels = node.labels as string[]
          const id = labels.find((label) => label.startsWith('k8splugin.io/rb-instance-id='))?.split('=')[1]
          const generation = labels.find((label) => label.startsWith('generation='))?.split('=')[1]
          return `${id}/${node.kind}/${node.name}/${generation}`
        })
        .sort()
    await expect.poll(inventory, { timeout: 20_000 }).toEqual(wanted.sort())

    const told = () => {
      const known: Record<string, unknown> = {}
      for (const { body } of answered(callback)) {
        const at = (one: { GVK: { Kind: string }; name: string }) =>
          `${body['instance-id']}/${one.GVK.Kind}/${one.name}`
        const { created, modified, deleted } = body['resource-changes']
        for (const one of [...created, ...modified]) known[at(one)] = one.status
        for (const one of deleted) delete known[at(one)]
      }
      return known
    }
    await expect.poll(told, { timeout: 20_000 }).toEqual(present)

    const changes: Change[] = (await readLog(session, 0, 10_000)).filter(
      ({ kind }) => kind === 'RESOURCE_STATUS_CHANGED',
    )
    const kinds = new Map(
      (await session.run<{ key: number; kind: string }>('select key, kind from resources')).map(({ key, kind }) => [
        key,
        kind,
      ]),
    )
    const events = changes
      .filter(({ resourceKey }) => kinds.get(resourceKey ?? 0) === 'Deployment')
      .map(({ revision }) => String(revision))
    const heard = () => answered(webhook).map(({ body }) => body.id as string)
    await expect.poll(() => [...new Set(heard())], { timeout: 20_000 }).toEqual(events)
  }

  async function subscribe({ database: { session } }: Road, instanceId: string, callbackUrl: string): Promise<void> {
    const instanceKey = (await instanceById(session, instanceId, null))?.key ?? 0
    const common = { instanceKey, secret: null, filter: {}, cursor: 0 }
    const interval = { minNotifyInterval: 0, metadata: null }
    await createSink(
      session,
      { ...common, kind: 'CALLBACK', name: 'c', url: callbackUrl, settings: interval },
      Date.now(),
    )
    const belonging = {
      cloudOwner: 'o',
      cloudRegion: 'r',
      tenantId: 't',
      genericVnfId: null,
      vfModuleId: null,
      callbackUrl: null,
      request: 'asked',
      toldRequest: 'asked',
      isEnding: false,
      inService: null,
    }
    await createSink(
      session,
      { ...common, kind: 'INVENTORY', name: instanceId, url: '', settings: belonging },
      Date.now(),
    )
  }

  const fleet = async (road: Road, count: number) => {
    for (let index = 0; index < count; index += 1) await tell(road, `instance-${index}`)
  }

  it('are shared by replicas without being doubled, and taken over', async () => {
    const receiver = await use(startReceiver())
    const on = await startStore()
    const first = await start(on)
    // PGlite is one process's alone.
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
      await expect.poll(() => receiver.received.length, { timeout: 20_000 }).toBe(12 * events.length)
      for (const ids of counted().values()) expect(ids).toEqual(events)
    }
    await expectAll(first.road)
    await first.stop()
    const next = second ?? (await start(on, { after: first }))
    for (let index = 20; index < 25; index += 1) await tell(next.road, `instance-${index}`)
    await expectAll(next.road)
  })

  it('that hang delay neither others nor the road', async () => {
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
  })

  it('that were away for longer than the history is kept are told so, and go on', async () => {
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

  it('that fail for longer than is configured are paused, and go on when they are resumed', async () => {
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

  it('that lose an answer now and then are neither slowed down nor paused: failures in a row begin again', async () => {
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
    // Every second one is lost, ten seconds after the one before.
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

  it('are called no more often than they wish, with everything that came meanwhile', async () => {
    const receiver = await use(startReceiver())
    let now = Date.now()
    const { road, outgoing } = await start(await startStore(), { clock: () => now })
    await tell(road, 'one')
    // Before it is subscribed to: the first call has everything there is.
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
    // A look that finds something to tell would have told it before this one's end.
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

async function tailOf({ database: { session } }: Road): Promise<number> {
  return (await readRange(session)).tail
}

const lost = new WeakSet<Received>()

function behave(receiver: Receiver, how: string): void {
  if (how === 'fine') receiver.answer(200)
  else if (how === 'drop')
    receiver.answer((received, response) => {
      lost.add(received)
      response.destroy()
    })
  else if (how === 'stall') receiver.answer((received) => void lost.add(received))
  else
    receiver.answer((received, response) => {
      lost.add(received)
      response.writeHead(Number(how.split(' ')[1])).end()
    })
}

/** What it took: that it refused, or never answered, is to come again. */
function answered({ received }: Receiver): readonly Received[] {
  return received.filter((one) => !lost.has(one))
}

function labelOf(detail: unknown): string {
  return (detail as { metadata: { labels: { generation: string } } }).metadata.labels.generation
}

function ignoreGone(error: unknown): void {
  if (!(error instanceof Error && 'code' in error)) throw error
}
