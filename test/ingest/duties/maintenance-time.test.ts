/** Planned downtime through the failures of servers and clocks, and through the changes of local time. */
import { expect, it } from 'vitest'
import { moveMaintenance } from '../../../src/ingest/commands/maintenance.ts'
import { createMaintenanceWindows } from '../../../src/ingest/duties/maintenance-windows.ts'
import { readHead } from '../../../src/store/connection/log-head.ts'
import { countDeployments } from '../../../src/store/read/counts/deployment-counts.ts'
import { pruneHistory } from '../../../src/store/write/retention.ts'
import { stores } from '../../support/databases/stores.ts'
import { minute, openMaintained } from './maintenance-harness.ts'

const [store = expect.unreachable()] = stores

it('goes on with another server, and ends for the first that comes back', async () => {
  const { register, plan, pass, sleep, device, one, relook, kinds } = await openMaintained(store)
  await register('press', 'a')
  await plan('a', 0, 10)
  await pass(1)
  await one.stop()
  sleep(1)
  await relook()
  expect(await device('press')).toMatchObject({ reason: 'power' })
  expect(await kinds()).toHaveLength(2)
  // No server runs at the end of the window, nor while another one lasts.
  await plan('a', 20, 30)
  sleep(60)
  await relook()
  expect(await device('press')).toMatchObject({ connectivity: 'UNKNOWN', reason: null })
  expect((await kinds()).filter((kind) => kind === 'MAINTENANCE_STARTED')).toHaveLength(1)
})

it('stays begun if the clock is set back, and is over if it was set forward', async () => {
  const { session, register, plan, pass, sleep, device, one, kinds } = await openMaintained(store)
  await register('press', 'a')
  await plan('a', 0, 10)
  await pass(1)
  sleep(-30)
  await one.tick()
  expect(await device('press')).toMatchObject({ reason: 'power' })
  sleep(60)
  await one.tick()
  sleep(-60)
  await one.tick()
  expect(await device('press')).toMatchObject({ reason: null })
  expect(await kinds()).toEqual(['MAINTENANCE_PLANNED', 'MAINTENANCE_STARTED', 'MAINTENANCE_ENDED'])
  expect(await session.run('select 1 from maintenance_periods where ended_at < began_at')).toEqual([])
})

it('keeps its local time through the changes of clocks', async () => {
  const { session, road, plan, now } = await openMaintained(store)
  // Half past two, which does not exist on the Sunday on which the clocks go forward.
  const beginsAt = Date.parse('2026-03-15T01:30:00Z')
  await plan('a', 0, 1, {
    ...{ beginsAt, endsAt: beginsAt + 60 * minute, repeat: 'FREQ=WEEKLY', timeZone: 'Europe/Berlin' },
  })
  const duty = createMaintenanceWindows(road.database, road.writer)
  const nextAfter = async (time: string) => {
    await duty.run({ now: Date.parse(time), listeningSince: now(), isOver: () => false })
    const [row] = await session.run<{ at: number }>('select next_at as at from maintenance_windows')
    return new Date(row?.at ?? 0).toISOString()
  }
  expect(await nextAfter('2026-03-23T00:00:00Z')).toBe('2026-03-29T01:30:00.000Z')
  expect(await nextAfter('2026-03-30T00:00:00Z')).toBe('2026-04-05T00:30:00.000Z')
  expect(await nextAfter('2026-10-26T00:00:00Z')).toBe('2026-11-01T01:30:00.000Z')
})

it('lets nothing enter an occurrence that another server has passed', async () => {
  const { road, session, register, plan, device, look, sleep } = await openMaintained(store)
  await register('press', 'a')
  const { key: windowKey } = await plan('a', 0, 2, { repeat: 'FREQ=DAILY' })
  sleep(3)
  await look()
  // What a server had found whose lease has ended since.
  const moves = [{ target: { kind: 'DEVICE', provider: '', name: 'press' } as const, windowKey }]
  expect(await road.writer.submit(moveMaintenance(moves))).toMatchObject({ moved: 0 })
  expect(await device('press')).toMatchObject({ reason: null })
  expect(await session.run('select 1 from maintenance_periods')).toEqual([])
})

it('is forgotten with the history, and what is kept of it is whole', async () => {
  const { road, session, register, send, plan, pass, now } = await openMaintained(store)
  await register('press', 'a')
  await send('press')
  await plan('a', 0, 2)
  await plan('a', 5, 60, { reason: 'longer' })
  await pass(3)
  const cut = now()
  await pass(3)
  const { revision: inside } = await readHead(session)
  await pruneHistory(road.database, cut, 1_000)
  const periods = await session.run('select reason, ended_at as "endedAt" from maintenance_periods')
  expect(periods).toEqual([{ reason: 'longer', endedAt: null }])
  const count = async (revision: number) =>
    (await countDeployments(session, { of: 'fleet' }, { inMaintenance: true }, revision)).get(0)?.installed
  expect([await count((await readHead(session)).tail), await count(inside)]).toEqual([0, 1])
})

it('ends for all others where the time zone of one is not known to the server', async () => {
  const { session, register, plan, device, look, pass, sleep, one } = await openMaintained(store)
  await register('press', 'a')
  await plan('a', 0, 2)
  await plan('b', 0, 1, { repeat: 'FREQ=DAILY', timeZone: 'Mars/Base' })
  await pass(0.5)
  await one.stop()
  sleep(5)
  await expect(look()).rejects.toThrow('Mars/Base')
  expect(await device('press')).toMatchObject({ reason: null })
  await session.run(`update maintenance_windows set time_zone = 'UTC'`)
  await look()
})
