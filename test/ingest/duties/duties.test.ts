/** Background duties are isolated: one that fails, or that does not end, keeps no other from being done, and every server shows which. */
import { describe, expect, it, onTestFinished } from 'vitest'
import { defaultTimeouts } from '../../../src/api/rest/guard.ts'
import { declareDeployments } from '../../../src/ingest/commands/declare.ts'
import { registerDevices } from '../../../src/ingest/commands/devices/register.ts'
import { recordReport } from '../../../src/ingest/commands/report.ts'
import { createDuties, type Duty, type Turn } from '../../../src/ingest/duties/duties.ts'
import { createMaintenance, type Maintenance } from '../../../src/ingest/duties/maintenance.ts'
import { readHead } from '../../../src/store/connection/log-head.ts'
import type { Database, Session } from '../../../src/store/database.ts'
import { listDuties } from '../../../src/store/duties.ts'
import { pageDeployments } from '../../../src/store/read/deployments.ts'
import { targetByName } from '../../../src/store/read/targets/targets.ts'
import { report } from '../../support/clients/reports.ts'
import { openFresh } from '../../support/databases/databases.ts'
import { type Store, stores } from '../../support/databases/stores.ts'
import { startApp } from '../../support/servers/app.ts'
import { createRoad } from '../../support/servers/road.ts'

const day = 86_400_000

/** A list is the answer. Without one, the database answers. */
type Meddle = (text: string, parameters?: readonly unknown[]) => Promise<unknown>

async function open(store: Store, meddle: Meddle) {
  const road = await createRoad(await openFresh(store), { writer: { clock: () => now } })
  onTestFinished(() => road.close())
  let now = Date.now()
  const failed: string[] = []
  const keeper: Maintenance = createMaintenance({
    database: meddling(road.database, meddle),
    writer: road.writer,
    offlineAfter: null,
    stalling: { factor: 3, after: 600 },
    historyDays: 1,
    forgetRemovedDays: null,
    clock: () => now,
    interval: 2 ** 30,
    failed: (_, duty) => void failed.push(duty),
  })
  onTestFinished(() => keeper.stop())
  const promise = { deviceId: 'quiet', name: null, labels: null, parent: null, expectedInterval: 30, tokenHash: 'x' }
  await keeper.tick()
  await road.writer.submit(registerDevices([promise]))
  await road.writer.submit(recordReport(report({ reporter: 'quiet', deploymentId: 'd' })))
  return {
    road,
    keeper,
    failed,
    pass: (ms: number) => {
      now += ms
    },
    tail: async () => (await readHead(road.database.session)).tail,
    connectivity: async () => (await targetByName(road.database.session, 'DEVICE', '', 'quiet'))?.connectivity,
    duties: async () =>
      Object.fromEntries((await listDuties(road.database.session)).map((duty) => [duty.name, duty] as const)),
  }
}

/** Every statement passes `meddle` first. */
function meddling(database: Database, meddle: Meddle): Database {
  const run: Session['run'] = async <T extends object>(text: string, parameters?: readonly unknown[]) => {
    const rows = await meddle(text, parameters)
    return Array.isArray(rows) ? (rows as T[]) : database.session.run<T>(text, parameters)
  }
  return { ...database, session: { ...database.session, run } }
}

describe.each(stores)('a background duty on $name', (store) => {
  it('that follows deployments goes on with short statements where long ones are cancelled', async () => {
    const mostTimely = 80
    const { road, keeper, duties } = await open(store, async (text, [, limit] = []) => {
      if (/where name = 'search'/.test(text) && Number(limit) > mostTimely) throw new Error('cancelled')
    })
    await Promise.all(
      Array.from({ length: 3 * mostTimely }, (_, index) =>
        road.writer.submit(recordReport(report({ reporter: `edge-${index}`, deploymentId: 'd' }))),
      ),
    )
    const { revision } = await readHead(road.database.session)
    for (let round = 0; round < 6; round += 1) await keeper.tick()
    expect(await duties()).toMatchObject({ search: { cursor: revision } })
  })

  it('that fails keeps no other from being done, and its failures are counted', async () => {
    let isBroken = true
    const { keeper, failed, pass, tail, connectivity, duties } = await open(store, async (text) => {
      if (isBroken && /steps_in_progress|duties where name = 'standstill'/.test(text)) throw new Error('cancelled')
    })
    const before = await tail()
    for (let round = 0; round < 3; round += 1) {
      pass(31_000)
      await keeper.tick()
    }
    expect(failed).toEqual(['standstill', 'standstill', 'standstill', 'standstill'])
    expect(await connectivity()).toBe('OFFLINE')
    pass(2 * day)
    await keeper.tick()
    expect(await tail()).toBeGreaterThan(before)
    expect(await duties()).toMatchObject({
      standstill: { failures: 5, succeededAt: null },
      silence: { failures: 0, succeededAt: expect.any(Number) },
      retention: { failures: 0, succeededAt: expect.any(Number) },
    })
    isBroken = false
    pass(31_000)
    await keeper.tick()
    expect((await duties()).standstill).toMatchObject({ failures: 0, succeededAt: expect.any(Number) })
  })

  it('that does not end keeps no other from being done, round after round', async () => {
    const stuck = Promise.withResolvers<void>()
    let isStuck = false
    const { keeper, pass, tail, connectivity, duties } = await open(store, async (text) => {
      if (isStuck && /duties where name/.test(text)) await stuck.promise
    })
    onTestFinished(() => stuck.resolve())
    isStuck = true
    const before = await tail()
    pass(31_000)
    void keeper.tick()
    await expect.poll(connectivity).toBe('OFFLINE')
    pass(2 * day)
    const rounds = async () => {
      void keeper.tick()
      return tail()
    }
    await expect.poll(rounds).toBeGreaterThan(before)
    const { standstill } = await duties()
    stuck.resolve()
    await keeper.tick()
    expect((await duties()).standstill?.succeededAt).toBeGreaterThan(standstill?.succeededAt ?? 0)
  })

  it('is shown by every server, in its metrics and by /readyz', async () => {
    const server = await startApp({
      store,
      env: { HISTORY_DAYS: '1' },
      timeouts: { ...defaultTimeouts, duties: 200 },
    })
    onTestFinished(() => server.stop())
    const verbose = async () => (await fetch(`${server.url}/readyz?verbose`)).json()
    await expect
      .poll(async () => (await verbose()).duties.map(({ name }: { name: string }) => name))
      .toEqual([
        'alerts',
        'batches',
        'checkpoints',
        'facets',
        'partitions',
        'retention',
        'search',
        'signatures',
        'silence',
        'standstill',
        'statistics',
        'summaries',
        ...(server.database.kind === 'pglite' ? ['vacuum', 'wal'] : []),
        'windows',
      ])
    const { status, duties } = await verbose()
    expect(status).toBe('ready')
    for (const duty of duties) {
      expect(duty).toMatchObject({ failures: 0, lastSuccess: expect.stringMatching(/Z$/) })
      expect(duty.ageSeconds).toBeLessThan(60)
    }
    const metrics = await (await fetch(`${server.url}/metrics`)).text()
    for (const name of ['retention', 'silence', 'standstill']) {
      expect(metrics).toMatch(new RegExp(`rollcall_duty_age_seconds\\{duty="${name}"\\} \\d+\n`))
      expect(metrics).toContain(`rollcall_duty_failures{duty="${name}"} 0`)
    }
    expect(await (await fetch(`${server.url}/readyz`)).json()).toEqual({ status: 'ready' })
  })
})

