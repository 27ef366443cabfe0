/** Opens the database that the configuration names, ready to use: migrated, in an epoch, and nobody else's (PGlite). */
import { existsSync } from 'node:fs'
import { join, resolve } from 'node:path'
import type { Database } from './database.ts'
import { ensureEpoch } from './epoch.ts'
import { lockDirectory } from './lock-file.ts'
import { migrate } from './migrate.ts'
import { openPglite } from './pglite.ts'
import { readyTemplate, unpackTemplate } from './pglite-template.ts'
import { openPostgres } from './postgres.ts'

export interface StoreConfig {
  /** postgres://…; null: embedded. */
  readonly url: string | null
  /** Where the embedded database lives; `memory` keeps nothing. */
  readonly dataDir: string
  /** Milliseconds that one statement may read. */
  readonly readLimit?: number
}

/** Milliseconds that one statement of a migration may take. */
const migrationLimit = 3_600_000

export async function openDatabase(config: StoreConfig, now: () => number = Date.now): Promise<Database> {
  const prepare = async (database: Database): Promise<void> => {
    await migrate(database)
    await database.transaction((session) => ensureEpoch(session, now()))
  }
  const { url, readLimit } = config
  if (url !== null) {
    const patient = openPostgres({ url, readers: 1, writeLimit: migrationLimit })
    await prepare(patient).finally(() => patient.close())
    return openPostgres({ url, ...(readLimit ? { readLimit } : {}) })
  }
  const database = await openEmbedded(config.dataDir)
  try {
    await prepare(database)
    return database
  } catch (error) {
    await database.close()
    throw error
  }
}

async function openEmbedded(dataDir: string): Promise<Database> {
  if (dataDir === 'memory') return openPglite({ dataDir: undefined, template: await readyTemplate() })
  const directory = resolve(dataDir)
  const unlock = lockDirectory(directory)
  try {
    const home = join(directory, 'pgdata')
    if (!existsSync(home)) unpackTemplate(await readyTemplate(), home)
    const database = await openPglite({ dataDir: home, template: undefined })
    return { ...database, location: directory, close: () => database.close().finally(unlock) }
  } catch (error) {
    unlock()
    throw error
  }
}
