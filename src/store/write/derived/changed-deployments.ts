/**
 * How a duty follows the deployments by revision: each as it is now, however often it has changed. It reads them from one of two places:
 *
 *   log           near the head: most entries say that the deployment is found as before (found-by.ts), so only the others are looked up
 *   deployments   far behind, or where retention has removed entries: each deployment once, in the order of revisions
 *
 * The log may be followed only from a cursor up to which all deployments were derived, not only those that have not changed since: `duties.follows_log`.
 */
import type { Revision } from '../../../domain/values.ts'
import type { Session } from '../../database.ts'

type ReadFrom = 'log' | 'deployments'

/** Everything up to `cursor` is indexed. */
interface Position {
  readonly cursor: Revision
  readonly readFrom: ReadFrom
}

interface Indexed {
  readonly cursor: Revision
  readonly hasMore: boolean
}

/** Revisions behind the head: to look up the deployments of so many entries costs less than to read the deployments in their order. */
const near = 300_000
/** Entries that are read for each deployment that is looked up at most. */
const entriesEach = 4

/** Statements by what they read. $1 the cursor, $2 deployments at most. They change nothing if the cursor has moved: another replica has read them. */
export function followDeployments(
  duty: string,
  columns: string,
  /** Common table expressions that read `changed`. */
  written: string,
): Readonly<Record<ReadFrom, string>> {
  const turn = (and: string): string =>
    `turn as (select from duties where name = '${duty}' and coalesce(cursor, 0) = $1::bigint ${and} for update)`
  // The indexes by revision are partial, so each has its part.
  const next = (condition: string): string =>
    `(select ${columns} from deployments where ${condition} and revision > $1::bigint order by revision limit $2::int)`
  const newestRead = `select max(last_revision) from ((select last_revision from entries where (select count(*) from found) < $2::int)
    union all select last_revision from found) as read having count(*) > 0`
  const move = (
    to: string,
    followsLog: string,
    hasMore: string,
  ): string => `update duties set cursor = (${to}), follows_log = (${followsLog})
    where name = '${duty}' and exists (${to}) returning cursor, (select ${hasMore}) as "hasMore"`
  return {
    deployments: `with ${turn('')}, changed as materialized (
        select d.* from turn cross join lateral (
          ${next('forgotten_at is null')} union all ${next('forgotten_at is not null')}
          order by revision limit $2::int) d
      ), ${written}
      ${move('select max(revision) from changed having count(*) > 0', 'select count(*) < $2::int from changed', 'count(*) >= $2::int from changed')}`,
    log: `with ${turn('and follows_log')}, entries as materialized (
        select l.* from turn cross join lateral (
          select last_revision, case when found_by_changed then deployment_key end as key
          from change_log where first_revision > $1::bigint order by first_revision limit ${entriesEach} * $2::int) l
      ), found as materialized (
        select key, last_revision from entries where key is not null order by last_revision limit $2::int
      ), changed as materialized (
        select d.* from (select distinct key from found) f
        cross join lateral (select ${columns} from deployments where key = f.key offset 0) d
      ), ${written}
      ${move(
        newestRead,
        'true',
        `(select count(*) from found) >= $2::int or count(*) >= ${entriesEach} * $2::int from entries`,
      )}`,
  }
}

/** What was derived from deployments that have not changed since the cursor is current. */
export async function readPosition(session: Session, duty: string): Promise<Position> {
  await session.run('insert into duties (name, cursor) values ($1, 0) on conflict (name) do nothing', [duty])
  const [row] = await session.run<{ cursor: Revision; isNear: boolean }>(
    `select coalesce(d.cursor, 0) as cursor, coalesce(d.follows_log and d.cursor >= h.tail and h.revision - d.cursor <= ${near}, false) as "isNear"
     from duties d cross join log_head h where d.name = $1`,
    [duty],
  )
  return { cursor: row?.cursor ?? 0, readFrom: row?.isNear ? 'log' : 'deployments' }
}

/** Null: there is nothing to read, or another replica has read it. */
export async function followOnce(
  session: Session,
  statements: Readonly<Record<ReadFrom, string>>,
  { cursor, readFrom }: Position,
  limit: number,
): Promise<Indexed | null> {
  const [row] = await session.run<Indexed>(statements[readFrom], [cursor, limit])
  return row ?? null
}
