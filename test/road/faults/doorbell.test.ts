/** NOTIFY is a doorbell and nothing else: whatever becomes of it, the log is read. */
import { describe, expect, it, onTestFinished } from 'vitest'
import { recordReport } from '../../../src/ingest/commands/report.ts'
import { readHead } from '../../../src/store/connection/log-head.ts'
import type { Database } from '../../../src/store/database.ts'
import { follow } from '../../support/clients/follow.ts'
import { report } from '../../support/clients/reports.ts'
import { revisionsBetween } from '../../support/databases/soundness.ts'
import { postgresStores, type Store } from '../../support/databases/stores.ts'
import { createRoad, type Road } from '../../support/servers/road.ts'

async function twoRoads(store: Store, pollInterval: number, wrap = (database: Database): Database => database) {
  const empty = await store.create()
  onTestFinished(() => empty.drop())
  const writing = await createRoad(await empty.open())
  onTestFinished(() => writing.close())
  const listening = await createRoad(wrap(await empty.open()), { feed: { pollInterval } })
  onTestFinished(() => listening.close())
  const start = (await readHead(writing.database.session)).revision
  return { writing, start, follower: follow(listening, start) }
}

const change = ({ writer }: Road, n: number): Promise<{ revision: number }> =>
  writer.submit(recordReport(report({ state: n % 2 ? 'INSTALLING' : 'INSTALLED' })))

const never = 3_600_000

describe.each(postgresStores)('a doorbell on $name', (store) => {
  it('whose connection ends at the moment of a write is made up for when it listens again', async () => {
    const { writing, start, follower } = await twoRoads(store, never)
    // Of both replicas: the one that writes listens too.
    const endDoorbells = `select count(pg_terminate_backend(pid))::int as ended from pg_stat_activity
      where datname = current_database() and query like 'listen %'`
    let last = start
    for (let round = 1; round <= 6; round += 1) {
      await expect
        .poll(async () => {
          const [[row], { revision }] = await Promise.all([
            writing.database.session.run<{ ended: number }>(endDoorbells),
            change(writing, round),
          ])
          last = revision
          return row?.ended
        })
        .toBeGreaterThan(0)
      await expect.poll(() => follower.revisions().at(-1)).toBe(last)
    }
    expect(follower.revisions()).toEqual(revisionsBetween(start, last))
    await follower.leave()
  })

  it('that never rings is made up for by looking', async () => {
    const silent = (database: Database): Database => ({ ...database, listen: async (ring) => ring(null) })
    const { writing, start, follower } = await twoRoads(store, 20, silent)
    for (let n = 1; n <= 20; n += 1) await change(writing, n)
    await expect.poll(() => follower.revisions()).toEqual(revisionsBetween(start, start + 20))
    await follower.leave()
  })
})
