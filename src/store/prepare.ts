/** What a database needs before it is used: its tables, and an epoch of its own. */
import { readClock } from './connection/clock.ts'
import { ensureEpoch } from './connection/epoch.ts'
import type { Database } from './database.ts'
import { migrate } from './migration/migrate.ts'
import type { EpochBegan } from './open.ts'

export async function prepare(database: Database, now?: () => number, began?: EpochBegan): Promise<void> {
  await migrate(database)
  const base = await database.transaction(async (session) =>
    ensureEpoch(session, now?.() ?? (await readClock(session))),
  )
  if (base !== null) began?.(base)
}
