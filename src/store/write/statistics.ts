/**
 * Statistics for the planner. The embedded database has no background processes. PostgreSQL's autovacuum comes once a minute, and connections keep
 * their plans until then: in a minute a fleet can grow from ten devices to 50,000, and a plan for ten reads whole tables.
 */
import type { Session } from '../database.ts'

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
