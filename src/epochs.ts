import type { Revision } from './domain/values.ts'
import type { Log } from './log.ts'

/** Logs an epoch that begins because the database is a restored one; null: none. An operator who did not restore it learns of it here. */
export function logEpoch(log: Log): (base: Revision | null) => void {
  return (base) => {
    if (base === null) return
    log.warn({ base }, 'the database was restored, copied or failed over: a new epoch begins, and newer cursors expire')
  }
}
