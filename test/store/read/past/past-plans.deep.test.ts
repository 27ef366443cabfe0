/** The planner expects more of a plan for any parameters the longer the log is. Questions that read little of it are still not planned anew each time. */
import { sql } from 'drizzle-orm'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Revision } from '../../../../src/domain/values.ts'
import { createCheckpoints } from '../../../../src/ingest/duties/checkpoints.ts'
import type { Database, Snapshot } from '../../../../src/store/database.ts'
import { countDeployments } from '../../../../src/store/read/counts/deployment-counts.ts'
import { pageDeployments } from '../../../../src/store/read/deployments.ts'
import { sourceLimits } from '../../../../src/store/read/filters/source.ts'
import { postgresStores } from '../../../support/databases/stores.ts'
import { inSnapshot } from '../history.ts'
import { openLongLog } from '../long-log.ts'

const size = 3_000
/** More than the five executions after which the planner may keep a plan. */
const times = 12
const fleet = { of: 'fleet' } as const

// PGlite has one user of its one connection, and no such statistics.
describe.each(postgresStores)('the past of a long log on $name', (store) => {
  let database: Database
  let base: Revision
  let close = async (): Promise<void> => {}
  beforeAll(async () => {
    ;({ database, base, close } = await openLongLog(store, size))
    await createCheckpoints(database).run({ now: 0, listeningSince: 0, isOver: () => false })
    await database.session.run('vacuum analyze')
    // As if each page of the log had so many entries.
    await database.session.run(
      "update pg_class set reltuples = relpages * 500000 where relname in ('change_log_first', 'change_log_first_pkey')",
    )
  })
  afterAll(() => close())

  it('is counted with a kept plan', async () => {
    const planned = await plansOf(async (snapshot, n) => {
      await countDeployments(snapshot, fleet, {}, base + size + n)
    })
    expect(planned('counted.value')).toEqual([{ isKept: true }])
  })

  it('is listed with a kept plan, without a filter', async () => {
    const page = { size: 20, after: null, before: null, backward: false }
    // So few that the list is read in its order.
    const limits = { ...sourceLimits, counted: 100, candidates: 100, scanned: 0 }
    const planned = await plansOf(async (snapshot, n) => {
      await pageDeployments(snapshot, fleet, {}, 'CHANGED_DESC', page, base + size + n, limits)
    })
    expect(planned('page_parent')).toEqual([{ isKept: true }])
  })

  /** Whether the statements that contain a text have a plan that was kept. */
  async function plansOf(ask: (snapshot: Snapshot, n: number) => Promise<void>) {
    const rows = await inSnapshot(database, async (snapshot) => {
      for (let n = 1; n <= times; n += 1) await ask(snapshot, n)
      return snapshot.rows<{ text: string; isKept: boolean }>(
        sql`select statement as text, generic_plans > 0 as "isKept" from pg_prepared_statements where generic_plans + custom_plans >= ${times}`,
      )
    })
    return (text: string) => rows.filter((row) => row.text.includes(text)).map(({ isKept }) => ({ isKept }))
  }
})
