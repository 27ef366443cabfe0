/** Deviations are stored with their reports, counted exactly, and seen by those who see the device. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { deviationKinds } from '../../../src/domain/deviation.ts'
import { registerDevices } from '../../../src/ingest/commands/devices/register.ts'
import { recordReport } from '../../../src/ingest/commands/report.ts'
import { deviationsOf } from '../../../src/ingest/dialects/margo/deviations.ts'
import { report } from '../../support/clients/reports.ts'
import { stores } from '../../support/databases/stores.ts'
import { startApp } from '../../support/servers/app.ts'
import { type Api, startApi } from '../harness.ts'
import { namedAuth } from '../principals.ts'

const id = 'a3e2f5dc-912e-494f-8395-52cf3769bc06'
const munich = 'viewer/label:site=munich'

describe.each(stores)('deviations on $name', (store) => {
  let api: Api
  beforeAll(async () => {
    api = await startApi({ store, graphql: { auth: namedAuth } })
  })
  afterAll(() => api.close())

  const send = (some: Parameters<typeof report>[0]) => {
    const sent = report({ deploymentId: id, ...some })
    return api.road.writer.submit(recordReport(sent, null, deviationsOf(sent)))
  }
  const of = async (deviceId: string, as?: string) =>
    (
      await api.ask(
        'query ($id: String!) { device(deviceId: $id) { deviations { kind count example } } }',
        { id: deviceId },
        as,
      )
    ).device.deviations
  const register = (deviceId: string, site: string) =>
    api.road.writer.submit(
      registerDevices([
        {
          deviceId,
          name: null,
          labels: [{ key: 'site', value: site }],
          parent: null,
          expectedInterval: null,
          tokenHash: `hash of ${deviceId}`,
        },
      ]),
    )

  it('are none of a device whose reports conform, and none of the reports that were refused', async () => {
    await send({ reporter: 'good', state: 'INSTALLED' })
    const refused = report({ reporter: 'good', deviceId: 'stranger', deploymentId: 'x', state: 'FAILED' })
    await expect(api.road.writer.submit(recordReport(refused, 'good', deviationsOf(refused)))).rejects.toThrow('good')
    expect(await of('good')).toEqual([])
  })

  it('are counted exactly, of one batch and of many, of every verdict', async () => {
    await send({ reporter: 'press', state: 'INSTALLED' })
    const before = await api.ask('{ revision }')
    const sent = { reporter: 'press', state: 'FAILED' } as const
    expect((await send(sent)).verdict).toBe('APPLIED')
    const verdicts = await Promise.all(Array.from({ length: 20 }, () => send(sent)))
    expect(new Set(verdicts.map(({ verdict }) => verdict))).toEqual(new Set(['UNCHANGED']))
    for (let n = 0; n < 4; n += 1) await send(sent)
    expect(await of('press')).toEqual([
      { kind: 'FAILED_WITHOUT_ERROR', count: 25, example: `deployment ${id}: FAILED` },
    ])
    await send({ ...sent, adoptedManifestVersion: '9' })
    expect((await send({ ...sent, adoptedManifestVersion: '8' })).verdict).toBe('STALE')
    expect((await of('press'))[0].count).toBe(27)
    expect(Number((await api.ask('{ revision }')).revision)).toBeGreaterThan(Number(before.revision))
  })

  it('are of the reporter, each kind for itself', async () => {
    await send({ reporter: 'gateway', deviceId: 'gateway/child', deploymentId: 'pump', state: 'PENDING' })
    expect(await of('gateway/child')).toEqual([])
    expect(await of('gateway')).toEqual([
      { kind: 'DEPLOYMENT_ID_NOT_UUID', count: 1, example: 'deploymentId: pump' },
      { kind: 'PENDING_WITHOUT_REASON', count: 1, example: 'deployment pump: PENDING' },
    ])
  })

  it('select devices, and are counted over those in service that the reader sees', async () => {
    await register('m-1', 'munich')
    await register('oslo-1', 'oslo')
    await register('oslo-2', 'oslo')
    for (const reporter of ['m-1', 'oslo-1', 'oslo-2'])
      await send({ reporter, state: 'INSTALLED', components: [{ name: 'plc', state: 'PENDING', error: null }] })
    const document = `{ devices(filter: { deviations: [INCONSISTENT_STATE] }) { totalCount nodes { deviceId } }
      none: devices(filter: { deviations: [] }) { totalCount } deviationCounts { kind devices reports } }`
    const seen = async (as?: string) => {
      const { devices, none, deviationCounts } = await api.ask(document, {}, as)
      expect([none.totalCount, deviationCounts.length, devices.totalCount]).toEqual([
        0,
        deviationKinds.length,
        devices.nodes.length,
      ])
      const counted = deviationCounts.find(({ kind }: { kind: string }) => kind === 'INCONSISTENT_STATE')
      return [devices.nodes.map(({ deviceId }: { deviceId: string }) => deviceId), counted.devices, counted.reports]
    }
    expect(await seen()).toEqual([['m-1', 'oslo-1', 'oslo-2'], 3, 3])
    await api.ask(
      'mutation { retireDevices(input: { reason: "scrapped", devices: [{ deviceId: "oslo-2" }] }) { __typename } }',
    )
    expect(await seen()).toEqual([['m-1', 'oslo-1'], 2, 2])
    expect(await seen(munich)).toEqual([['m-1'], 1, 1])
  })

  it('name no deployment to a reader who may not see it', async () => {
    const hidden = await api.query('{ device(deviceId: "oslo-1") { deviations { kind } } }', {}, munich)
    expect(hidden.data.device).toBeNull()
    expect(await of('m-1', munich)).toEqual([{ kind: 'INCONSISTENT_STATE', count: 1, example: null }])
    expect((await of('m-1'))[0].example).toBe(`deployment ${id}: INSTALLED, components: plc PENDING`)
  })

  it('name the device whose ID looks like that of a new one, and only the older one', async () => {
    const alike = (example: string | null) => [{ kind: 'ID_LOOKS_LIKE_ANOTHER', count: 0, example }]
    const install = (reporter: string) => send({ reporter, state: 'INSTALLED' })
    // Stored as their own folded forms, and not.
    for (const [known, ...others] of [
      ['caf\u00e9-1', 'cafe\u0301-1', 'CAF\u00c9-1', 'caf\u00e9-1\u200b'],
      ['Hall 1', 'hall\u00a01', 'hall 1'],
    ] as const) {
      await install(known)
      for (const other of others) {
        await install(other)
        await install(other)
        expect(await of(other)).toEqual(alike(known))
      }
      expect(await of(known)).toEqual([])
    }
    await register('Mixed-1', 'munich')
    await register('mixed-1', 'munich')
    expect(await of('mixed-1')).toEqual(alike('Mixed-1'))
    expect(await of('mixed-1', munich)).toEqual(alike(null))
    const { devices, deviationCounts } = await api.ask(`{ deviationCounts { kind devices reports }
      devices(filter: { deviations: [ID_LOOKS_LIKE_ANOTHER] }) { totalCount } }`)
    expect(devices.totalCount).toBe(6)
    expect(deviationCounts).toContainEqual({ kind: 'ID_LOOKS_LIKE_ANOTHER', devices: 6, reports: 0 })
  })

  it('name a device that looks alike and is new in the same batch', async () => {
    const names = ['Batch-1', 'BATCH-1', 'batch-1']
    await Promise.all(names.map((reporter) => send({ reporter, state: 'FAILED' })))
    const kinds = 'ID_LOOKS_LIKE_ANOTHER'
    const noted = await Promise.all(
      names.map(async (name) => (await of(name)).filter(({ kind }: { kind: string }) => kind === kinds)),
    )
    expect(noted.map(([one]) => one?.example)).toEqual([undefined, 'Batch-1', 'Batch-1'])
    await api.ask(`mutation { registerDevices(input: { devices: [
      { deviceId: "Both-1" }, { deviceId: "both-1" }, { deviceId: "BATCH-1\u200b" }
    ] }) { __typename } }`)
    expect([await of('Both-1'), await of('both-1'), await of('BATCH-1\u200b')]).toMatchObject([
      [],
      [{ example: 'Both-1' }],
      [{ example: 'Batch-1' }],
    ])
  })

  it('take one statement for all devices of a list', async () => {
    const list = 'query ($first: Int) { devices(first: $first) { nodes { deviations { kind count lastAt example } } } }'
    await Promise.all(Array.from({ length: 20 }, (_, n) => send({ reporter: `many-${n}`, state: 'FAILED' })))
    const statements = async (first: number) => {
      api.statements()
      await api.ask(list, { first })
      return api.statements()
    }
    expect(await statements(20)).toBe(await statements(1))
  })

  it('come with the report over HTTP, also when nothing else has changed', async () => {
    const app = await startApp({ store })
    try {
      const question = '{ device(deviceId: "edge-1") { deviations { kind count } } }'
      const body = { deploymentId: 'hello', status: { state: 'installed' }, components: [] }
      for (const count of [1, 2, 3]) {
        expect((await app.post('/device/edge-1/deployment/hello/status', body)).status).toBe(201)
        const { device } = await app.query(question)
        expect(device.deviations).toEqual([{ kind: 'DEPLOYMENT_ID_NOT_UUID', count }])
      }
      await app.post('/reports', { reports: [1, 2].map(() => ({ ...body, reporter: 'edge-1' })) })
      expect((await app.query(question)).device.deviations[0].count).toBe(5)
      // The one that is refused: of a device that is known, and of none that is not.
      for (const device of ['edge-1', 'stranger'])
        expect((await app.post(`/device/${device}/deployment/hello/status`, { ...body, kind: 'Status' })).status).toBe(
          422,
        )
      expect((await app.query(question)).device.deviations).toContainEqual({ kind: 'UNKNOWN_KIND', count: 1 })
      expect((await app.query('{ device(deviceId: "stranger") { deviceId } }')).device).toBeNull()
      expect(await (await fetch(`${app.url}/metrics`)).text()).toContain(
        'rollcall_report_deviations_total{kind="UNKNOWN_KIND"} 2',
      )
    } finally {
      await app.stop()
    }
  })
})
