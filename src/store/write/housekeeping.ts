/** Finds what becomes due with time: silent devices and ended deployments, which the writer changes. Removes old signatures, and batches of ended servers. */
import { ownSite, type TargetKind, type TargetName } from '../../domain/target.ts'
import type { Millis } from '../../domain/values.ts'
import type { Session } from '../database.ts'
import { iso } from '../sql/record-set.ts'

/** Removes signatures that are too old to be valid, used or not. */
export async function forgetSignatures(session: Session, now: Millis): Promise<void> {
  await session.run('delete from used_signatures where until < $1::timestamptz', [iso(now)])
}

/** Each start of a server makes new rows of `batches`. Only servers that still run need theirs. */
export async function forgetBatches(session: Session, before: Millis): Promise<void> {
  await session.run('delete from batches where at < $1::timestamptz', [iso(before)])
}

/** Each kind by its own index. */
const awake = (kind: TargetKind): string =>
  `select * from targets where kind = '${kind}' and connectivity <> 'OFFLINE' and retired_at is null`

/**
 * Devices and sites that were silent for longer than they promised (or than `offlineAfter` seconds) and are not marked OFFLINE yet. Silence counts from
 * `listeningSince`: after a downtime, devices that cannot be judged yet would fill the limit and hide the others. While devices enter a maintenance
 * window that has just begun, none is judged.
 */
export async function findSilent(
  session: Session,
  now: Millis,
  listeningSince: Millis,
  offlineAfter: number | null,
  limit: number,
): Promise<TargetName[]> {
  return session.run<TargetName>(
    `select kind, provider, name from (${awake('DEVICE')} union all ${awake('SITE')}) t
     where site_key = ${ownSite} and last_heard_at is not null
       and coalesce(expected_interval, $2::int) is not null
       and last_heard_at < $1::timestamptz - make_interval(secs => coalesce(expected_interval, $2::int))
       and maintenance_key is null and not exists (select from maintenance_windows
         where not begun and ended_revision is null and next_at <= $1::timestamptz and next_end > $1::timestamptz
           and next_at > $1::timestamptz - interval '1 minute')
       and coalesce(maintenance_ended_at, last_heard_at) < $1::timestamptz - make_interval(secs => coalesce(expected_interval, $2::int))
       and $3::timestamptz < $1::timestamptz - make_interval(secs => coalesce(expected_interval, $2::int))
     limit $4::int`,
    [iso(now), offlineAfter, iso(listeningSince), limit],
  )
}

/** Deployments that became REMOVED before that time. One that a manifest still lists cannot be forgotten. */
export async function findEnded(session: Session, before: Millis, limit: number): Promise<number[]> {
  const rows = await session.run<{ key: number }>(
    `select key from deployments where state = 'REMOVED' and forgotten_at is null and instance_key is null and document_digest is null and site_key = ${ownSite}
       and changed_at < $1::timestamptz
     order by revision limit $2::int`,
    [iso(before), limit],
  )
  return rows.map(({ key }) => key)
}
