import { expect, it, onTestFinished } from 'vitest'
import { retireDevices } from '../../../src/ingest/commands/devices/retire.ts'
import { recordReport } from '../../../src/ingest/commands/report.ts'
import { report } from '../../support/clients/reports.ts'
import { stores } from '../../support/databases/stores.ts'
import { createEmptyRoad } from '../../support/servers/road.ts'
import { manifestUpdate } from './desired-model.ts'

it.each(stores)(
  'a gateway retires with a device that a report placed behind it at the same moment, on $name',
  async (store) => {
    const { writer, database, close } = await createEmptyRoad(store)
    onTestFinished(close)
    // Reported by itself, it is not behind the gateway yet.
    await writer.submit(recordReport(report({ reporter: 'gw/a', deploymentId: 'own' })))
    await writer.submit(recordReport(report({ reporter: 'gw', deploymentId: 'gateway' })))
    const retirement = { deviceId: 'gw', replacedBy: null }
    // In one queue, so that they could be one batch.
    const [, retired] = await Promise.all([
      writer.submit(recordReport(report({ reporter: 'other', deviceId: 'gw/a', deploymentId: 'placed' }))),
      writer.submit(retireDevices([retirement], { reason: 'scrapped', withChildren: true, manifestUpdate })),
    ])
    expect(retired.results).toMatchObject([{ children: 1, deployments: 3 }])
    const left = await database.session.run('select deployment_id from deployments where forgotten_at is null')
    expect(left).toEqual([])
  },
)

it.each(stores)('refuses a device that was heard after it was selected for its silence, on $name', async (store) => {
  const { writer, close } = await createEmptyRoad(store)
  onTestFinished(close)
  await writer.submit(recordReport(report({ reporter: 'back' })))
  const options = { reason: 'silent', withChildren: false, manifestUpdate }
  const retire = (silentSince: number) =>
    writer.submit(retireDevices([{ deviceId: 'back', replacedBy: null }], { ...options, silentSince }))
  await expect(retire(1)).rejects.toThrow('back was heard meanwhile')
  expect((await retire(Number.MAX_SAFE_INTEGER)).results).toMatchObject([{ isChanged: true }])
})
