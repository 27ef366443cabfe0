/** Opens the configured database: migrates it, begins an epoch if needed, and locks an embedded one (PGlite). */
import { existsSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { DomainError } from '../domain/errors.ts'
import type { Revision } from '../domain/values.ts'
import { readClock } from './connection/clock.ts'
import { openConnection } from './connection/connection.ts'
import { lockDirectory } from './connection/embedded/lock-file.ts'
import { readyTemplate } from './connection/embedded/make-template.mjs'
import { longestStatement, openPglite } from './connection/embedded/pglite.ts'
import { unpackTemplate } from './connection/embedded/pglite-template.ts'
import { ensureEpoch } from './connection/epoch.ts'
import { openPostgres } from './connection/postgres.ts'
import { openStandby } from './connection/standbys/standby.ts'
import { withStandbys } from './connection/standbys/standbys.ts'
import { applicationOf } from './connection/target/sign-in.ts'
import { createTarget, type DatabaseAddress } from './connection/target/target.ts'
import type { Database, Session } from './database.ts'
import { migrate } from './migration/migrate.ts'

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

/** Milliseconds that a statement of a migration may take. */
const migrationLimit = 3_600_000

/** Milliseconds that a reader waits for a standby: some times the usual delay of a standby nearby, and less than a person notices. */
const standbyPatience = 100

/**
 * Ends the leases of earlier processes: an embedded database has one process at a time. If the clock was ahead when a lease began, the
 * lease would seem to be held for hours. Before the present millisecond: the column rounds, and a lease that ends now is still held.
 */
const takeOver = `update leases set until = least(until, clock_timestamp() - interval '2 milliseconds'), since = least(since, clock_timestamp())`
const takeSinksOver = 'update sinks set holder = null, held_until = null where holder is not null'

/**
 * `began` receives the base of an epoch that begins because the database is a restored one. `failed` receives why the embedded database is started again
 * from its files.
 */
export async function openDatabase(
  config: StoreConfig,
  now?: () => number,
  began?: (base: Revision) => void,
  failed?: (error: Error) => void,
): Promise<Database> {
  const prepare = async (database: Database): Promise<void> => {
    await migrate(database)
    const base = await database.transaction(async (session) =>
      ensureEpoch(session, now?.() ?? (await readClock(session))),
    )
    if (base !== null) began?.(base)
  }
  const { readLimit, silence, readUrls = [], lagLimit = 10_000 } = config
  const url = addressOf(config)
  if (url !== null) {
    const patient = openPostgres({ url, readers: 1, writeLimit: migrationLimit, isMigrating: true })
    await requireUsable(patient.session, createTarget(url).schema)
      .then(() => prepare(patient))
      .finally(() => patient.close())
    const reading = { ...(readLimit && { readLimit }), ...(silence && { silence }) }
    const primary = openPostgres({ url, ...reading })
    if (readUrls.length === 0) return primary
    return withStandbys(primary, {
      lagLimit,
      standbys: readUrls.map((each) => (hooks) => {
        const { password = null, passFile = null, passwordFile = null } = config
        const standby = { variable: 'DATABASE_READ_URL', url: each, password, passFile, passwordFile, isStandby: true }
        return openStandby({ url: standby, ...reading, patience: standbyPatience, ...hooks })
      }),
    })
  }
  let statementLimit = migrationLimit
  const database = await openEmbedded(config, () => statementLimit, failed)
  try {
    await prepare(database)
    statementLimit = longestStatement
    await database.session.run(takeOver)
    await database.session.run(takeSinksOver)
    return database
  } catch (error) {
    await database.close()
    throw error
  }
}

function addressOf({
  url,
  password = null,
  urlFile = null,
  passFile = null,
  passwordFile = null,
}: StoreConfig): DatabaseAddress | null {
  return url === null ? null : { url, urlFile, password, passFile, passwordFile }
}

/** In another encoding, PostgreSQL refuses reports with characters that the encoding lacks, and searches with them fail. */
async function requireUsable(session: Session, schema: string): Promise<void> {
  const [row] = await session.run<{ encoding: string; schema: string | null; mayCreate: boolean }>(
    `select current_setting('server_encoding') as encoding, current_schema() as schema,
       has_schema_privilege(current_schema(), 'create') as "mayCreate"`,
  )
  if (row?.encoding !== 'UTF8')
    throw new DomainError(
      'CONFLICT',
      `the database of DATABASE_URL has the encoding ${row?.encoding}, and must have UTF8: make another one (create database … encoding 'UTF8' template template0)`,
    )
  if (row.schema === null)
    throw new DomainError(
      'CONFLICT',
      `the database of DATABASE_URL has no schema ${schema} that its user may use: create it (create schema ${schema} authorization, and the user), or name another one in DATABASE_URL (options=-csearch_path%3DNAME)`,
    )
  if (!row.mayCreate)
    throw new DomainError(
      'CONFLICT',
      `the user of DATABASE_URL may not create tables in the schema ${schema}: grant it (grant create, usage on schema ${schema} to, and the user), or name a schema of its own in DATABASE_URL (options=-csearch_path%3DNAME)`,
    )
}

/**
 * Why this process cannot have the database for itself: a server uses it, or it does not exist. Null: it can. Servers are recognised by
 * the names of their connections, so a server behind a connection pooler is not found.
 */
export async function whyNotAlone(config: StoreConfig): Promise<string | null> {
  const { dataDir } = config
  const url = addressOf(config)
  if (url === null) {
    const directory = resolve(dataDir)
    if (dataDir === 'memory' || !existsSync(join(directory, 'pgdata'))) return `there is no database in ${dataDir}`
    lockDirectory(directory)()
    return null
  }
  const target = createTarget(url)
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

async function openEmbedded(
  config: StoreConfig,
  statementLimit: () => number,
  failed?: (error: Error) => void,
): Promise<Database> {
  const { dataDir, idleLimit, isSynced = true } = config
  if (dataDir === 'memory')
    return openPglite({ dataDir: undefined, template: await readyTemplate() }, idleLimit, statementLimit)
  const directory = resolve(dataDir)
  const unlock = lockDirectory(directory)
  try {
    const home = join(directory, 'pgdata')
    if (!existsSync(home)) await unpackTemplate(await readyTemplate(), home)
    const options = { dataDir: home, template: undefined, isSynced }
    const database = await openPglite(options, idleLimit, statementLimit, undefined, failed)
    return { ...database, location: directory, close: () => database.close().finally(unlock) }
  } catch (error) {
    unlock()
    throw error
  }
}
