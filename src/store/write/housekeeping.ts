/** What time makes due: silent devices, ended deployments, old history. Found here; changed through the writer or under its lock. */
import type { Millis, Revision } from '../../domain/values.ts'
import type { Database, Session } from '../database.ts'
import { iso } from '../sql/record-set.ts'
import { lockHead } from './load.ts'

/**
 * Takes or renews a lease. Null: another server has it. Otherwise since when it has been held without a gap: one of less than
 * `grace` between two holders is none, because the replicas that do not hold it listen all the same.
 */
export async function holdLease(
  session: Session,
  lease: {
    readonly name: string
    readonly holder: string
    readonly now: Millis
    readonly term: Millis
    readonly grace: Millis
  },
): Promise<Millis | null> {
  const { name, holder, now, term, grace } = lease
  const [row] = await session.run<{ since: Millis }>(
    `insert into leases as l (name, holder, until, since) values ($1, $2, $3::timestamptz, $4::timestamptz)
     on conflict (name) do update set holder = excluded.holder, until = excluded.until,
       since = case when l.until < $5::timestamptz then excluded.since else l.since end
     where l.holder = excluded.holder or l.until < $4::timestamptz
     returning since`,
    [name, holder, iso(now + term), iso(now), iso(now - grace)],
  )
  return row?.since ?? null
}

/** Signatures that are too old to be good, used or not. */
export async function forgetSignatures(session: Session, now: Millis): Promise<void> {
  await session.run('delete from used_signatures where until < $1::timestamptz', [iso(now)])
}

/** Devices not heard for longer than they promised (or than `offlineAfter` seconds), and not known to be offline yet. */
export async function findSilent(
  session: Session,
  now: Millis,
  offlineAfter: number | null,
  limit: number,
): Promise<string[]> {
  const rows = await session.run<{ name: string }>(
    `select name from targets
     where kind = 'DEVICE' and connectivity <> 'OFFLINE' and retired_at is null and last_heard_at is not null
       and coalesce(expected_interval, $2::int) is not null
       and last_heard_at < $1::timestamptz - make_interval(secs => coalesce(expected_interval, $2::int))
     limit $3::int`,
    [iso(now), offlineAfter, limit],
  )
  return rows.map(({ name }) => name)
}

/** Deployments that have been REMOVED since before that time. */
export async function findEnded(session: Session, before: Millis, limit: number): Promise<number[]> {
  const rows = await session.run<{ key: number }>(
    `select key from deployments where state = 'REMOVED' and forgotten_at is null and instance_key is null and changed_at < $1::timestamptz
     order by revision limit $2::int`,
    [iso(before), limit],
  )
  return rows.map(({ key }) => key)
}

/**
 * Removes at most `step` entries of the log, as many reports and lines of the audit log, and as many resources that are gone and that no entry speaks of any more, all
 * older than `before`. Says how many it removed.
 */
export async function pruneHistory(database: Database, before: Millis, step: number): Promise<number> {
  return database.transaction(async (session) => {
    // How many are that old is known of the values alone: without them, whole tables would be read.
    await session.run('set local plan_cache_mode = auto')
    await lockHead(session)
    const [cut] = await session.run<{ revision: Revision | null; at: Millis | null; entries: number }>(
      `select max(last_revision) as revision, max(at) as at, count(*)::int as entries from (
         select last_revision, at from change_log where at < $1::timestamptz order by first_revision limit $2::int) old`,
      [iso(before), step],
    )
    if (cut?.revision && cut.at !== null) {
      await session.run('delete from change_log where first_revision <= $1::bigint', [cut.revision])
      await session.run('update log_head set tail = $1::bigint, tail_at = $2::timestamptz where id = 1', [
        cut.revision,
        iso(cut.at),
      ])
    }
    const [reports] = await session.run<{ removed: number }>(
      `with old as (
         delete from reports where ctid = any (array(select ctid from reports where received_at < $1::timestamptz limit $2::int)) returning 1)
       select count(*)::int as removed from old`,
      [iso(before), step],
    )
    const [gone] = await session.run<{ removed: number }>(
      `with old as (delete from resources where key = any (array(
           select key from resources where gone_at is not null and revision <= (select tail from log_head) limit $1::int)) returning key),
         details as (delete from resource_details where key in (select key from old))
       select count(*)::int as removed from old`,
      [step],
    )
    const [lines] = await session.run<{ removed: number }>(
      `with old as (
         delete from audit_log where key in (select key from audit_log where at < $1::timestamptz limit $2::int) returning 1)
       select count(*)::int as removed from old`,
      [iso(before), step],
    )
    return (cut?.entries ?? 0) + (reports?.removed ?? 0) + (gone?.removed ?? 0) + (lines?.removed ?? 0)
  })
}
