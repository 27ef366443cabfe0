/** Planned downtime: who is in it and when, and what silence and standing still mean meanwhile. */
import { describe, expect, it } from 'vitest'
import type { DeploymentState } from '../../../src/domain/values.ts'
import { endMaintenance } from '../../../src/ingest/commands/maintenance.ts'
import { recordReport } from '../../../src/ingest/commands/report.ts'
import { readHead } from '../../../src/store/connection/log-head.ts'
import { stepsOf } from '../../../src/store/read/insight/progress.ts'
import { report } from '../../support/clients/reports.ts'
import { stores } from '../../support/databases/stores.ts'
import { minute, openMaintained } from './maintenance-harness.ts'

describe.each(stores)('maintenance on $name', (store) => {
  it('makes silence of its devices no absence, now and in the past, and counts it from the end', async () => {
    const { session, register, send, plan, pass, device, kinds, now } = await openMaintained(store)
    await register('press', 'a')
    await register('other', 'b')
    await send('press')
    await send('other')
    const { nextEnd: until } = await plan('a', 1, 11)
    await pass(5)
    expect(await device('press')).toEqual({ connectivity: 'ONLINE', reason: 'power', until })
    expect(await device('other')).toEqual({ connectivity: 'OFFLINE', reason: null, until: null })
    const { revision: inside } = await readHead(session)
    await pass(6.5)
    expect(await device('press')).toEqual({ connectivity: 'ONLINE', reason: null, until: null })
    expect(await device('press', inside)).toEqual({ connectivity: 'ONLINE', reason: 'power', until })
    await pass(1)
    expect(await device('press')).toMatchObject({ connectivity: 'OFFLINE' })
    expect(await kinds()).toEqual(['MAINTENANCE_PLANNED', 'MAINTENANCE_STARTED', 'MAINTENANCE_ENDED'])
    const { revision: before } = await readHead(session)
    await plan('b', 0, 1)
    await pass(0.5)
    expect(await device('other', before)).toMatchObject({ reason: null })
    expect(await device('other')).toMatchObject({ reason: 'power', until: now() + minute / 2 })
  })

  it('is entered and left once, whatever servers look at once', async () => {
    const { register, plan, relook, kinds, pass } = await openMaintained(store)
    await register('press', 'a')
    await plan('a', 0, 1)
    await Promise.all([relook(), relook(), relook()])
    await pass(2)
    expect(await kinds()).toEqual(['MAINTENANCE_PLANNED', 'MAINTENANCE_STARTED', 'MAINTENANCE_ENDED'])
  })

  it('takes in devices that come to match, lets others go, and ends early, once', async () => {
    const { road, register, plan, pass, device, kinds } = await openMaintained(store)
    await register('moved', 'a')
    const { key } = await plan('a', 0, 60)
    await pass(1)
    await register('moved', 'b')
    await register('late', 'a')
    await pass(2)
    expect([(await device('moved')).reason, (await device('late')).reason]).toEqual([null, 'power'])
    const end = (by: string) => road.writer.submit(endMaintenance(key, by))
    expect((await Promise.allSettled([end('ann'), end('ben')])).map(({ status }) => status)).toEqual([
      'fulfilled',
      'rejected',
    ])
    await expect(road.writer.submit(endMaintenance(key + 1, 'ann'))).rejects.toThrow('no such maintenance window')
    await pass(0.5)
    expect((await device('late')).reason).toBeNull()
    expect((await kinds()).filter((kind) => kind === 'MAINTENANCE_CANCELLED')).toHaveLength(1)
  })

  it('stays with another window that lasts longer', async () => {
    const { register, plan, pass, device } = await openMaintained(store)
    await register('press', 'a')
    await plan('a', 0, 2)
    await plan('a', 0, 4, { reason: 'longer' })
    const reasons: unknown[] = []
    for (let half = 1; half <= 9; half += 1) {
      await pass(0.5)
      reasons.push((await device('press')).reason)
    }
    // It is in no gap between them, in which its silence and its alerts would count.
    expect(reasons).toEqual(['power', 'power', 'power', 'longer', 'longer', 'longer', 'longer', null, null])
  })

  it('is refused beside a thousand others that have not ended, also at once', async () => {
    const { road, session, plan } = await openMaintained(store)
    await session.run(`insert into maintenance_windows (key, reason, selector, begins_at, ends_at, time_zone, next_at, planned_revision, planned_at, planned_by)
      select -n, 'power', '{}', now(), now(), 'UTC', now() + interval '1 year', 0, now(), 'ann' from generate_series(1, 999) n`)
    const [first, second] = await Promise.allSettled([plan('a', 60, 90), plan('a', 60, 90)])
    expect([first?.status, second]).toEqual([
      'fulfilled',
      { status: 'rejected', reason: expect.objectContaining({ code: 'CONFLICT' }) },
    ])
    await road.writer.submit(endMaintenance(-1, 'ann'))
    await plan('a', 60, 90)
  })

  it('is repeated', async () => {
    const { register, plan, pass, sleep, device } = await openMaintained(store)
    await register('press', 'a')
    await plan('a', 0, 2, { repeat: 'FREQ=DAILY' })
    await pass(3)
    expect((await device('press')).reason).toBeNull()
    // The servers are away for two occurrences, and back within the third.
    sleep(3 * 24 * 60 - 2)
    await pass(0.5)
    expect((await device('press')).reason).toBe('power')
    await pass(1)
    expect((await device('press')).reason).toBeNull()
  })

  it('pauses the clock of standing still, and durations leave it out', async () => {
    const { session, register, send, plan, pass } = await openMaintained(store, {
      stalling: { factor: null, after: 600 },
    })
    const stalled = async () =>
      (await session.run<{ n: number }>('select count(*)::int as n from deployments where stalled'))[0]?.n
    await register('press', 'a')
    await send('press', 'INSTALLING')
    await pass(5)
    await plan('a', 0, 60)
    await pass(61)
    expect(await stalled()).toBe(0)
    await pass(3)
    expect(await stalled()).toBe(0)
    await pass(3)
    expect(await stalled()).toBe(1)
  })

  it('is left out of durations and of what forecasts are made of', async () => {
    const { road, session, register, plan, pass } = await openMaintained(store)
    const names = Array.from({ length: 10 }, (_, index) => `press-${index}`)
    const send = (state: DeploymentState) =>
      Promise.all(
        names.map((reporter) => road.writer.submit(recordReport(report({ reporter, deploymentId: 'vision', state })))),
      )
    await Promise.all(names.map((name) => register(name, 'a')))
    await send('INSTALLING')
    await pass(5)
    await plan('a', 0, 60)
    await pass(65)
    await send('INSTALLED')
    await pass(3)
    const [counted] = await session.run<{ minutes: number; key: number }>(
      `select sum(total) / sum(count) / 60000 as minutes, max(rollout_key) as key from step_durations where state = 'INSTALLING'`,
    )
    // The devices enter with the round after the beginning.
    expect(counted?.minutes).toBeCloseTo(10.5, 3)
    const steps = await stepsOf({ ...session, kind: road.database.kind }, [counted?.key ?? 0], null)
    expect(steps.get(counted?.key ?? 0)?.own.runs.map(({ n, millis }) => [n, millis / minute])).toEqual([
      [10, expect.closeTo(10.5, 3)],
    ])
  })
})
