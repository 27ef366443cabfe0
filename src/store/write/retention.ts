/** Removes what is older than the retention time, in small steps: what is not dropped with a partition (partitions.ts). */
import { roundUp } from '../../domain/access-scope.ts'
import type { Millis, Revision } from '../../domain/values.ts'
import type { Database, Session } from '../database.ts'
import { iso } from '../sql/record-set.ts'
import { findExpired, listPartitions, type PartitionedTable } from './partitions.ts'

interface Cut {
  readonly revision: Revision
  readonly at: Millis
}

interface PruneOptions {
  /** Milliseconds that rows of a table of several partitions are kept longer. Default: none. */
  readonly extraTime?: Millis
  /** The tables whose oldest partitions are about to be dropped. */
  readonly dropping?: ReadonlySet<string>
  /** Rows above this key of their table stay. Default: none. */
  readonly upTo?: (table: string) => number
}

/** The rows of a table that may be removed: of these partitions, older than a time, up to a key. */
interface Part {
  readonly names: readonly string[]
  readonly before: Millis
  readonly upTo: number
}

/**
 * Removes at most `step` of each: entries of the log, reports and lines of the audit log that are older than `before`, and deleted resources
 * and resolved alerts that no entry mentions any more. Returns the number of removed rows.
 *
 * From a table of several partitions, rows are removed later: until then, most of them are dropped with their partition.
 * The others are those of a table that grows so slowly that a partition lasts longer than `extraTime`.
 */
export async function pruneHistory(
  database: Database,
  before: Millis,
  step: number,
  { extraTime = 0, dropping = new Set(), upTo = () => Number.MAX_SAFE_INTEGER }: PruneOptions = {},
): Promise<number> {
  const { session } = database
  const parts = async (table: string) => {
    const names = dropping.has(table) ? [] : (await listPartitions(session, table)).map(({ name }) => name)
    return { names, before: names.length > 1 ? before - extraTime : before, upTo: upTo(table) }
  }
  const log = await parts('change_log')
  const entries = log.names.length === 0 ? 0 : await pruneLog(session, log, step)
  // Of several partitions, the oldest is dropped as a whole.
  const past = (await parts('past_deployments')).names.length === 1 ? step : 0
  await remove(
    session,
    `delete from past_deployments where until = any (array(
       select until from past_deployments where until <= (select tail from log_head) order by until limit $1::int))`,
    [past],
  )
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
    'delete from audit_log where key = any (array(select key from audit_log where at < $1::timestamptz and key <= $3::bigint order by at limit $2::int))',
    [iso(audit.before), audit.names.length === 0 ? 0 : step, audit.upTo],
  )
  // No count begins at a checkpoint before the tail.
  await session.run('delete from deployment_checkpoints where revision < (select tail from log_head)')
  await session.run('delete from maintenance_periods where ended_revision <= (select tail from log_head)')
  await session.run('delete from rollout_labels where until <= (select tail from log_head)')
  await session.run('delete from facet_checkpoints where revision <= (select tail from log_head)')
  await session.run('delete from change_summaries where last_revision <= (select tail from log_head)')
  return entries + reports + resources + alerts + lines
}

/**
 * The cut is found before anything is removed. The oldest entries are the first by the log's key, so `step` of them are enough. The entries are
 * removed first, and the tail moves last: its lock is the one that every writer waits for. All callers see `tail_at`, so it is rounded: callers with an
 * access scope do not learn from it when something else changed.
 */
async function pruneLog(session: Session, { before, upTo }: Part, step: number): Promise<number> {
  const cut = await findCut(session, before, upTo, step)
  if (cut === null) return 0
  return remove(
    session,
    'delete from change_log where first_revision <= $1::bigint',
    [cut.revision, iso(roundUp(cut.at))],
    `, moved as (update log_head set tail = $1::bigint, tail_at = least($2::timestamptz, at)
       where id = 1 and tail < $1::bigint and (select count(*) from old) >= 0)`,
  )
}

/** The newest old entry at the beginning of the log. Null: the first entry is not old. */
async function findCut(session: Session, before: Millis, upTo: number, step: number): Promise<Cut | null> {
  const [first] = await session.run<{ at: Millis }>('select at from change_log order by first_revision limit 1')
  if (!first || first.at >= before) return null
  const [cut] = await session.run<Cut>(
    `select last_revision as revision, at from (
       select first_revision, last_revision, at, bool_and(at < $1::timestamptz) over (order by first_revision) as is_old
       from (select first_revision, last_revision, at from change_log where first_revision <= $3::bigint
         order by first_revision limit $2::int) oldest) marked
     where is_old order by first_revision desc limit 1`,
    [iso(before), step, upTo],
  )
  return cut ?? null
}

/** Of one partition in a statement: a ctid is unique within a partition only. */
async function pruneReports(session: Session, { names, before, upTo }: Part, step: number): Promise<number> {
  let removed = 0
  for (const name of names) {
    removed += await remove(
      session,
      `delete from ${name} where ctid = any (array(select ctid from ${name} where received_at < $1::timestamptz and key <= $3::bigint limit $2::int))`,
      [iso(before), step - removed, upTo],
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

/** Entries of the log that are copied at a time, where they are removed by rows. */
const most = 100_000

interface Expiry {
  /** Rows up to this key have been copied. */
  readonly copied: number
  /** Older rows have expired. */
  readonly before: Millis
  /** Without an expired partition, rows are copied when one of them is older than this. They are not copied one by one. */
  readonly due: Millis
}

/** The key up to which rows should be copied now. Null: nothing has to be. */
export async function findArchivable(
  session: Session,
  table: PartitionedTable,
  { copied, before, due }: Expiry,
): Promise<number | null> {
  const last = (await findExpired(session, table, before)).at(-1)
  if (last && last.to !== null && last.to - 1 > copied) return last.to - 1
  const { name, key, time } = table
  if (name !== 'change_log') {
    // Keys and times may differ in their order by what one batch takes. A row that is copied early does no harm.
    const [row] = await session.run<{ bound: number | null }>(
      `select case when exists (select from ${name} where ${key} > $1::bigint and ${time} < $2::timestamptz)
         then (select max(${key}) from ${name} where ${key} > $1::bigint and ${time} < $3::timestamptz) end as bound`,
      [copied, iso(due), iso(before)],
    )
    return row?.bound ?? null
  }
  // No index has the times of the log. Its first entries are the oldest.
  const [row] = await session.run<{ bound: number | null }>(
    `select max(${key}) filter (where is_old) as bound from (
       select ${key}, bool_and(${time} < $3::timestamptz) over (order by ${key}) as is_old
       from (select ${key}, ${time} from ${name} where ${key} > $1::bigint
         and (select ${time} from ${name} where ${key} > $1::bigint order by ${key} limit 1) < $2::timestamptz
         order by ${key} limit $4::int) first_entries) marked`,
    [copied, iso(due), iso(before), most],
  )
  return row?.bound ?? null
}
