/**
 * What PostgreSQL's background processes do, for the embedded database, which has none: statistics for the planner, and checkpoints. PostgreSQL needs the
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
       from pg_class c where c.relnamespace = 'public'::regnamespace and c.relkind = 'r') as t
     where t.blocks >= $1::int
       and (t.blocks >= 2 * t.known or not exists (select from pg_stats s where s.schemaname = 'public' and s.tablename = t.name))
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
