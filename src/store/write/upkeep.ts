/**
 * What PostgreSQL's background processes do, for the embedded database, which has none: statistics for the planner, checkpoints, and vacuum. PostgreSQL needs the
 * statistics too: its autovacuum comes once a minute, and connections keep their plans until then. In a minute a fleet can grow from ten devices to
 * 50,000, and a plan for ten reads whole tables.
 */
import type { Session } from '../database.ts'

/** Bytes of the write-ahead log that a recovery may have to read. */
const mostLog = 64 * 1024 * 1024

/** Smaller tables, in blocks, need no statistics. */
const smallest = 10

/** Tables without statistics, or with twice as many blocks as when they got them. Only a superuser may read pg_statistic, so this reads pg_stats. */
export async function findUnanalyzed(session: Session): Promise<string[]> {
  const rows = await session.run<{ name: string }>(
    `select t.name from (
       select c.oid, c.relname as name, c.relpages as known, pg_relation_size(c.oid) / current_setting('block_size')::int as blocks
       from pg_class c where c.relnamespace = to_regnamespace(current_schema()::text) and c.relkind = 'r') as t
     where t.blocks >= $1::int
       and (t.blocks >= 2 * t.known or not exists (select from pg_stats s where s.schemaname = current_schema() and s.tablename = t.name))
     order by t.name`,
    [smallest],
  )
  return rows.map(({ name }) => name)
}

/** Reads a sample of 300 × statisticsTarget rows, however many the table has. Nothing happens while autovacuum does the same. */
export async function analyzeTable(session: Session, name: string): Promise<void> {
  await session.run(`analyze (skip_locked) "${name}"`)
}

/** Without this, the embedded database's log grows until the database is closed, and so does the time of a recovery. */
export async function checkpointLongLog(session: Session): Promise<void> {
  const [log] = await session.run<{ bytes: number }>(
    'select (pg_current_wal_insert_lsn() - redo_lsn)::float8 as bytes from pg_control_checkpoint()',
  )
  if (log && log.bytes > mostLog) await session.run('checkpoint')
}

/** As autovacuum: dead rows of a table, besides a fifth of its rows. */
const mostDead = 1_000
/** Transactions since a table was frozen. PostgreSQL refuses writes after 2,000,000,000, and autovacuum begins at a tenth of that. */
const mostAge = 10_000_000

interface Unvacuumed {
  readonly name: string
  readonly isOld: boolean
}

/**
 * Tables, also those of PostgreSQL itself, whose dead rows nothing else removes. Each version of a row that moves in an index leaves 28 bytes behind for
 * ever.
 */
export function findUnvacuumed(session: Session, age = mostAge): Promise<Unvacuumed[]> {
  return session.run<Unvacuumed>(
    `select t.oid::regclass::text as name, age(t.relfrozenxid) > $2::int as "isOld"
     from pg_class t left join pg_stat_all_tables s on s.relid = t.oid
     where t.relkind = 'r' and (s.n_dead_tup > $1::int + 0.2 * greatest(t.reltuples, 0) or age(t.relfrozenxid) > $2::int)
     order by t.oid`,
    [mostDead, age],
  )
}

export async function vacuumTable(session: Session, { name, isOld }: Unvacuumed): Promise<void> {
  await session.run(`vacuum (skip_locked${isOld ? ', freeze' : ''}) ${name}`)
}