describe.each(stores)('the duty that follows durations on $name', (store) => {
  it('reads more entries at a time, the longer it is behind', async () => {
    const asked: number[] = []
    const { keeper, pass } = await open(store, async (text, [cursor, entries, newest] = []) => {
      if (!text.includes('insert into step_durations')) return
      asked.push(Number(entries))
      return [{ cursor: asked.length < 10 ? Number(cursor) + 1 : Number(newest), hasMore: asked.length < 10 }]
    })
    pass(61_000)
    await keeper.tick()
    expect(asked).toEqual(
      store.name === 'PostgreSQL'
        ? [50, 100, 200, 400, 800, 1_600, 2_000, 2_000, 2_000, 2_000]
        : [50, 100, 200, ...Array.from({ length: 7 }, () => 250)],
    )
    expect(asked.length).toBe(10)
  })
})

describe.each(stores)('the time of a duty on $name', (store) => {
  it('is its own: when its budget is spent, the rest is done in the next round, before its interval is over', async () => {
    const database = await openFresh(store)
    const done: string[] = []
    const duty = (name: string, budget: number): Duty => ({
      name,
      interval: 60_000,
      budget,
      async run({ isOver }) {
        done.push(name)
        return !isOver()
      },
    })
    const duties = createDuties(database.session, [duty('spent', -1), duty('quick', 10_000)], () => {})
    const turn = (now: number): Turn => ({ now, listeningSince: 0, isOver: () => false })
    await duties.round(turn(0))
    await duties.round(turn(5_000))
    await duties.round(turn(60_000))
    expect(done).toEqual(['spent', 'quick', 'spent', 'spent', 'quick'])
  })

  it('goes on, and is noted, when the clock of the database goes back', async () => {
    const database = await openFresh(store)
    const done: number[] = []
    const hourly: Duty = {
      name: 'hourly',
      interval: 3_600_000,
      budget: 10_000,
      async run({ now }) {
        done.push(now)
        return true
      },
    }
    const duties = createDuties(database.session, [hourly], () => {})
    for (const now of [2 * day, day, day + 5_000]) await duties.round({ now, listeningSince: 0, isOver: () => false })
    expect(done).toEqual([2 * day, day])
    expect(await listDuties(database.session)).toMatchObject([{ name: 'hourly', succeededAt: day }])
  })
})

describe.each(stores)('the duty that follows deployments for searches on $name', (store) => {
  it('keeps a declared deployment in searches that its gateway claims without a change', async () => {
    const { road, keeper } = await open(store, async () => null)
    const { session } = road.database
    const none = { name: null, labels: null, parent: null, expectedInterval: null, tokenHash: 'of plant' }
    const devices = [
      { ...none, deviceId: 'plant' },
      { ...none, deviceId: 'sensor', parent: 'plant', tokenHash: 'of sensor' },
    ]
    await road.writer.submit(registerDevices(devices))
    const declared = { deploymentId: 'd-2', deviceId: 'sensor', application: null, applicationVersion: null }
    const { deploymentKeys } = await road.writer.submit(declareDeployments(null, [{ ...declared, components: null }]))
    await keeper.tick()
    const said = report({ reporter: 'plant', deviceId: 'sensor', deploymentId: 'd-2', state: 'PENDING' })
    expect(await road.writer.submit(recordReport(said))).toMatchObject({ verdict: 'UNCHANGED' })
    await keeper.tick()
    const limits = { small: 0, candidates: 1_000, walked: 0, counted: 0, scanned: 0 }
    const page = { size: 9, after: null, before: null, backward: false }
    const found = await pageDeployments(session, { of: 'fleet' }, { text: 'PLANT' }, 'NAME', page, null, limits)
    expect(found.get(0)?.edges.map(({ node }) => node.key)).toEqual(deploymentKeys)
  })
})
