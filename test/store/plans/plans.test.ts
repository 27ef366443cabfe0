/**
 * What a batch, a doorbell and a poll cost is what they return, however young the database's statistics are. A planner that has none
 * expects few rows in each table, and would read whole tables.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Command } from '../../../src/ingest/command.ts'
import type { ManifestUpdate } from '../../../src/ingest/commands/declared-documents.ts'
import { registerDevices } from '../../../src/ingest/commands/devices/register.ts'
import { retireDevices } from '../../../src/ingest/commands/devices/retire.ts'
import { recordReport } from '../../../src/ingest/commands/report.ts'
import { headText, readHead } from '../../../src/store/connection/log-head.ts'
import { sessionOf } from '../../../src/store/connection/transaction.ts'
import type { Session } from '../../../src/store/database.ts'
import { readLog } from '../../../src/store/read/changes/changes.ts'
import { report } from '../../support/clients/reports.ts'
import { type EmptyStore, postgresStores } from '../../support/databases/stores.ts'
import {
  deployments,
  fill,
  type Measured,
  measure,
  measuring,
  withoutStatistics,
} from '../../support/databases/young-database.ts'
import { createRoad, type Road } from '../../support/servers/road.ts'

describe.each(postgresStores)('a database without statistics on $name', (store) => {
  let empty: EmptyStore
  let road: Road
  const found: Measured[] = []
  beforeAll(async () => {
    empty = await store.create()
    const database = await empty.open()
    await withoutStatistics(database.session)
    await fill(database.session)
    road = await createRoad(measuring(database, found))
  })
  afterAll(async () => {
    await road.close()
    await empty.drop()
  })

  it.each([1, 29, 1_000])('reads %i entries of the log at the cost of so many', async (rows) => {
    const snapshot = await road.database.snapshot()
    try {
      const { revision } = await readHead(snapshot)
      const measured: Measured[] = []
      const run: Session['run'] = async (text, parameters = []) => {
        measured.push(await measure(snapshot, text, parameters))
        return snapshot.run(text, parameters)
      }
      const changes = await readLog(sessionOf(run), revision - rows, 1_000)
      expect(changes).toHaveLength(rows)
      expect(measured).toHaveLength(1)
      for (const { text, buffers } of measured) expect(buffers, text).toBeLessThan(20 + 12 * rows)
    } finally {
      await snapshot.close()
    }
  })

  it.each([
    { it: 'known reports', first: 1, count: 20 },
    { it: 'known reports again, which are cached', first: 1, count: 20 },
    { it: 'first reports', first: deployments + 1, count: 20 },
    { it: 'more first reports', first: deployments + 101, count: 20 },
  ])('writes $it at the cost of so many', async ({ first, count }) => {
    found.length = 0
    await Promise.all(
      Array.from({ length: count }, (_, n) =>
        road.writer.submit(
          recordReport(report({ reporter: `edge-${first + n}`, deploymentId: `d-${first + n}`, state: 'INSTALLED' })),
        ),
      ),
    )
    expect(found.length).toBeGreaterThan(0)
    for (const { text, buffers } of found) expect(buffers, text).toBeLessThan(100 + 100 * count)
  })

  const many = 500
  const names = Array.from({ length: many }, (_, n) => `edge-${n + 1}`)
  const manifestUpdate: ManifestUpdate = {
    cause: { caller: 'a test', why: 'scrapped' },
    bundle: () => ({ digest: 'sha256:0', size: 0 }),
  }
  const unnamed = { name: null, labels: null, parent: null, expectedInterval: null }
  it.each<{ it: string; command: Command<unknown> }>([
    {
      it: 'registers devices',
      command: registerDevices(names.map((deviceId) => ({ ...unnamed, deviceId, tokenHash: `hash of ${deviceId}` }))),
    },
    {
      it: 'retires devices',
      command: retireDevices(
        names.map((deviceId) => ({ deviceId, replacedBy: null })),
        { reason: 'scrapped', withChildren: false, manifestUpdate },
      ),
    },
  ])('$it at the cost of so many', async ({ command }) => {
    found.length = 0
    await road.writer.submit(command)
    expect(found.length).toBeGreaterThan(0)
    for (const { text, buffers } of found) expect(buffers, text).toBeLessThan(100 + 100 * many)
  })

  it('reads the head at the cost of a row', async () => {
    const snapshot = await road.database.snapshot()
    const { buffers } = await measure(snapshot, headText, [])
    await snapshot.close()
    expect(buffers).toBeLessThan(10)
  })
})
