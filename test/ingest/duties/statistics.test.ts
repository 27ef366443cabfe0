/** A duty collects the planner's statistics: the embedded database has no autovacuum, and PostgreSQL's comes once a minute. */
import { expect, it } from 'vitest'
import { analyzeTable, findUnanalyzed } from '../../../src/store/write/statistics.ts'
import { openFresh } from '../../support/databases/databases.ts'
import { pglite } from '../../support/databases/stores.ts'

it('on PGlite a table gets statistics when it has grown, and again when it has doubled', async () => {
  const { session } = await openFresh(pglite)
  const add = (from: number, to: number) =>
    session.run(
      `insert into targets (created_revision, key, kind, provider, name, connectivity) select 1, n, 'DEVICE', '', 'edge-' || n, 'UNKNOWN'
       from generate_series($1::int, $2::int) n`,
      [from, to],
    )
  const known = async () => {
    const [row] = await session.run<{ rows: number }>(
      `select reltuples::int as rows from pg_class where relname = 'targets'`,
    )
    return row?.rows
  }
  await add(1, 20)
  expect(await findUnanalyzed(session)).toEqual([])
  await add(21, 20_000)
  expect(await findUnanalyzed(session)).toEqual(['targets'])
  await analyzeTable(session, 'targets')
  expect(await known()).toBe(20_000)
  expect(await findUnanalyzed(session)).toEqual([])
  await add(20_001, 25_000)
  expect(await findUnanalyzed(session)).toEqual([])
  await add(25_001, 45_000)
  expect(await findUnanalyzed(session)).toEqual(['targets'])
})
