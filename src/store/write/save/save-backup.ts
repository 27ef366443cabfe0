import type { BackupRow } from '../../read/backups.ts'
import { iso } from '../../sql/record-set.ts'
import type { Statement } from '../contract.ts'

/** The later one stays. */
export function saveBackup({ at, revision }: BackupRow): Statement {
  return {
    text: `insert into last_backup (at, revision) values ($1::timestamptz, $2::bigint)
      on conflict (id) do update set at = excluded.at, revision = excluded.revision where excluded.at > last_backup.at`,
    parameters: [iso(at), revision],
  }
}
