import type { BackupRow } from '../../store/read/backups.ts'
import { saveBackup } from '../../store/write/save/save-backup.ts'
import type { Command } from '../command.ts'

/** Records that a backup was made. It is not part of the fleet. */
export function recordBackup(backup: BackupRow): Command<null> {
  return { needs: {}, decide: () => null, statements: () => [saveBackup(backup)] }
}
