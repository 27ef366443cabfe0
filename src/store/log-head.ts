import { type SQL, sql } from 'drizzle-orm'
import type { Revision } from '../domain/deployment.ts'
import type { LogHead, Session } from './database.ts'
import { epochs, logHead } from './schema.ts'

export const headQuery: SQL = sql`select ${logHead.epochBase} as "epochBase", ${logHead.revision} as revision, ${logHead.tail} as tail,
  ${logHead.tailAt} as "tailAt", ${logHead.at} as at, ${logHead.writes} as writes from ${logHead} where ${logHead.id} = 1`

export async function readHead(session: Session): Promise<LogHead> {
  const [head] = await session.rows<LogHead>(headQuery)
  if (!head) throw new Error('the database has no log head: it was not migrated')
  return head
}

export interface EpochRange {
  readonly base: Revision
  /** The newest revision it reached; null: the present epoch. */
  readonly ended: Revision | null
}

/** The head and every epoch, of one moment. */
export async function readRange(session: Session): Promise<{ head: LogHead; tail: Revision; epochs: EpochRange[] }> {
  const [row] = await session.rows<{ head: LogHead; epochs: EpochRange[] }>(
    sql`select (select row_to_json(h) from (${headQuery}) h) as head,
          (select json_agg(json_build_object('base', ${epochs.base}, 'ended', ${epochs.ended}) order by ${epochs.base}) from ${epochs}) as epochs`,
  )
  if (!row) throw new Error('the database has no log head: it was not migrated')
  return { head: row.head, tail: row.head.tail, epochs: row.epochs }
}
