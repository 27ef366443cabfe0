/** The revisions that may have been recorded in the times of a filter, so that a scan need not read the others. */
import { sql } from 'drizzle-orm'
import type { ChangeFilter } from '../../../domain/nouns/change.ts'
import type { Millis, Revision } from '../../../domain/values.ts'
import type { Session } from '../../database.ts'
import { timeParameter } from '../../sql/parameters.ts'
import { changeLog, epochs, logHead } from '../../tables/schema.ts'
import { newestEntry } from './newest-entry.ts'
import type { Range } from './rows.ts'

/** Times never decrease within an epoch. After a clock that was ahead, a later epoch may begin at an earlier time. */
export async function rangeOfTimes(session: Session, { since, before }: ChangeFilter): Promise<Range> {
  const [from, to] = await Promise.all([
    since === undefined ? null : firstSince(session, since),
    before === undefined ? null : lastBefore(session, before),
  ])
  return { from, to }
}

const ended = sql`coalesce(epoch.ended, (select ${logHead.revision} from ${logHead}))`

async function firstSince(session: Session, since: Millis): Promise<Revision> {
  const older = newestEntry(sql`epoch.base`, ended, '<', timeParameter(since))
  const [row] = await session.rows<{ first: Revision }>(
    sql`select entry.first from (select * from ${epochs} order by ${epochs.base}) as epoch
      cross join lateral ${older}
      cross join lateral (
        select ${changeLog.firstRevision} as first from ${changeLog}
        where ${changeLog.firstRevision} > coalesce(found.revision, epoch.base) and ${changeLog.firstRevision} <= ${ended}
        order by ${changeLog.firstRevision} limit 1) as entry
      limit 1`,
  )
  return row?.first ?? Number.MAX_SAFE_INTEGER
}

async function lastBefore(session: Session, before: Millis): Promise<Revision> {
  const older = newestEntry(sql`epoch.base`, ended, '<', timeParameter(before))
  const [row] = await session.rows<{ last: Revision }>(
    sql`select found.revision as last from (select * from ${epochs} order by ${epochs.base} desc) as epoch
      cross join lateral ${older} where found.revision is not null limit 1`,
  )
  return row?.last ?? 0
}

export const everAndAlways: Range = { from: null, to: null }

export function later(a: Revision | null, b: Revision | null): Revision | null {
  if (a === null || b === null) return a ?? b
  return Math.max(a, b)
}

export function earlier(a: Revision | null, b: Revision | null): Revision | null {
  if (a === null || b === null) return a ?? b
  return Math.min(a, b)
}
