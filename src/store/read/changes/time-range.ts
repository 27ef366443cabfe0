/** The revisions that may have been recorded in the times of a filter, by the log's index of times: a scan need not read the others. */
import { sql } from 'drizzle-orm'
import type { ChangeFilter } from '../../../domain/change.ts'
import type { Millis, Revision } from '../../../domain/values.ts'
import type { Session } from '../../database.ts'
import { timeParameter } from '../../sql/parameters.ts'
import { changeLog, epochs } from '../../tables/schema.ts'
import type { Range } from './rows.ts'

/** Times never decrease within an epoch. After a clock that was ahead, a later epoch may begin at an earlier time. */
export async function rangeOfTimes(session: Session, { since, before }: ChangeFilter): Promise<Range> {
  const [from, to] = await Promise.all([
    since === undefined ? null : firstSince(session, since),
    before === undefined ? null : lastBefore(session, before),
  ])
  return { from, to }
}

const inEpoch = sql`${changeLog.firstRevision} > epoch.base and (epoch.ended is null or ${changeLog.firstRevision} <= epoch.ended)`

async function firstSince(session: Session, since: Millis): Promise<Revision> {
  const time = timeParameter(since)
  const newest = sql`(select ${changeLog.at} from ${changeLog} where ${changeLog.firstRevision} <= epoch.ended
    order by ${changeLog.firstRevision} desc limit 1)`
  const [row] = await session.rows<{ first: Revision }>(
    sql`select found.first from (select * from ${epochs} order by ${epochs.base}) as epoch cross join lateral (
        select ${changeLog.firstRevision} as first from ${changeLog}
        where (epoch.ended is null or ${newest} >= ${time}) and ${changeLog.at} >= ${time} and ${inEpoch}
        order by ${changeLog.at}, ${changeLog.firstRevision} limit 1) as found
      limit 1`,
  )
  return row?.first ?? Number.MAX_SAFE_INTEGER
}

async function lastBefore(session: Session, before: Millis): Promise<Revision> {
  const [row] = await session.rows<{ last: Revision }>(
    sql`select found.last from (select * from ${epochs} order by ${epochs.base} desc) as epoch cross join lateral (
        select ${changeLog.lastRevision} as last from ${changeLog}
        where ${changeLog.at} < ${timeParameter(before)} and ${inEpoch}
        order by ${changeLog.at} desc, ${changeLog.firstRevision} desc limit 1) as found
      limit 1`,
  )
  return row?.last ?? 0
}
