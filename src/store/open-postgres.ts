/** Opens PostgreSQL at DATABASE_URL, with its standbys, or says why it cannot be used. */
import { DomainError } from '../domain/errors.ts'
import { openPostgres } from './connection/postgres.ts'
import { openStandby } from './connection/standbys/standby.ts'
import { withStandbys } from './connection/standbys/standbys.ts'
import { createTarget, type DatabaseAddress } from './connection/target/target.ts'
import type { Database, Session } from './database.ts'
import { migrationLimit } from './migration/migrate.ts'
import type { EpochBegan, StoreConfig } from './open.ts'
import { prepare } from './prepare.ts'

/** Milliseconds that a reader waits for a standby: some times the usual delay of a standby nearby, and less than a person notices. */
const standbyPatience = 100

export type WithUrl = StoreConfig & { readonly url: string }

export async function openConfigured(config: WithUrl, now?: () => number, began?: EpochBegan): Promise<Database> {
  const { readLimit, silence, readUrls = [], lagLimit = 10_000 } = config
  const url = addressOf(config)
  const patient = openPostgres({ url, readers: 1, writeLimit: migrationLimit, isMigrating: true })
  await requireUsable(patient.session, createTarget(url).schema)
    .then(() => prepare(patient, now, began))
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

export function addressOf({
  url,
  password = null,
  urlFile = null,
  passFile = null,
  passwordFile = null,
}: WithUrl): DatabaseAddress {
  return { url, urlFile, password, passFile, passwordFile }
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
