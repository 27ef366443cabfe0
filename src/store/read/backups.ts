/** Reads when the last backup was made. */
import { sql } from 'drizzle-orm'
import type { Millis, Revision } from '../../domain/values.ts'
import type { Session } from '../database.ts'
import { lastBackup } from '../tables/schema.ts'

export interface BackupRow {
  readonly at: Millis
  readonly revision: Revision
}

/** Null: none was recorded. */
export async function findLastBackup(session: Session): Promise<BackupRow | null> {
  const [row] = await session.rows<BackupRow>(sql`select ${lastBackup.at}, ${lastBackup.revision} from ${lastBackup}`)
  return row ?? null
}
