/** Commands about deployments with the largest texts: only those of one part are in memory, and the log is the same as without parts. */
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { hearDevices, markSilent } from '../../../src/ingest/commands/connectivity.ts'
import { declareDeployments } from '../../../src/ingest/commands/declare.ts'
import { registerDevices } from '../../../src/ingest/commands/devices/register.ts'
import { resetReporterOrder } from '../../../src/ingest/commands/devices/reset-reporter-order.ts'
import { retireDevices } from '../../../src/ingest/commands/devices/retire.ts'
import { forgetDeployments, removeDeployments } from '../../../src/ingest/commands/remove.ts'
import { recordReport } from '../../../src/ingest/commands/report.ts'
import { markStalled } from '../../../src/ingest/commands/stall.ts'
import { digestOf } from '../../../src/platform/body/digest.ts'
import { readHead } from '../../../src/store/connection/log-head.ts'
import { readLog } from '../../../src/store/read/changes/changes.ts'
import { audit } from '../../../src/store/read/counts/audit.ts'
import { labels } from '../../store/read/large/largest-reports.ts'
import { report } from '../../support/clients/reports.ts'
import { stores } from '../../support/databases/stores.ts'
import { manifestUpdate } from './desired-model.ts'
import { createWatchedRoad, type WatchedRoad } from './watched-road.ts'

const count = 32
const ids = Array.from({ length: count }, (_, n) => `d-${n}`)
const message = 'x'.repeat(65_000)
const components = ['a', 'b', 'c', 'd', 'e'].map((name) => ({
  ...{ name, state: 'INSTALLING' as const, error: { code: 'E', message } },
}))
const largeReport = (deploymentId: string, seq: number) =>
  report({ reporter: 'dev', deploymentId, state: 'INSTALLING', seq: `${seq}`, components })
/** The database measures until 4 MiB. All of them are 10 MB. */
const mostHeld = 5_000_000
const place = { application: null, applicationVersion: null, components: null }
const declarations = (text: string) =>
  ids.map((deploymentId) => ({
    ...{ ...place, deviceId: 'dev', deploymentId, document: { content: text, digest: digestOf(text), size: 1 } },
  }))

