/**
 * After any sequence of changes, faults and restarts the inventory holds what is there, the receiver of a callback knows what is there, and
 * a webhook has had every change that its filter selects, in order, and nothing else.
 */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Change } from '../../src/domain/change.ts'
import { removeInstance } from '../../src/ingest/commands/bundle-instance.ts'
import type { AaiConfig } from '../../src/outlets/sinks/aai.ts'
import { readLog } from '../../src/store/read/changes/changes.ts'
import { instanceById } from '../../src/store/read/orchestration/instances.ts'
import { detailsOf, listResources } from '../../src/store/read/orchestration/resources.ts'
import { createSink } from '../../src/store/sinks/sinks.ts'
import { stores } from '../support/databases/stores.ts'
import { someOf } from '../support/runner/depth.ts'
import type { Road } from '../support/servers/road.ts'
import { type Aai, startAai } from '../support/systems/aai.ts'
import { type Received, type Receiver, startReceiver } from '../support/systems/receiver.ts'
import { labelOf, show, tailOf, tell, useSinks } from './harness.ts'

describe.each(stores)('sinks on $name', (store) => {
  const { use, startStore, start } = useSinks(store)

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

  it('have delivered everything after any sequence of changes, faults and restarts', async () => {
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
        let replica = await start(on, { aai: config, timeout: 400 })
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
            replica = await start(on, { aai: config, timeout: 400, after: replica })
          } else await new Promise((resolve) => setTimeout(resolve, 20))
        }
        for (const receiver of [callback, webhook]) receiver.answer(200)
        aai.fail(500, 0)
        await settle(replica.road, { aai, callback, webhook })
        await replica.stop()
      }),
      { numRuns: someOf(3, 8) },
    )
  })

  /** Waits until each receiver has everything. */
  async function settle(
    { database: { session } }: Road,
    { aai, callback, webhook }: { aai: Aai; callback: Receiver; webhook: Receiver },
  ): Promise<void> {
    const present: Record<string, unknown> = {}
    const wanted: string[] = []
    for (const id of ['one', 'two']) {
      const instance = await instanceById(session, id, null)
      const rows = (
        await Array.fromAsync(listResources(session, instance?.key ?? 0, { presence: ['PRESENT'] }, 50))
      ).flat()
      const details = await detailsOf(
        session,
        rows.map(({ key }) => key),
      )
      for (const { key, kind, name } of rows) {
        const detail = details.get(key)?.detail
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
    await expect.poll(inventory).toEqual(wanted.sort())

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
    await expect.poll(told).toEqual(present)

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
    await expect.poll(() => [...new Set(heard())]).toEqual(events)
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
})

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

/** What it accepted. What it refused or did not answer comes again. */
function answered({ received }: Receiver): readonly Received[] {
  return received.filter((one) => !lost.has(one))
}

function ignoreGone(error: unknown): void {
  if (!(error instanceof Error && 'code' in error)) throw error
}
