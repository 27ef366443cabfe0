import { type SQL, sql } from 'drizzle-orm'
import type { Millis, Revision } from '../../../domain/values.ts'
import type { Session } from '../../database.ts'
import { changeLog, logHead } from '../../tables/schema.ts'

/** When a revision was recorded. */
export async function timeOf(session: Session, revision: Revision): Promise<Millis> {
  const [row] = await session.rows<{ readonly at: Millis }>(sql`select ${recordedAt(sql`${revision}::bigint`)} as at`)
  return row?.at ?? 0
}

/** At the tail of the log, no entry is left that says it. */
export function recordedAt(revision: SQL): SQL {
  return sql`coalesce(
    (select ${changeLog.at} from ${changeLog} where ${changeLog.firstRevision} <= ${revision} order by ${changeLog.firstRevision} desc limit 1),
    (select ${logHead.tailAt} from ${logHead}))`
}
