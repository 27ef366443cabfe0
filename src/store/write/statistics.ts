/** Statistics for the planner. PostgreSQL's autovacuum keeps them; the embedded database has no background processes. */
import type { Session } from '../database.ts'

/** Smaller tables, in blocks, need no statistics. */
const smallest = 100

/** Tables without statistics, or with twice as many blocks as when they got them. */
export async function findUnanalyzed(session: Session): Promise<string[]> {
  const rows = await session.run<{ name: string }>(
    `select t.name from (
       select c.oid, c.relname as name, c.relpages as known, pg_relation_size(c.oid) / current_setting('block_size')::int as blocks
       from pg_class c where c.relnamespace = 'public'::regnamespace and c.relkind = 'r') as t
     where t.blocks >= $1::int
       and (t.blocks >= 2 * t.known or not exists (select from pg_statistic s where s.starelid = t.oid))
     order by t.name`,
    [smallest],
  )
  return rows.map(({ name }) => name)
}

/** Reads a sample of 30,000 rows, however many the table has. */
export async function analyzeTable(session: Session, name: string): Promise<void> {
  await session.run(`analyze "${name}"`)
}
