/** Removes what is older than the retention time, in small steps. */
import type { Millis, Revision } from '../../domain/values.ts'
import type { Database, Session } from '../database.ts'
import { iso } from '../sql/record-set.ts'
import { lockHead } from './load.ts'

interface Cut {
  readonly revision: Revision
  readonly at: Millis
}

/**
 * Removes at most `step` of each: entries of the log, reports and lines of the audit log that are older than `before`, and deleted resources
 * and resolved alerts that no entry mentions any more. Returns the number of removed rows.
 */
export async function pruneHistory(database: Database, before: Millis, step: number): Promise<number> {
  const { session } = database
  const entries = await pruneLog(database, before, step)
  const reports = await remove(
    session,
    `delete from reports where ctid = any (array(select ctid from reports where received_at < $1::timestamptz limit $2::int))`,
    [iso(before), step],
  )
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
  const lines = await remove(
    session,
    // In the order of the index: without it, a planner without statistics reads the whole table for the few that it expects.
    'delete from audit_log where key = any (array(select key from audit_log where at < $1::timestamptz order by at limit $2::int))',
    [iso(before), step],
  )
  // No count begins at a checkpoint before the tail.
  if (entries > 0) await session.run('delete from deployment_checkpoints where revision < (select tail from log_head)')
  return entries + reports + resources + alerts + lines
}

/**
 * The cut is found before the lock is taken. A search under the lock was rejected because it blocked every writer: if nothing is old, a planner
 * that expects some old entries reads the whole log. The oldest entries are the first by the log's key, so `step` of them are enough.
 */
async function pruneLog(database: Database, before: Millis, step: number): Promise<number> {
  const cut = await findCut(database.session, before, step)
  if (cut === null) return 0
  return database.transaction(async (session) => {
    // Only the values show that the range is small: a generic plan would read the whole log.
    await session.run('set local plan_cache_mode = auto')
    await lockHead(session)
    const removed = await remove(session, 'delete from change_log where first_revision <= $1::bigint', [cut.revision])
    await session.run(
      'update log_head set tail = $1::bigint, tail_at = $2::timestamptz where id = 1 and tail < $1::bigint',
      [cut.revision, iso(cut.at)],
    )
    return removed
  })
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

/** `also`: further statements that depend on the removed rows, `old`. */
async function remove(session: Session, statement: string, parameters: readonly unknown[], also = ''): Promise<number> {
  const [row] = await session.run<{ removed: number }>(
    `with old as (${statement} returning *)${also} select count(*)::int as removed from old`,
    parameters,
  )
  return row?.removed ?? 0
}
