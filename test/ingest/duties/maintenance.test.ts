import { afterEach, describe, expect, it } from 'vitest'
import type { DeploymentState } from '../../../src/domain/values.ts'
import { recordAudit } from '../../../src/ingest/commands/api-access.ts'
import { hearDevices } from '../../../src/ingest/commands/connectivity.ts'
import { declareDeployments } from '../../../src/ingest/commands/declare.ts'
import { registerDevices } from '../../../src/ingest/commands/devices/register.ts'
import { recordReport } from '../../../src/ingest/commands/report.ts'
import { createMaintenance, type Maintenance, type MaintenanceOptions } from '../../../src/ingest/duties/maintenance.ts'
import { digestOf } from '../../../src/platform/body/digest.ts'
import { readHead } from '../../../src/store/connection/log-head.ts'
import { countDeployments } from '../../../src/store/read/counts/deployment-counts.ts'
import { findDeployments } from '../../../src/store/read/deployments.ts'
import { targetByName } from '../../../src/store/read/targets/targets.ts'
import { report } from '../../support/clients/reports.ts'
import { type Store, stores } from '../../support/databases/stores.ts'
import { createRoad, type Road } from '../../support/servers/road.ts'
import { manifestUpdate } from '../commands/desired-model.ts'

const closing: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close()
})

const day = 24 * 60 * 60 * 1000

/** A road whose clock is the test's, and a timekeeper that only ticks when told. */
async function open(store: Store, options: Partial<MaintenanceOptions> = {}) {
  let now = Date.now()
  const clock = () => now
  const empty = await store.create()
  closing.push(() => empty.drop())
  const database = await empty.open()
  // The log's time never goes back, and it began when the database was made.
  now = Date.now()
  const road: Road = await createRoad(database, {
    writer: { clock, offlineAfter: options.offlineAfter ?? null },
  })
  closing.push(() => road.close())
  const keeper = (): Maintenance => {
    const made = createMaintenance({
      database: road.database,
      writer: road.writer,
      offlineAfter: null,
      stalling: { factor: null, after: null },
      historyDays: null,
      forgetRemovedDays: null,
      interval: 2 ** 30,
      clock,
      ...options,
    })
    closing.push(() => made.stop())
    return made
  }
  const send = (reporter: string, state: DeploymentState = 'PENDING') =>
    road.writer.submit(recordReport(report({ reporter, deploymentId: `of-${reporter}`, state })))
  const connectivity = async (name: string) =>
    (await targetByName(road.database.session, 'DEVICE', '', name))?.connectivity
  return {
    road,
    keeper,
    send,
    connectivity,
    pass: (ms: number) => {
      now += ms
    },
  }
}

const promise = (deviceId: string, seconds: number) =>
  registerDevices([
    { deviceId, name: null, labels: null, parent: null, expectedInterval: seconds, tokenHash: `of ${deviceId}` },
  ])

