/** Removes what is older than the retention time, in small steps: what is not dropped with a partition (partitions.ts). */
import type { Millis, Revision } from '../../domain/values.ts'
import type { Database, Session } from '../database.ts'
import { iso } from '../sql/record-set.ts'
import { listPartitions } from './partitions.ts'

interface Cut {
  readonly revision: Revision
  readonly at: Millis
}

export interface PruneOptions {
  /** Milliseconds that rows of a table of several partitions are kept longer. Default: none. */
  readonly patience?: Millis
  /** The tables whose oldest partitions are about to be dropped. */
  readonly dropping?: ReadonlySet<string>
}

/**
 * Removes at most `step` of each: entries of the log, reports and lines of the audit log that are older than `before`, and deleted resources
 * and resolved alerts that no entry mentions any more. Returns the number of removed rows.
 *
 * From a table of several partitions, rows are removed later: until then, most of them are dropped with their partition.
 * The others are those of a table that grows so slowly that a partition lasts longer than `patience`.
 */
export async function pruneHistory(
  database: Database,
  before: Millis,
  step: number,
  { patience = 0, dropping = new Set() }: PruneOptions = {},
): Promise<number> {
  const { session } = database
  const parts = async (table: string) => {
    const names = dropping.has(table) ? [] : (await listPartitions(session, table)).map(({ name }) => name)
    return { names, before: names.length > 1 ? before - patience : before }
  }
  const log = await parts('change_log')
  const entries = log.names.length === 0 ? 0 : await pruneLog(session, log.before, step)
  const reports = await pruneReports(session, await parts('reports'), step)
  const resources = await remove(
    session,
    `delete from resources where key = any (array(
       select key from resources where gone_at is not null and revision <= (select tail from log_head) limit $1::int))`,
    [step],
    ', details as (delete from resource_details where key in (select key from old))',
  )
  const alerts = await remove(
    session,
    `delete from alerts where key = any (array(
       select key from alerts where resolved_revision <= (select tail from log_head)
         and coalesce(acknowledged_revision, 0) <= (select tail from log_head) order by resolved_revision limit $1::int))`,
    [step],
  )
  const audit = await parts('audit_log')
  const lines = await remove(
    session,
    // In the order of the index: without it, a planner without statistics reads the whole table for the few that it expects.
    'delete from audit_log where key = any (array(select key from audit_log where at < $1::timestamptz order by at limit $2::int))',
    [iso(audit.before), audit.names.length === 0 ? 0 : step],
  )
  // No count begins at a checkpoint before the tail.
  await session.run('delete from deployment_checkpoints where revision < (select tail from log_head)')
  return entries + reports + resources + alerts + lines
}

/**
 * The cut is found before anything is removed. The oldest entries are the first by the log's key, so `step` of them are enough. The entries are
 * removed first, and the tail moves last: its lock is the one that every writer waits for.
 */
async function pruneLog(session: Session, before: Millis, step: number): Promise<number> {
  const cut = await findCut(session, before, step)
  if (cut === null) return 0
  return remove(
    session,
    'delete from change_log where first_revision <= $1::bigint',
    [cut.revision, iso(cut.at)],
    `, moved as (update log_head set tail = $1::bigint, tail_at = $2::timestamptz
       where id = 1 and tail < $1::bigint and (select count(*) from old) >= 0)`,
  )
}

/** The newest old entry at the beginning of the log. Null: the first entry is not old. */
async function findCut(session: Session, before: Millis, step: number): Promise<Cut | null> {
  const [first] = await session.run<{ at: Millis }>('select at from change_log order by first_revision limit 1')
  if (!first || first.at >= before) return null
  const [cut] = await session.run<Cut>(
    `select last_revision as revision, at from (
       select first_revision, last_revision, at, bool_and(at < $1::timestamptz) over (order by first_revision) as is_old
       from (select first_revision, last_revision, at from change_log order by first_revision limit $2::int) oldest) marked
     where is_old order by first_revision desc limit 1`,
    [iso(before), step],
  )
  return cut ?? null
}

/** Of one partition in a statement: a ctid is unique within a partition only. */
async function pruneReports(
  session: Session,
  { names, before }: { readonly names: readonly string[]; readonly before: Millis },
  step: number,
): Promise<number> {
  let removed = 0
  for (const name of names) {
    removed += await remove(
      session,
      `delete from ${name} where ctid = any (array(select ctid from ${name} where received_at < $1::timestamptz limit $2::int))`,
      [iso(before), step - removed],
    )
    if (removed === step) break
  }
  return removed
}

/** `also`: further statements that depend on the removed rows, `old`. */
async function remove(session: Session, statement: string, parameters: readonly unknown[], also = ''): Promise<number> {
  const [row] = await session.run<{ removed: number }>(
    `with old as (${statement} returning *)${also} select count(*)::int as removed from old`,
    parameters,
  )
  return row?.removed ?? 0
}
