/** What one device should run is bounded: it is loaded whole whenever it changes, and made into one archive. */
import { afterAll, beforeAll, expect, it } from 'vitest'
import { largestManifest } from '../../../src/domain/desired.ts'
import { declareDeployments } from '../../../src/ingest/commands/declare.ts'
import { createBundle } from '../../../src/ingest/dialects/margo/bundle.ts'
import { digestOf } from '../../../src/platform/body/digest.ts'
import type { Database } from '../../../src/store/database.ts'
import { newestManifests } from '../../../src/store/read/desired/desired.ts'
import { targetByName } from '../../../src/store/read/targets/targets.ts'
import { type EmptyStore, stores } from '../../support/databases/stores.ts'
import { createRoad, type Road } from '../../support/servers/road.ts'

let empty: EmptyStore
let database: Database
let road: Road
beforeAll(async () => {
  const [store] = stores
  if (!store) throw new Error('there is no store to test on')
  empty = await store.create()
  database = await empty.open()
  road = await createRoad(database)
})
afterAll(async () => {
  road.feed.close()
  await road.writer.drain()
  await database.close()
  await empty.drop()
})

it('by the bytes of its documents, those behind a gateway together', async () => {
  // Said to be as large; the text need not be.
  const declare = (deviceId: string, deploymentId: string, size: number) => {
    const content = `${deviceId} ${deploymentId} ${size}`
    const document = { content, digest: digestOf(content), size }
    const bundle = (documents: Parameters<typeof createBundle>[0]) => {
      const bytes = createBundle(documents)
      return { digest: digestOf(bytes), size: bytes.length }
    }
    const declaration = {
      deviceId,
      deploymentId,
      application: null,
      applicationVersion: null,
      components: null,
      document,
    }
    return road.writer.submit(declareDeployments(null, [declaration], { cause: { caller: 'me', why: '' }, bundle }))
  }
  const half = largestManifest / 2
  await declare('gateway/one', 'a', half)
  await declare('gateway/two', 'b', half)
  await expect(declare('gateway', 'c', 1)).rejects.toMatchObject({
    code: 'CONFLICT',
    message: expect.stringContaining('gateway'),
  })
  await expect(declare('new', 'a', largestManifest + 1)).rejects.toMatchObject({ code: 'CONFLICT' })
  await declare('other', 'c', largestManifest)
  // In the place of what it was before, it fits.
  await declare('gateway/two', 'b', half - 1)
  await declare('gateway', 'c', 1)
  const gateway = await targetByName(database.session, 'DEVICE', '', 'gateway')
  const key = gateway?.key ?? -1
  expect((await newestManifests(database.session, [key])).get(key)?.version).toBe(5)
  expect(await targetByName(database.session, 'DEVICE', '', 'new')).toBeNull()
})
