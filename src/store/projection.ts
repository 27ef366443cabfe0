/**
 * A projection: tables that follow from the log, written behind the writer, because in its transaction they would cost each report.
 *
 *   step: the next entries, or the next deployments that have changed → `write` → the cursor, in one statement
 *   read: rows up to covered() from the tables, and what came later from the log or the deployments. A late projection costs time, not exactness.
 *
 * A step has no effect if another server has moved the cursor. A projection of deployments reads each as it is now, however often it has changed,
 * from one of two places:
 *
 *   log           near the head: most entries say that the deployment is found as before (found-by.ts), so only the others are looked up
 *   deployments   far behind, or where retention has removed entries: each deployment once, in the order of revisions
 *
 * The log may be followed only from a cursor up to which all deployments were read, not only those that have not changed since: `duties.follows_log`.
 */
import type { Millis, Revision } from '../domain/values.ts'
import type { Database } from './database.ts'

export interface Projection {
  /** Also of the duty that makes it. */
  readonly name: string
  /** Raise it when `write` makes other rows of the same log. The next server makes them again, and one of a lower version leaves them alone. */
  readonly version: number
  /** What it writes. */
  readonly tables: readonly string[]
  readonly reads: 'entries' | 'deployments'
  /** What `write` uses, besides `first_revision` and `last_revision` of entries. */
  readonly columns: string
  /** Entries or deployments of one statement: reports wait for it, in the embedded database and on few processors. */
  readonly most: Readonly<Record<Database['kind'], number>>
  /** Each statement has exactly so many entries. Fewer wait. */
  readonly inBlocks?: boolean
  /** Its rows add to what is counted first: there is no step before that sets the cursor. */
  readonly isCountedFirst?: boolean
  /** How far it stays behind the head. */
  readonly delay?: Millis
  /** Common table expressions that read `entries`, or `changed` deployments. $3 is the newest revision that is read. */
  readonly write: string
}

interface Step {
  /** Everything up to it is in the tables. */
  readonly cursor: Revision
  readonly hasMore: boolean
}

interface Position {
  readonly version: number | null
  readonly cursor: Revision | null
  readonly head: Revision
  readonly isNear: boolean
}

/** Revisions behind the head: to look up the deployments of so many entries costs less than to read the deployments in their order. */
const near = 300_000
/** Entries that are read for each deployment that is looked up at most. */
const entriesEach = 4

/** The revision up to which readers may use the tables, as SQL. While they are made again, it is where the rows of before ended. */
export function covered({ name, version }: Projection): string {
  return `(select coalesce(max(greatest(case version when ${version} then cursor end, case former_version when ${version} then former_cursor end)), 0)
    from duties where name = '${name}')`
}

/**
 * Makes the next step, up to the revision `upTo` or the head. Null: there is nothing to read, another server has read it, or makes a later version.
 */
export async function step(
  database: Pick<Database, 'session' | 'alter'>,
  projection: Projection,
  limit: number,
  upTo: Revision = Number.POSITIVE_INFINITY,
): Promise<Step | null> {
  const { name, version, reads } = projection
  const { session } = database
  const [found] = await session.run<Position>(
    `select d.version, d.cursor, h.revision as head,
       coalesce(d.follows_log and d.cursor >= h.tail and h.revision - d.cursor <= ${near}, false) as "isNear"
     from log_head h left join (select * from duties where name = '${name}') d on true`,
  )
  if (!found || (found.version ?? 0) > version) return null
  const isMade = found.version === version
  if (!isMade) await rebuild(database, projection, 'if older')
  if (projection.isCountedFirst && (!isMade || found.cursor === null)) return null
  const cursor = (isMade ? found.cursor : null) ?? 0
  const newest = Math.min(found.head, upTo)
  if (newest - cursor < (projection.inBlocks ? limit : 1)) return null
  const from = isMade && found.isNear && reads === 'deployments' ? 'log' : reads
  const [made] = await session.run<Step>(statementOf(projection, from), [cursor, limit, newest])
  return made ?? null
}

