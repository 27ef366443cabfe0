/** What duties do because the embedded database has no background processes: the planner's statistics, which PostgreSQL's autovacuum updates once a minute, and checkpoints. */
import { expect, it } from 'vitest'
import { analyzeTable, checkpointLongLog, findUnanalyzed } from '../../../src/store/write/upkeep.ts'
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

it('on PGlite the log is cut off when 64 MiB have followed the last checkpoint', async () => {
  const { session } = await openFresh(pglite)
  const redo = async () => {
    const [row] = await session.run<{ redo: string }>('select redo_lsn::text as redo from pg_control_checkpoint()')
    return row?.redo
  }
  const write = (mebibytes: number) =>
    session.run(
      `select pg_logical_emit_message(false, 'test', repeat('x', 1048576)) from generate_series(1, $1::int)`,
      [mebibytes],
    )
  await session.run('checkpoint')
  const first = await redo()
  await write(60)
  await checkpointLongLog(session)
  expect(await redo()).toBe(first)
  await write(8)
  await checkpointLongLog(session)
  expect(await redo()).not.toBe(first)
  // PostgreSQL keeps some segments for what follows.
  const [kept] = await session.run<{ bytes: number }>('select sum(size)::float8 as bytes from pg_ls_waldir()')
  expect(kept?.bytes).toBeLessThanOrEqual(96 * 1024 * 1024)
})