describe.each(stores)('time on $name', (store) => {
  it('proves nothing about a device that promised nothing', async () => {
    const { keeper, send, connectivity, pass } = await open(store)
    const time = keeper()
    await send('quiet')
    await time.tick()
    pass(365 * day)
    // The lease was lost meanwhile: this tick begins a new watch, the next one would judge.
    await time.tick()
    pass(10_000)
    await time.tick()
    expect(await connectivity('quiet')).toBe('UNKNOWN')
  })

  it('makes a device OFFLINE that broke its promise to be heard, and ONLINE when it is heard', async () => {
    const { road, keeper, send, connectivity, pass } = await open(store)
    await road.writer.submit(promise('punctual', 30))
    const time = keeper()
    await time.tick()
    expect(await connectivity('punctual')).toBe('UNKNOWN')
    await send('punctual')
    expect(await connectivity('punctual')).toBe('ONLINE')
    pass(30_000)
    await time.tick()
    expect(await connectivity('punctual')).toBe('ONLINE')
    pass(1)
    await time.tick()
    expect(await connectivity('punctual')).toBe('OFFLINE')
    await send('punctual')
    expect(await connectivity('punctual')).toBe('ONLINE')
  })

  it('hears a child that was heard, or that promised to be, when its gateway reports about it, and no other child', async () => {
    const { road, keeper, send, connectivity, pass } = await open(store, { offlineAfter: 30 })
    await road.writer.submit(promise('gw/promised', 30))
    await send('gw/heard')
    const tell = (child: string, code: string) =>
      road.writer.submit(
        recordReport(
          report({
            reporter: 'gw',
            deviceId: child,
            deploymentId: child,
            state: 'FAILED',
            error: { code, message: 'no' },
          }),
        ),
      )
    const children = ['gw/heard', 'gw/promised', 'gw/other']
    const all = () => Promise.all(children.map(connectivity))
    const time = keeper()
    await time.tick()
    for (let round = 0; round < 3; round++) {
      for (const child of children) await tell(child, '1')
      await time.tick()
      expect(await all()).toEqual(['ONLINE', 'ONLINE', 'UNKNOWN'])
      pass(20_000)
    }
    await tell('gw/heard', '102')
    expect(await connectivity('gw/heard')).toBe('OFFLINE')
    pass(20_000)
    await time.tick()
    expect(await all()).toEqual(['OFFLINE', 'OFFLINE', 'UNKNOWN'])
  })

  it('expects every device to be heard when OFFLINE_AFTER says so', async () => {
    const { keeper, send, connectivity, pass } = await open(store, { offlineAfter: 10 })
    const time = keeper()
    await time.tick()
    await send('any')
    expect(await connectivity('any')).toBe('ONLINE')
    pass(10_001)
    await time.tick()
    expect(await connectivity('any')).toBe('OFFLINE')
  })

  it('does not take our own downtime for their silence', async () => {
    const { road, keeper, send, connectivity, pass } = await open(store)
    await road.writer.submit(promise('patient', 30))
    const before = keeper()
    await before.tick()
    await send('patient')
    await before.stop()
    pass(2 ** 32)
    const after = keeper()
    await after.tick()
    expect(await connectivity('patient')).toBe('ONLINE')
    pass(30_001)
    await after.tick()
    expect(await connectivity('patient')).toBe('OFFLINE')
  })

  it('finds a silent device behind any number of others that may be silent for longer', async () => {
    const { road, keeper, connectivity, pass } = await open(store)
    const patient = Array.from({ length: 500 }, (_, index) => `patient-${index}`)
    for (const name of patient) void road.writer.submit(promise(name, 86_400))
    await road.writer.submit(promise('punctual', 30))
    await road.writer.submit(hearDevices([...patient, 'punctual']))
    pass(2 * day)
    const time = keeper()
    await time.tick()
    pass(30_001)
    await time.tick()
    expect(await connectivity('punctual')).toBe('OFFLINE')
    expect(await connectivity('patient-0')).toBe('ONLINE')
  })

  it('is kept by one at a time', async () => {
    const { keeper, pass } = await open(store, { interval: 1_000_000 })
    const [one, other] = [keeper(), keeper()]
    expect([await one.tick(), await other.tick(), await one.tick()]).toEqual([true, false, true])
    pass(3_000_001)
    expect([await other.tick(), await one.tick()]).toEqual([true, false])
  })

  it('forgets what was removed long ago, and nothing else', async () => {
    const { road, keeper, send, pass } = await open(store, { forgetRemovedDays: 7 })
    await send('ended', 'REMOVED')
    await send('running', 'INSTALLED')
    pass(6 * day)
    await send('ended-later', 'REMOVED')
    pass(day + 1)
    await keeper().tick()
    const { session } = road.database
    const left = await Promise.all(
      ['ended', 'running', 'ended-later'].map((name) => findDeployments(session, `of-${name}`, null, null)),
    )
    expect(left.map(({ length }) => length)).toEqual([0, 1, 1])
    const counts = (await countDeployments(session, { of: 'fleet' }, {}, null)).get(0)
    expect(counts).toMatchObject({ installed: 1, removed: 1 })
  })

  it('keeps what a device removed while its manifest lists it, without asking the writer for it', async () => {
    const { road, keeper, send, pass } = await open(store, { forgetRemovedDays: 7 })
    const document = { content: 'id: of-desired', digest: digestOf('id: of-desired'), size: 14 }
    const declared = { deviceId: 'desired', deploymentId: 'of-desired', application: null, applicationVersion: null }
    await road.writer.submit(declareDeployments(null, [{ ...declared, components: null, document }], manifestUpdate))
    await send('desired', 'REMOVED')
    pass(8 * day)
    const { writes } = await readHead(road.database.session)
    await keeper().tick()
    expect(await readHead(road.database.session)).toMatchObject({ writes })
    expect(await findDeployments(road.database.session, 'of-desired', null, null)).toMatchObject([{ state: 'REMOVED' }])
  })

  it('forgets the batches of servers that ended long ago, and not those of a server that writes', async () => {
    const { road, keeper, send, pass } = await open(store)
    const { session } = road.database
    const servers = async () =>
      (await session.run<{ id: string }>('select id from batches order by id')).map(({ id }) => id)
    await send('a')
    const [own] = await servers()
    await session.run(
      `insert into batches (id, at, outcomes) select 'ended', at + interval '1 hour', '{"batch": 7}' from batches`,
    )
    const one = keeper()
    pass(29 * day)
    await one.tick()
    expect(await servers()).toEqual(['ended', own].toSorted())
    await send('b')
    pass(2 * day)
    await one.tick()
    expect(await servers()).toEqual([own])
  })

  it('removes history that is older than it may be, and never the present', async () => {
    const { road, keeper, send, pass } = await open(store, { historyDays: 1 })
    const line = {
      kind: 'MUTATION',
      caller: 'a',
      credential: 'key',
      address: '',
      outcome: 'done',
      detail: null,
    } as const
    const audit = (action: string, at: number) => road.writer.submit(recordAudit([{ ...line, action, at, times: 1 }]))
    const began = Date.now()
    await audit('old', began - day)
    for (let n = 0; n < 5; n += 1) await send('old', n % 2 ? 'INSTALLED' : 'FAILED')
    const middle = await readHead(road.database.session)
    pass(day + 1)
    await send('fresh', 'INSTALLED')
    await audit('fresh', began + day)
    await keeper().tick()
    const { session } = road.database
    const head = await readHead(session)
    expect(head.tail).toBe(middle.revision)
    expect(await session.run('select first_revision from change_log')).toEqual([
      { first_revision: middle.revision + 1 },
    ])
    expect(await session.run('select count(*) as n from reports')).toEqual([{ n: 1 }])
    expect(await session.run('select action from audit_log')).toEqual([{ action: 'fresh' }])
    expect((await countDeployments(session, { of: 'fleet' }, {}, null)).get(0)).toMatchObject({
      failed: 1,
      installed: 1,
    })
    expect(await findDeployments(session, 'of-old', null, null)).toMatchObject([{ state: 'FAILED', attempt: 1 }])
  })
})
