/** What an archive has to know about the tables that it copies. */
import { sql } from 'drizzle-orm'
import type { Revision } from '../../../domain/values.ts'
import type { Session } from '../../database.ts'
import { changeLog, epochs, logHead } from '../../tables/schema.ts'

/** Identifies the database and its first epoch: copies of the embedded database have the same identity. */
export async function databaseId(session: Session): Promise<string> {
  const [row] = await session.rows<{ readonly identity: string; readonly base: number | null }>(
    sql`select ${logHead.identity}, (select min(${epochs.base}) from ${epochs}) as base from ${logHead}`,
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
