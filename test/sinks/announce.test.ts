import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { reportInstance } from '../../src/ingest/commands/bundle-instance.ts'
import { parseInstance } from '../../src/ingest/dialects/k8splugin/instance.ts'
import { createAnnouncements } from '../../src/outlets/sinks/announce.ts'
import { stores } from '../support/databases/stores.ts'
import { createEmptyRoad, type Road } from '../support/servers/road.ts'

const place = {
  cloudOwner: 'o',
  cloudRegion: 'r',
  tenantId: 't',
  genericVnfId: null,
  vfModuleId: null,
  callbackUrl: null,
}

describe.each(stores)('an announcement on $name', (store) => {
  let road: Road
  beforeAll(async () => {
    road = await createEmptyRoad(store)
  })
  afterAll(() => road.close())

  it('makes one sink, however many come at once', async () => {
    const request = { 'rb-name': 'rb', 'rb-version': 'v1', 'profile-name': 'p', 'cloud-region': 'region' }
    await road.writer.submit(reportInstance(parseInstance({ request }, 'i')))
    const { announce } = createAnnouncements({
      database: road.database,
      hasInventory: true,
      refuseTarget: () => null,
      refresh: () => undefined,
      clock: Date.now,
    })
    const sinks = await Promise.all([1, 2, 3].map(() => announce('i', place, false)))
    expect(new Set(sinks.map(({ key }) => key)).size).toBe(1)
  })
})
