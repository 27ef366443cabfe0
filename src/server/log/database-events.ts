/** What the log says about the database: an epoch that begins, a restart of the embedded database, and standbys that are used or left out. */
import type { Revision } from '../../domain/values.ts'
import type { Log } from '../../platform/log/log.ts'
import type { Standbys } from '../../store/database.ts'

/** `base`: of an epoch that begins because the database was restored. Null: none begins. An operator who did not restore it learns of it here. */
export function logEpoch(log: Log): (base: Revision | null) => void {
  return (base) => {
    if (base === null) return
    log.warn({ base }, 'the database was restored, copied or failed over: a new epoch begins, and newer cursors expire')
  }
}

/** What is committed is in the files. */
export function logRestart(log: Log): (error: Error) => void {
  return (error) => log.warn({ error }, 'the embedded database failed, and is started again from its files')
}

export function logStandbys(standbys: Standbys | undefined, log: Log): void {
  standbys?.onChange(({ number, location, problem }) => {
    if (problem === null) log.info({ standby: number, location }, `standby ${number} is used`)
    else log.warn({ standby: number, location }, `standby ${number} is left out: ${problem}`)
  })
}
