/**
 * Opens the configured database: migrates it, begins an epoch if needed, and locks an embedded one (PGlite). This file imports little, so that the thread of
 * the embedded database starts before all else is loaded.
 */
import { existsSync } from 'node:fs'
import { join, resolve } from 'node:path'
import type { Revision } from '../domain/values.ts'
import { startInstance } from './connection/embedded/instance.ts'
import { lockDirectory } from './connection/embedded/lock-file.ts'
import { readyTemplate } from './connection/embedded/make-template.mjs'
import type { Database } from './database.ts'
import { migrationLimit } from './migration/migrate.ts'

export interface StoreConfig {
  /** postgres://… Null: the embedded database. */
  readonly url: string | null
  /** Files are read again for each connection: one with the URL, one with the password alone, and one of passwords in libpq's form. */
  readonly urlFile?: string | null
  readonly password?: string | null
  readonly passFile?: string | null
  readonly passwordFile?: string | null
  /** postgres://…, of streaming standbys of `url`. */
  readonly readUrls?: readonly string[]
  /** Milliseconds that a standby may be behind. */
  readonly lagLimit?: number
  /** The directory of the embedded database. `memory`: it is not stored. */
  readonly dataDir: string
  /** Whether a commit of the embedded database waits until it is on the disk. Absent: it does. */
  readonly isSynced?: boolean
  /** Milliseconds that a reading statement may take. */
  readonly readLimit?: number
  /** Milliseconds without an answer after which a connection to PostgreSQL is checked. */
  readonly silence?: number
  /** Milliseconds that a transaction or a snapshot of the embedded database may be idle. */
  readonly idleLimit?: number
}

/**
 * Ends the leases of earlier processes: an embedded database has one process at a time. If the clock was ahead when a lease began, the
 * lease would seem to be held for hours. Before the present millisecond: the column rounds, and a lease that ends now is still held.
 */
const takeOver = `update leases set until = least(until, clock_timestamp() - interval '2 milliseconds'), since = least(since, clock_timestamp())`
const takeSinksOver = 'update sinks set holder = null, held_until = null where holder is not null'

/** `base`: of an epoch that has begun because the database is a restored one. */
export type EpochBegan = (base: Revision) => void

/** `now`: absent, the clock of the database. `failed` receives why the embedded database is started again from its files. */
export async function openDatabase(
  config: StoreConfig,
  now?: () => number,
  began?: EpochBegan,
  failed?: (error: Error) => void,
): Promise<Database> {
  const { url } = config
  if (url === null) return openEmbedded(config, now, began, failed)
  return (await import('./open-postgres.ts')).openConfigured({ ...config, url }, now, began)
}

async function openEmbedded(
  { dataDir, idleLimit, isSynced = true }: StoreConfig,
  now?: () => number,
  began?: EpochBegan,
  failed?: (error: Error) => void,
): Promise<Database> {
  const directory = dataDir === 'memory' ? null : resolve(dataDir)
  const unlock = directory === null ? () => {} : lockDirectory(directory)
  let close = async (): Promise<void> => unlock()
  try {
    const home = directory === null ? undefined : join(directory, 'pgdata')
    const template = home !== undefined && existsSync(home) ? undefined : await readyTemplate()
    const options = { dataDir: home, template, isSynced }
    let statementLimit = migrationLimit
    const first = startInstance(1, options, () => statementLimit)
    const { openPglite, longestStatement } = await import('./connection/embedded/pglite.ts')
    const opened = await openPglite(options, idleLimit, () => statementLimit, undefined, failed, first)
    close = () => opened.close().finally(unlock)
    const { prepare } = await import('./prepare.ts')
    await prepare(opened, now, began)
    statementLimit = longestStatement
    await opened.session.run(takeOver)
    await opened.session.run(takeSinksOver)
    return { ...opened, location: directory ?? opened.location, close }
  } catch (error) {
    await close()
    throw error
  }
}