/** $1 the cursor, $2 entries or deployments at most, $3 the newest revision. */
function statementOf(projection: Projection, from: 'log' | Projection['reads']): string {
  const { name, version, write, inBlocks, isCountedFirst } = projection
  return `with turn as (
      select from duties where name = '${name}' and version = ${version} and ${isCountedFirst ? 'cursor' : 'coalesce(cursor, 0)'} = $1::bigint
        and (follows_log or ${from !== 'log'}) for update
    ), ${readings[from](projection)}, ${write}
    update duties set cursor = greatest(revision, case when not is_full then $3::bigint end), follows_log = ${from === 'log'} or not is_full
    from read where name = '${name}' and exists (select from turn) and (is_full or ${!inBlocks}) returning cursor, is_full as "hasMore"`
}

/** What a step reads, and `read`: up to which revision, and whether more may follow. */
const readings: Readonly<Record<'log' | Projection['reads'], (projection: Projection) => string>> = {
  entries: ({ columns, delay, inBlocks }) => `next as materialized (
      select l.* from turn cross join lateral (
        select first_revision, last_revision, ${columns} from change_log
        where first_revision > $1::bigint ${delay ? 'and first_revision <= $3::bigint' : ''} order by first_revision limit $2::int) l
    ), entries as (
      select * from next ${inBlocks ? 'where (select count(*) from next) = $2::int' : ''}
    ), read as (
      select max(last_revision) as revision, count(*) >= $2::int as is_full from next
    )`,
  // The indexes by revision are partial, so each has its part.
  deployments: ({ columns }) => `changed as materialized (
      select d.* from turn cross join lateral (
        ${['null', 'not null'].map((forgotten) => `(select ${columns} from deployments where forgotten_at is ${forgotten} and revision > $1::bigint order by revision limit $2::int)`).join(' union all ')}
        order by revision limit $2::int) d
    ), read as (
      select max(revision) as revision, count(*) >= $2::int as is_full from changed
    )`,
  log: ({ columns }) => `entries as materialized (
      select l.* from turn cross join lateral (
        select last_revision, case when found_by_changed then deployment_key end as key
        from change_log where first_revision > $1::bigint order by first_revision limit ${entriesEach} * $2::int) l
    ), found as materialized (
      select key, last_revision from entries where key is not null order by last_revision limit $2::int
    ), changed as materialized (
      select d.* from (select distinct key from found) f
      cross join lateral (select ${columns} from deployments where key = f.key offset 0) d
    ), lengths as (
      select (select count(*) from entries) as entries, (select count(*) from found) as found
    ), read as (
      select case when found < $2::int then (select max(last_revision) from entries) else (select max(last_revision) from found) end as revision,
        found >= $2::int or entries >= ${entriesEach} * $2::int as is_full from lengths
    )`,
}

/** Milliseconds that it waits for a step that holds the cursor. */
const lockLimit = 10_000

/**
 * Makes everything again from the beginning. Rows of deployments are replaced one by one: until all are, readers use those of before, and add what has
 * changed since. Rows of entries add up, so they are removed, and readers read the log instead. Not on the writer's connection: there may be millions.
 */
export function rebuild(
  database: Pick<Database, 'alter'>,
  { name, version, tables, reads }: Projection,
  when: 'always' | 'if older' = 'always',
): Promise<void> {
  const isInPlace = reads === 'deployments'
  // Only if this transaction has taken the cursor back. Its statements see what a step has written that held the cursor.
  const emptied = tables.map(
    (table) =>
      `delete from ${table} where (select xmin = pg_current_xact_id()::xid from duties where name = '${name}')`,
  )
  return database.alter(
    [
      `insert into duties as d (name, version) values ('${name}', ${version}) on conflict (name) do update
         set version = ${version}, cursor = null, follows_log = false, former_version = d.version,
           former_cursor = case when ${isInPlace} then greatest(d.cursor, case d.former_version when d.version then d.former_cursor end) end
       where ${when === 'always'} or d.version < ${version}`,
      ...(isInPlace ? [] : emptied),
    ],
    lockLimit,
  )
}
