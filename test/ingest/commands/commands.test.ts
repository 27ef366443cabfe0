import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { ReportOutcome, StatusReport } from '../../../src/domain/report.ts'
import { declareDeployments } from '../../../src/ingest/commands/declare.ts'
import { type DeviceRegistration, registerDevices } from '../../../src/ingest/commands/devices/register.ts'
import { resetReporterOrder } from '../../../src/ingest/commands/devices/reset-reporter-order.ts'
import { revokeDevice } from '../../../src/ingest/commands/devices/revoke.ts'
import { rotateToken } from '../../../src/ingest/commands/devices/rotate-token.ts'
import { forgetDeployments } from '../../../src/ingest/commands/remove.ts'
import { recordReport } from '../../../src/ingest/commands/report.ts'
import { readHead } from '../../../src/store/connection/log-head.ts'
import { readLog } from '../../../src/store/read/changes/changes.ts'
import { audit } from '../../../src/store/read/counts/audit.ts'
import { findDeployments } from '../../../src/store/read/deployments.ts'
import { targetByName } from '../../../src/store/read/targets/targets.ts'
import { report } from '../../support/clients/reports.ts'
import { everyStore } from '../../support/databases/stores.ts'
import { createEmptyRoad, type Road } from '../../support/servers/road.ts'

