/**
 * Epochs. Within an epoch, revisions are gap-free. A new database, or one that was restored from a copy, begins another epoch. Its base lies
 * above every revision that was used after the copy was made.
 *
 * The clock alone cannot give that base: it may have been ahead when the log began, and be behind now. The copy alone cannot either:
 * restored a second time, it would give the same base. So the base is the newest known revision, plus more than a log can grow (2^40
 * changes are 348 years of 100 a second), plus a random part, so that two epochs from one copy do not overlap. The clock can only make
 * the base larger. Of two epochs from one copy, the later one may have the lower base: a cursor of the other is then above the head, and expires.
 *
 * Revisions are numbers of JavaScript, so their limit is 2^53. From today's clock, 3,000 such steps are possible.
 */

import { randomInt } from 'node:crypto'
import { DomainError } from '../../domain/errors.ts'
import { ownSite } from '../../domain/target.ts'
import type { Millis, Revision } from '../../domain/values.ts'
import { type Database, doorbellText, type Session } from '../database.ts'
import { requireComplete } from '../migration/complete.ts'
import { iso } from '../sql/record-set.ts'
import { noLogHead, StatementError } from './failure.ts'

/**
 * The identity of the database: the cluster, its timeline (new after a recovery), the database in it (new after a copy as a template),
 * and the table itself (new after a dump). Copies of the embedded store all have the same identity: an operator who restores one runs
 * `npm run new-epoch`.
 */
async function readDatabaseId(session: Session): Promise<string> {
  const [rights] = await session.run<{ allowed: boolean; standby: boolean }>(
    `select has_function_privilege('pg_control_system()', 'execute') as allowed, pg_is_in_recovery() as standby`,
  )
  // The error that PostgreSQL gives for a write: another server is, or soon will be, the primary.
  if (rights?.standby) throw new StatementError('the database is a standby', '25006')
  // Some hosting providers do not show the id of the cluster.
  const cluster = rights?.allowed ? '(select system_identifier from pg_control_system())' : `'-'`
  const [found] = await session.run<{ databaseId: string }>(
    `select ${cluster} || '/' || substring(pg_walfile_name(pg_current_wal_lsn()) for 8) || '/' || d.oid || '/' || 'log_head'::regclass::oid
       as "databaseId" from pg_database d where d.datname = current_database()`,
  )
  return found?.databaseId ?? ''
}

/**
 * Ensures that the log continues where it ended. Another identity, or a head below a revision that a server has seen, means
 * that this is a copy of an earlier state, without the later writes. Returns the base of an epoch that begins after another one.
 *
 * Only a server that starts makes the head. One that has seen revisions may have lost it to a restore, which would fail at a second head.
 */
export async function ensureEpoch(session: Session, now: Millis, newestSeen: Revision = 0): Promise<Revision | null> {
  const databaseId = await readDatabaseId(session)
  const [head] = await session.run<{ databaseId: string; revision: Revision }>(
    'select identity as "databaseId", revision from log_head where id = 1',
  )
  if (!head && newestSeen > 0) throw noLogHead()
  if (!head) {
    const base = ofClock(now)
    await session.run(
      `insert into log_head (epoch_base, revision, tail, tail_at, at, next_key, writes, identity)
       values ($1::bigint, $1::bigint, $1::bigint, $2::timestamptz, $2::timestamptz, 1, 0, $3) on conflict do nothing`,
      [base, iso(now), databaseId],
    )
    await session.run('insert into epochs (base, began_at) select epoch_base, at from log_head on conflict do nothing')
  } else if (head.databaseId !== databaseId || head.revision < newestSeen) {
    // While the copy is made, a part of what an epoch changes is not there yet.
    await requireComplete(session)
    return beginEpoch(session, now, {
      databaseId,
      above: newestSeen,
      unless: (locked) => locked.databaseId === databaseId && locked.revision >= newestSeen,
    })
  }
  return null
}

/**
 * A device refuses a manifest that is older than its own, and a restored copy may not have the device's version. So the versions of every device
 * increase as the revisions do: by more versions than one device gets (2^24, one a second for half a year) and a random part. With a correct
 * clock, a later epoch lies above every earlier one. If the clock cannot order two epochs from one copy, the device can: its next version is
 * also above the version that it reports as adopted (store/write/load/load-desired.ts).
 * The documents are those of this copy.
 */
const manifestLeap = 2 ** 24
const manifestSpread = 2 ** 20
const renewManifests = `insert into manifests (target_key, version, at, who, why, bundle_digest, bundle_size)
  select t.key, greatest(coalesce(newest.version, 1) + ${manifestLeap}, $2::bigint) + $3::bigint, $1::timestamptz, 'rollcall',
    'The database was restored from a copy: versions go on above those that were lost', newest.bundle_digest, newest.bundle_size
  from targets t left join lateral (
    select m.* from manifests m where m.target_key = t.key order by m.version desc limit 1) newest on true
  where t.kind = 'DEVICE' and t.site_key = ${ownSite} and strpos(substr(t.name, 2), '/') = 0`

interface NewEpoch {
  readonly databaseId?: string
  /** The base also lies above this revision. */
  readonly above?: Revision
  /**
   * The log's time begins at `now`, also if it was ahead: after a jump of the clock, `at` of every later change stays in the future.
   * Within an epoch `at` never decreases, so only a new epoch can correct it (past.ts reads each epoch by its own time).
   */
  readonly timeFromClock?: boolean
  /** Checked under the lock: another server may have begun the epoch meanwhile. */
  readonly unless?: (head: { readonly databaseId: string; readonly revision: Revision }) => boolean
}

const leap = 2 ** 40

/** Microseconds. The limit for the clock: a clock that is a century ahead would exhaust the revisions. */
function ofClock(now: Millis): Revision {
  return Math.min(Math.max(now, 0) * 1000, 2 ** 52)
}

/** Returns the base of the new epoch, or null if `unless` found it unnecessary. Earlier history is kept. */
export async function beginEpoch(
  session: Session,
  now: Millis,
  { databaseId, above = 0, timeFromClock = false, unless }: NewEpoch = {},
): Promise<Revision | null> {
  const [head] = await session.run<{ databaseId: string; revision: Revision; at: Millis }>(
    'select identity as "databaseId", revision, at from log_head where id = 1 for update',
  )
  if (!head) throw noLogHead()
  if (unless?.(head)) return null
  const base = Math.max(ofClock(now), head.revision, above) + leap + randomInt(leap)
  if (base > Number.MAX_SAFE_INTEGER - leap)
    throw new DomainError('CONFLICT', 'there are no revisions left for another epoch: begin with an empty database')
  await session.run('update epochs set ended = $1::bigint where ended is null', [head.revision])
  await session.run('insert into epochs (base, began_at) values ($1::bigint, $2::timestamptz)', [base, iso(now)])
  await session.run(
    `update log_head set epoch_base = $1::bigint, revision = $1::bigint, identity = $2,
       writes = writes + 1 where id = 1`,
    [base, databaseId ?? head.databaseId],
  )
  if (timeFromClock)
    await session.run(
      'update log_head set at = $1::timestamptz, tail_at = least(tail_at, $1::timestamptz) where id = 1',
      [iso(now)],
    )
  await session.run(renewManifests, [iso(now), ofClock(now), randomInt(manifestSpread)])
  await session.run(`select pg_notify(${doorbellText}, $1)`, [String(base)])
  return base
}

/** For a server that has seen revisions which the database no longer has. */
export function restartEpoch(database: Database, now: Millis, newestSeen: Revision): Promise<Revision | null> {
  return database.transaction((session) => ensureEpoch(session, now, newestSeen))
}
