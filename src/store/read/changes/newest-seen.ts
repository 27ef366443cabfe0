/**
 * What a restricted reader learns of the times of changes that it does not see. Revisions are numbered for the whole fleet, so a time that selects the
 * newest revision, or a revision that selects its time, would tell when others change something. Such a time is rounded down, and only the reader's own
 * changes are found behind it. The newest change that the reader sees, however old, was rejected: a reader with few changes would scan the log.
 */
import { type SQL, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/pg-core'
import type { Millis, Revision } from '../../../domain/values.ts'
import type { Session } from '../../database.ts'
import { all, either, listParameter } from '../../sql/parameters.ts'
import { changeLog } from '../../tables/schema.ts'
import { sawOrigin, visibleSubject } from '../access-scope.ts'

/** Revisions after `low`, up to `high`. */
interface Gap {
  readonly low: Revision
  readonly high: Revision
}

interface SeenEntry {
  /** The last revision of the entry, at most `high`. */
  readonly revision: Revision
  readonly at: Millis
}

const entry = alias(changeLog, 'entry')

/** The newest entry in each gap of a subject that the reader sees, or saw before the entry. */
export async function newestSeen(session: Session, gaps: readonly Gap[]): Promise<(SeenEntry | null)[]> {
  if (gaps.every(({ low, high }) => low >= high)) return gaps.map(() => null)
  const lows = gaps.map(({ low }) => low)
  const highs = gaps.map(({ high }) => high)
  const rows = await session.rows<{ place: number; revision: Revision; at: Millis }>(
    sql`select gap.place::int as place, least(found.last, gap.high) as revision, found.at
      from unnest(${listParameter(lows, 'bigint')}, ${listParameter(highs, 'bigint')}) with ordinality as gap(low, high, place)
      cross join lateral (
        select ${entry.lastRevision} as last, ${entry.at} as at from ${changeLog} ${entry}
        where ${entry.firstRevision} > gap.low and ${entry.firstRevision} <= gap.high and ${concerns(session)}
        order by ${entry.firstRevision} desc limit 1) as found`,
  )
  const byPlace = new Map(rows.map(({ place, ...found }) => [place, found]))
  return gaps.map((_, index) => byPlace.get(index + 1) ?? null)
}

/** As visibleChanges of access-scope.ts says it. */
function concerns(session: Session): SQL {
  const hasMoved = sql`(${entry.fromTargetKey} is not null or ${entry.fromRolloutKey} is not null)`
  const isSeen = either([all(visibleSubject(session, entry)), all([hasMoved, ...sawOrigin(session, entry)])])
  const isOfAlert = sql`coalesce(${entry.changes} -> 0 ->> 'kind', '') like 'ALERT_%'`
  return session.accessScope?.labels ? sql`not ${isOfAlert} and ${isSeen}` : isSeen
}
