/** What an archive has to know about the tables that it copies. */
import { sql } from 'drizzle-orm'
import type { Revision } from '../../../domain/values.ts'
import type { Session } from '../../database.ts'
import { changeLog, logHead } from '../../tables/schema.ts'

/**
 * Identifies the database and its epoch. Files that were put back have the same identity, and give their keys to rows a second time. The epoch
 * that follows tells the two apart. So an archive copies again what a new epoch keeps: the first epoch was rejected, because retention would
 * then remove rows whose keys other rows had when they were copied.
 */
export async function databaseId(session: Session): Promise<string> {
  const [row] = await session.rows<{ readonly identity: string; readonly base: Revision }>(
    sql`select ${logHead.identity}, ${logHead.epochBase} as base from ${logHead}`,
  )
  return `${row?.identity ?? ''}/${row?.base ?? ''}`
}

/** The last revision of the entry that begins at a revision or before. The revision itself, if there is none any more. */
export async function endOfEntry(session: Session, first: Revision): Promise<Revision> {
  const [row] = await session.rows<{ readonly last: Revision }>(
    sql`select ${changeLog.lastRevision} as last from ${changeLog} where ${changeLog.firstRevision} <= ${first}::bigint
      order by ${changeLog.firstRevision} desc limit 1`,
  )
  return Math.max(first, row?.last ?? first)
}
