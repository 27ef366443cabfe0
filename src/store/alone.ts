/** Whether a program may have the database for itself. */
import { existsSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { openConnection } from './connection/connection.ts'
import { lockDirectory } from './connection/embedded/lock-file.ts'
import { applicationOf } from './connection/target/sign-in.ts'
import { createTarget } from './connection/target/target.ts'
import type { StoreConfig } from './open.ts'
import { addressOf } from './open-postgres.ts'

/**
 * Why this process cannot have the database for itself: a server uses it, or it does not exist. Null: it can. Servers are recognised by
 * the names of their connections, so a server behind a connection pooler is not found.
 */
export async function whyNotAlone(config: StoreConfig): Promise<string | null> {
  const { dataDir, url } = config
  if (url === null) {
    const directory = resolve(dataDir)
    if (dataDir === 'memory' || !existsSync(join(directory, 'pgdata'))) return `there is no database in ${dataDir}`
    lockDirectory(directory)()
    return null
  }
  const target = createTarget(addressOf({ ...config, url }))
  const connection = openConnection({ target, applicationName: 'rollcall-alone', settings: {}, timeout: 10_000 })
  try {
    const [found] = await connection.run<{ ours: boolean; others: number }>(
      `select to_regclass('log_head') is not null as ours, (select count(*)::int from pg_stat_activity
         where datname = current_database() and application_name = $1) as others`,
      [applicationOf('rollcall', target.schema)],
    )
    if (!found?.ours) return 'there are no tables of Rollcall in the database of DATABASE_URL'
    return found.others > 0
      ? `a server is connected to the database (${found.others} connections): stop every server`
      : null
  } finally {
    await connection.close()
  }
}