describe.each(everyStore)('commands on $name', (store) => {
  let road: Road
  beforeAll(async () => {
    road = await createEmptyRoad(store)
  })
  afterAll(() => road.close())

  const send = (some: Partial<StatusReport>): Promise<ReportOutcome> => road.writer.submit(recordReport(report(some)))
  const part = { name: 'a', state: 'INSTALLED', error: null } as const
  const device = (name: string) => targetByName(road.database.session, 'DEVICE', '', name)
  const find = async (deploymentId: string, deviceId: string | null = null) =>
    (await findDeployments(road.database.session, deploymentId, deviceId, null))[0]
  const since = async (revision: number) =>
    (await readLog(road.database.session, revision, 100)).map(({ kind }) => kind)
  const head = async () => (await readHead(road.database.session)).revision
  const declare = (deviceId: string, deploymentId: string, components: readonly string[] | null = null) =>
    road.writer.submit(
      declareDeployments({ name: 'declared', project: null }, [
        { deviceId, deploymentId, application: null, applicationVersion: null, components },
      ]),
    )
  const registration = (some: Partial<DeviceRegistration> & { deviceId: string }): DeviceRegistration => ({
    name: null,
    labels: null,
    parent: null,
    expectedInterval: null,
    tokenHash: `hash of ${some.deviceId} ${Math.random()}`,
    ...some,
  })

  it('make a device known by its first report, and its connectivity not', async () => {
    await send({ reporter: 'new', deploymentId: 'first' })
    expect(await device('new')).toMatchObject({ registered: false, connectivity: 'UNKNOWN' })
    expect((await device('new'))?.lastHeardAt).not.toBeNull()
  })

  it('spend no revision on repeats, and count them', async () => {
    await send({ deploymentId: 'again' })
    const before = await head()
    expect(await send({ deploymentId: 'again' })).toEqual({ verdict: 'UNCHANGED', revision: before })
    expect(await head()).toBe(before)
    const [row] = await road.database.session.run<{ repeats: number; kept: number }>(
      `select repeats, (select count(*) from reports r where r.deployment_key = d.key) as kept from deployments d where deployment_id = 'again'`,
    )
    expect(row).toEqual({ repeats: 1, kept: 1 })
  })

  it('change nothing of a deployment when they are stale, and are kept', async () => {
    const at = (seq: string, state: StatusReport['state']) =>
      send({ reporter: 'late', deploymentId: 'late', boot: 'b', seq, state })
    const { revision } = await at('2', 'INSTALLED')
    const before = await find('late')
    expect(await at('1', 'FAILED')).toMatchObject({ verdict: 'STALE', staleBy: 'seq', revision })
    expect(await find('late')).toEqual(before)
    expect(await at('3', 'INSTALLED')).toEqual({ verdict: 'UNCHANGED', revision })
    const kept = await road.database.session.run(
      'select verdict::text, state::text from reports where deployment_key = $1::bigint order by key',
      [before?.key ?? 0],
    )
    expect(kept).toEqual([
      { verdict: 'APPLIED', state: 'INSTALLED' },
      { verdict: 'STALE', state: 'FAILED' },
    ])
  })

  it('keep two devices with one deploymentId apart, in one rollout', async () => {
    await send({ deploymentId: 'shared', reporter: 'a', state: 'INSTALLED' })
    await send({ deploymentId: 'shared', reporter: 'b', state: 'FAILED' })
    const both = await findDeployments(road.database.session, 'shared', null, null)
    expect(both.map(({ reporter, state }) => [reporter, state]).sort()).toEqual([
      ['a', 'INSTALLED'],
      ['b', 'FAILED'],
    ])
    expect(new Set(both.map(({ rolloutKey }) => rolloutKey)).size).toBe(1)
  })

  it("take a gateway's 102 for its child's absence, and any other report about the child for its end", async () => {
    const child = { reporter: 'gw', deviceId: 'gw/child', deploymentId: 'on-child' }
    await send({ ...child, state: 'INSTALLED' })
    expect(await device('gw/child')).toMatchObject({ connectivity: 'UNKNOWN', parentKey: (await device('gw'))?.key })
    const before = await head()
    await send({ ...child, state: 'FAILED', error: { code: '102', message: 'Child device unreachable' } })
    expect(await since(before)).toEqual(['DEPLOYMENT_STATE_CHANGED', 'CONNECTIVITY_CHANGED'])
    expect((await device('gw/child'))?.connectivity).toBe('OFFLINE')
    expect((await device('gw'))?.connectivity).toBe('UNKNOWN')
    await send({ ...child, deploymentId: 'another', state: 'INSTALLED' })
    expect((await device('gw/child'))?.connectivity).toBe('ONLINE')
  })

  it('call a report applied that repeats its deployment and ends an absence', async () => {
    const child = { reporter: 'gw2', deviceId: 'gw2/child', state: 'INSTALLED' } as const
    await send({ ...child, deploymentId: 'steady' })
    await send({ ...child, deploymentId: 'gone', state: 'FAILED', error: { code: '102', message: '' } })
    const before = await head()
    expect(await send({ ...child, deploymentId: 'steady' })).toEqual({ verdict: 'APPLIED', revision: before + 1 })
    expect(await since(before)).toEqual(['CONNECTIVITY_CHANGED'])
  })

  it('move a deployment to another child without making a new one', async () => {
    const first = await send({ reporter: 'gw3', deviceId: 'gw3/one', deploymentId: 'mover' })
    await send({ reporter: 'gw3', deviceId: 'gw3/two', deploymentId: 'mover' })
    // What was reported of the former device does not move along.
    expect(await since(first.revision)).toEqual(['DEPLOYMENT_MOVED', 'DEPLOYMENT_STATE_CHANGED'])
    expect(await find('mover', 'gw3/two')).toMatchObject({ reporter: 'gw3' })
    expect(await find('mover', 'gw3/one')).toBeUndefined()
  })

  it('let the first report claim what was declared, also a gateway for its child', async () => {
    const [declared, later] = ['declared', 'later']
    const deployment = { application: 'app', applicationVersion: '1', components: ['a'] }
    await road.writer.submit(
      declareDeployments({ name: 'r', project: null }, [
        { deviceId: 'gw4/child', deploymentId: declared, ...deployment },
      ]),
    )
    await send({ reporter: 'gw4', deviceId: 'gw4/child', deploymentId: declared, state: 'INSTALLED' })
    const all = await findDeployments(road.database.session, declared, null, null)
    expect(all).toHaveLength(1)
    expect(all[0]).toMatchObject({ reporter: 'gw4', state: 'INSTALLED', application: 'app' })
    const text = 'select claimed from deployments where key = $1::bigint'
    expect(await road.database.session.run(text, [all[0]?.key])).toEqual([{ claimed: true }])
    // And a declaration finds what was reported before it.
    await send({ reporter: 'gw4', deviceId: 'gw4/child', deploymentId: later, state: 'INSTALLED' })
    await road.writer.submit(
      declareDeployments({ name: 'r', project: null }, [{ deviceId: 'gw4/child', deploymentId: later, ...deployment }]),
    )
    expect(await findDeployments(road.database.session, later, null, null)).toMatchObject([
      { rolloutKey: all[0]?.rolloutKey, state: 'INSTALLED' },
    ])
  })

  it('number what a report changes after the end of the absence that it is a sign of', async () => {
    await send({ reporter: 'gw6', deviceId: 'gw6/child', deploymentId: 'x', error: { code: '102', message: '' } })
    const { revision } = await send({ reporter: 'gw6/child', deploymentId: 'back', components: [part] })
    expect(await since(revision - 3)).toEqual([
      'CONNECTIVITY_CHANGED',
      'DEPLOYMENT_STATE_CHANGED',
      'COMPONENT_STATE_CHANGED',
    ])
    expect(await find('back')).toMatchObject({ revision, components: [{ name: 'a', revision }] })
  })

  it('let a declaration restore what was forgotten of that device, of any reporter', async () => {
    const child = { reporter: 'gw7', deviceId: 'gw7/child', deploymentId: 'returning', state: 'INSTALLED' } as const
    await send(child)
    const { key = -1 } = (await find('returning')) ?? {}
    await road.writer.submit(forgetDeployments([key]))
    expect(await declare('gw7/child', 'returning')).toMatchObject({ deploymentKeys: [key] })
    await send(child)
    expect(await findDeployments(road.database.session, 'returning', null, null)).toMatchObject([
      { key, reporter: 'gw7', state: 'INSTALLED' },
    ])
  })

  it('let a declaration find what is there before what is forgotten', async () => {
    const child = {
      reporter: 'gw8',
      deviceId: 'gw8/child',
      deploymentId: 'brought back late',
      state: 'INSTALLED',
    } as const
    const first = await declare('gw8/child', 'brought back late')
    await road.writer.submit(forgetDeployments(first.deploymentKeys))
    await send(child)
    const again = await declare('gw8/child', 'brought back late')
    expect(await findDeployments(road.database.session, 'brought back late', null, null)).toMatchObject([
      { reporter: 'gw8', state: 'INSTALLED', rolloutKey: again.rolloutKey },
    ])
  })

  it('refuse what a revoked device reports, or is reported for it, until it is registered anew', async () => {
    await send({ reporter: 'gw5', deviceId: 'gw5/child', deploymentId: 'x' })
    await road.writer.submit(revokeDevice('gw5/child'))
    await expect(send({ reporter: 'gw5', deviceId: 'gw5/child', deploymentId: 'x' })).rejects.toMatchObject({
      code: 'FORBIDDEN',
    })
    await expect(send({ reporter: 'gw5/child', deploymentId: 'y' })).rejects.toMatchObject({ code: 'FORBIDDEN' })
    const [registered] = await road.writer.submit(registerDevices([registration({ deviceId: 'gw5/child' })]))
    expect(registered?.isNew).toBe(true)
    expect((await send({ reporter: 'gw5/child', deploymentId: 'y' })).verdict).toBe('APPLIED')
  })

  it('give a device its token once, and rotate it with an overlap', async () => {
    const wanted = registration({ deviceId: 'tokened', labels: [{ key: 'site', value: 'x' }], parent: 'hub' })
    const [first] = await road.writer.submit(registerDevices([wanted]))
    const [second] = await road.writer.submit(registerDevices([registration({ deviceId: 'tokened', name: 'Named' })]))
    expect([first?.isNew, second?.isNew]).toEqual([true, false])
    expect(await device('tokened')).toMatchObject({
      displayName: 'Named',
      labels: [{ key: 'site', value: 'x' }],
      parentKey: (await device('hub'))?.key,
    })
    await road.writer.submit(rotateToken('tokened', 'the new one', 60))
    const tokens = await road.database.session.run<{ hash: string; ends: boolean }>(
      `select hash, expires_at is not null as ends from device_tokens where target_key = ${first?.key} order by ends`,
    )
    expect(tokens).toEqual([
      { hash: 'the new one', ends: false },
      { hash: wanted.tokenHash, ends: true },
    ])
    await expect(road.writer.submit(rotateToken('unknown', 'x', 0))).rejects.toMatchObject({ code: 'NOT_FOUND' })
  })

  it('refuse a parent that lies below its child', async () => {
    await road.writer.submit(registerDevices([registration({ deviceId: 'p1', parent: 'p2' })]))
    await road.writer.submit(registerDevices([registration({ deviceId: 'p2', parent: 'p3' })]))
    await expect(
      road.writer.submit(registerDevices([registration({ deviceId: 'p3', parent: 'p1' })])),
    ).rejects.toMatchObject({ code: 'CONFLICT', problems: [{ field: 'devices[0].parent' }] })
  })

  it('hear a device again whose counter was reset, after registration, forgetting or a reset of its order', async () => {
    const at = (seq: string, state: StatusReport['state']) =>
      send({ reporter: 'lost', deploymentId: 'l', boot: 'b', seq, state })
    await at('100', 'INSTALLED')
    expect(await at('1', 'FAILED')).toMatchObject({ verdict: 'STALE', staleBy: 'seq' })
    await road.writer.submit(resetReporterOrder('lost'))
    expect((await at('1', 'FAILED')).verdict).toBe('APPLIED')
    expect((await at('0', 'INSTALLED')).verdict).toBe('STALE')
    await road.writer.submit(registerDevices([registration({ deviceId: 'lost' })]))
    expect((await at('0', 'INSTALLED')).verdict).toBe('APPLIED')
    const key = (await find('l'))?.key ?? -1
    await at('9', 'INSTALLED')
    await road.writer.submit(forgetDeployments([key]))
    expect(await find('l')).toBeUndefined()
    expect((await at('2', 'INSTALLED')).verdict).toBe('APPLIED')
    expect((await find('l'))?.key).toBe(key)
  })

  it('answer several about one deployment in one batch as if they came one by one', async () => {
    const states = ['PENDING', 'INSTALLING', 'INSTALLED', 'INSTALLED', 'PENDING'] as const
    const outcomes = await Promise.all(states.map((state) => send({ reporter: 'busy', deploymentId: 'b', state })))
    expect(outcomes.map(({ verdict }) => verdict)).toEqual(['APPLIED', 'APPLIED', 'APPLIED', 'UNCHANGED', 'APPLIED'])
    expect(await find('b')).toMatchObject({ state: 'PENDING', attempt: 2 })
  })

  it('leave counters that a recount agrees with', async () => {
    const snapshot = await road.database.snapshot()
    expect(await audit(snapshot)).toEqual([])
    await snapshot.close()
  })
})