describe.each(stores)('a command about deployments of 10 MB together, on $name', (store) => {
  let watched: WatchedRoad
  let keys: readonly number[]
  beforeAll(async () => {
    const empty = await store.create()
    watched = await createWatchedRoad(empty)
    const { road } = watched
    for (const [n, deploymentId] of ids.entries()) await road.writer.submit(recordReport(largeReport(deploymentId, n)))
    keys = (await road.database.session.run<{ key: number }>('select key from deployments order by key')).map(
      ({ key }) => key,
    )
    return async () => {
      expect(await audit(road.database.session)).toEqual([])
      await road.close()
      await empty.drop()
    }
  })

  async function versions(): Promise<number | undefined> {
    const [row] = await watched.road.database.session.run<{ n: number }>('select count(*)::int as n from manifests')
    return row?.n
  }

  /** The kinds of the changes in their order, each with how often it is repeated. */
  async function kindsOf(work: (road: WatchedRoad['road']) => Promise<unknown>): Promise<readonly string[]> {
    const { road, largestHeld } = watched
    const { session } = road.database
    // Another server has written, so nothing is cached.
    await session.run('update log_head set writes = writes + 1')
    const before = (await readHead(session)).revision
    expect(await largestHeld(() => work(road))).toBeLessThan(mostHeld)
    const kinds: string[] = []
    for (let after = before; after < (await readHead(session)).revision; ) {
      const changes = await readLog(session, after, 1_000)
      kinds.push(...changes.map(({ kind }) => kind))
      after = changes.at(-1)?.revision ?? expect.unreachable()
    }
    const runs = kinds.flatMap((kind, n) => (kind === kinds[n - 1] ? [] : [kind]))
    return [...runs, `${kinds.length}`]
  }

  it('marks standstills', async () => {
    const found = await watched.road.database.session.run<{ key: number; revision: number }>(
      'select key, revision from deployments',
    )
    expect(await kindsOf(({ writer }) => writer.submit(markStalled(found)))).toEqual(['DEPLOYMENT_STALLED', `${count}`])
  })

  it('declares documents, with one version of the manifest', async () => {
    const kinds = await kindsOf(async ({ writer }) => {
      const made = await writer.submit(declareDeployments(null, declarations('a'), manifestUpdate))
      expect(made).toEqual({ deploymentKeys: keys, rolloutKey: null, revision: expect.any(Number) })
    })
    expect(kinds).toEqual(['CONVERGENCE_CHANGED', `${count}`])
    expect(await versions()).toBe(1)
  })

  it('registers a device, and resets the order of its reports', async () => {
    const registration = { ...{ name: null, labels: null, parent: null, expectedInterval: null }, tokenHash: 'x' }
    expect(
      await kindsOf(async ({ writer }) => {
        await writer.submit(registerDevices([{ ...registration, deviceId: 'dev' }]))
        expect(await writer.submit(resetReporterOrder('dev'))).toMatchObject({ deployments: count })
      }),
    ).toEqual(['0'])
    const old = report({ reporter: 'dev', deploymentId: 'd-20', state: 'FAILED', seq: '1' })
    expect(await watched.road.writer.submit(recordReport(old))).toMatchObject({ verdict: 'APPLIED' })
  })

  it('removes documents, with one version of the manifest', async () => {
    expect(await kindsOf(({ writer }) => writer.submit(removeDeployments(keys, manifestUpdate)))).toEqual([
      'CONVERGENCE_CHANGED',
      `${count}`,
    ])
    expect(await versions()).toBe(2)
  })

  it('forgets deployments', async () => {
    expect(await kindsOf(({ writer }) => writer.submit(forgetDeployments(keys)))).toEqual([
      'DEPLOYMENT_FORGOTTEN',
      `${count}`,
    ])
  })

  it('retires a device with all of its deployments', async () => {
    for (const [n, deploymentId] of ids.entries())
      await watched.road.writer.submit(recordReport(largeReport(deploymentId, 100 + n)))
    await watched.road.writer.submit(declareDeployments(null, declarations('b'), manifestUpdate))
    const options = { reason: 'scrapped', withChildren: false, manifestUpdate }
    const kinds = await kindsOf(async ({ writer }) => {
      const { results } = await writer.submit(retireDevices([{ deviceId: 'dev', replacedBy: null }], options))
      expect(results).toMatchObject([{ isChanged: true, children: 0, deployments: count }])
    })
    expect(kinds).toEqual(['DEVICE_RETIRED', 'CONVERGENCE_CHANGED', 'DEPLOYMENT_FORGOTTEN', `${2 * count + 1}`])
    expect(await versions()).toBe(4)
  })
})

describe.each(stores)('a command about devices with 12 MB of labels together, on $name', (store) => {
  it('registers them, notes that they are heard and silent, and retires them', async () => {
    const empty = await store.create()
    onTestFinished(() => empty.drop())
    const { road, largestHeld } = await createWatchedRoad(empty)
    onTestFinished(() => road.close())
    const names = Array.from({ length: 80 }, (_, n) => `gw-${n}`)
    const nothing = { name: null, labels: null, parent: null, expectedInterval: 1 }
    const register = (named: readonly string[], more: object = {}) =>
      road.writer.submit(
        registerDevices(named.map((deviceId) => ({ ...nothing, deviceId, tokenHash: deviceId, ...more }))),
      )
    for (const name of names) await register([name], { labels })
    const written: (readonly [() => Promise<unknown>, unknown])[] = [
      [() => register(names), expect.anything()],
      [() => road.writer.submit(hearDevices(names)), null],
      [
        () =>
          road.writer.submit(
            markSilent(
              names.map((name) => ({ kind: 'DEVICE', provider: '', name })),
              0,
            ),
          ),
        { marked: expect.any(Number) },
      ],
      [
        () =>
          road.writer.submit(
            retireDevices(
              names.map((deviceId) => ({ deviceId, replacedBy: null })),
              { reason: 'scrapped', withChildren: false, manifestUpdate },
            ),
          ),
        expect.objectContaining({ results: names.map(() => expect.objectContaining({ isChanged: true })) }),
      ],
    ]
    for (const [write, expected] of written) {
      await road.database.session.run('update log_head set writes = writes + 1')
      let result: unknown
      // Characters of three bytes.
      expect(await largestHeld(async () => (result = await write()))).toBeLessThan(mostHeld / 3)
      expect(result).toEqual(expected)
    }
  })
})
