/** What duties do because the embedded database has no background processes: the planner's statistics, which PostgreSQL's autovacuum updates once a minute, checkpoints, and vacuum. */
import { expect, it } from 'vitest'
import {
  analyzeTable,
  checkpointLongLog,
  findUnanalyzed,
  findUnvacuumed,
  vacuumTable,
} from '../../../src/store/write/upkeep.ts'
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
  expect(kept?.bytes).toBeLessThanOrEqual(128 * 1024 * 1024)
})

it('on PGlite a table does not grow with the changes of its rows, and no transaction gets too old', async () => {
  const { session } = await openFresh(pglite)
  await session.run('create table moving (n int, at int) with (autovacuum_enabled = false)')
  await session.run('create index on moving (at)')
  await session.run('insert into moving select n, 0 from generate_series(1, 100) n')
  const blocks = async () => {
    const [row] = await session.run<{ blocks: number }>(`select (pg_relation_size('moving') / 8192)::int as blocks`)
    return row?.blocks ?? 0
  }
  const vacuum = async () => {
    // PostgreSQL counts what has changed up to a second later.
    await session.run('select pg_stat_force_next_flush()')
    for (const table of await findUnvacuumed(session)) await vacuumTable(session, table)
  }
  const change = () =>
    session.run('do $$ begin for i in 1..50 loop update moving set at = at + 1; commit; end loop; end $$')
  await change()
  await vacuum()
  const once = await blocks()
  for (let round = 0; round < 4; round += 1) {
    await change()
    await vacuum()
  }
  expect(await blocks()).toBeLessThanOrEqual(once + 2)
  expect(await findUnvacuumed(session)).toEqual([])

  const old = await findUnvacuumed(session, 10)
  expect(old.length).toBeGreaterThan(50)
  for (const table of old) await vacuumTable(session, table)
  expect(await findUnvacuumed(session, 10)).toEqual([])
})
