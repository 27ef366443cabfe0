/**
 * Migrates the database to this program's tables. Several replicas may start at once: one applies the migrations, the others wait for its
 * lock and find nothing to do. Unknown migrations are those of a newer version, and stay (rolling upgrade): the version before it works on its tables.
 * A migration that breaks versions before that has `comment on table migrations is '<tag>'`: only versions that know this tag start on the database then.
 */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { DomainError } from '../../domain/errors.ts'
import { root } from '../../platform/installation.ts'
import type { Database, Reader, Session } from '../database.ts'
import { buildAhead } from './build-ahead.ts'
import { attemptChange } from './lock-attempts.ts'

export interface Migration {
  readonly tag: string
  readonly text: string
}

/** Milliseconds that a statement of a migration may take. */
export const migrationLimit = 3_600_000

const folder = join(root, 'drizzle')
/** Of the advisory lock that one of several servers holds in each transaction of a migration. */
const lockKey = 7_020_304_119

let known: Promise<readonly Migration[]> | null = null

/** This program's migrations. Read once: a newer version may be installed in the folder of the running one, which must stay ready. */
export async function readMigrations(): Promise<readonly Migration[]> {
  known ??= readMigrationsIn(folder).catch((error: unknown) => {
    known = null
    throw error
  })
  return known
}

export async function readMigrationsIn(folder: string): Promise<readonly Migration[]> {
  const journal: { entries: { tag: string }[] } = JSON.parse(await readFile(join(folder, 'meta/_journal.json'), 'utf8'))
  return Promise.all(
    journal.entries.map(async ({ tag }) => ({ tag, text: await readFile(join(folder, `${tag}.sql`), 'utf8') })),
  )
}

/** Two minutes. */
const patience = { limit: 300, attempts: 100, pause: (attempt: number) => Math.min(50 * attempt, 1_000) }

/**
 * Applies the missing migrations in the journal's order, each in a transaction. A missing one may have been merged after a later one. One
 * transaction for all was rejected: the locks of the first would be held while the last is executed.
 */
export async function migrate(database: Database, migrations?: readonly Migration[]): Promise<void> {
  const own = migrations ?? (await readMigrations())
  const missing = await locked(database, async (session) => {
    await session.run(
      'create table if not exists migrations (tag text primary key, applied_at timestamptz not null default now())',
    )
    const reason = await whyUnreadable(session, own)
    if (reason !== null) throw new DomainError('CONFLICT', reason)
    const applied = await appliedTags(session)
    return own.filter(({ tag }) => !applied.has(tag))
  })
  for (const migration of missing) {
    const { tag } = migration
    await buildAhead(database, { tag, statements: statementsOf(migration) }, () => apply(database, migration))
  }
}

/** In several attempts, because servers that work on the tables hold locks. */
function apply(database: Database, migration: Migration): Promise<void> {
  const { tag } = migration
  return attemptChange(database.session, patience, (lockLimit) =>
    locked(database, async (session) => {
      if ((await appliedTags(session)).has(tag)) return
      await session.run(`set local lock_timeout = ${lockLimit}`)
      for (const statement of statementsOf(migration)) await session.run(statement)
      await session.run('insert into migrations (tag) values ($1)', [tag])
    }),
  )
}

/** Why these migrations' program cannot work on the database, in a sentence. Null: it can. */
export async function whyUnreadable(session: Reader, migrations?: readonly Migration[]): Promise<string | null> {
  const own = new Set((migrations ?? (await readMigrations())).map(({ tag }) => tag))
  const [first] = own
  const applied = await appliedTags(session)
  if (first !== undefined && applied.size > 0 && !applied.has(first))
    return 'an unreleased build of Rollcall made this database, which no version reads: save what you need with that build (rollcall export), and start this version on a new database'
  const [row] = await session.run<{ least: string | null }>(`select obj_description('migrations'::regclass) as least`)
  if (row?.least && !own.has(row.least))
    return `a newer version of Rollcall has changed this database (${row.least}), so that this one cannot work on it: start the newer version, or restore a backup from before it`
  return null
}

/** drizzle names types by the schema public. They are made in the schema of the connection. */
function statementsOf({ text }: Migration): string[] {
  return text.replaceAll('"public".', '').split('--> statement-breakpoint')
}

function locked<T>(database: Database, work: (session: Session) => Promise<T>): Promise<T> {
  return database.transaction(async (session) => {
    await session.run('select pg_advisory_xact_lock($1::bigint + hashtext(current_schema()))', [lockKey])
    return work(session)
  })
}

/** The known migrations that are missing in the database. */
export async function missingMigrations(session: Reader): Promise<string[]> {
  const applied = await appliedTags(session)
  return (await readMigrations()).map(({ tag }) => tag).filter((tag) => !applied.has(tag))
}

async function appliedTags(session: Reader): Promise<Set<string>> {
  return new Set((await session.run<{ tag: string }>('select tag from migrations')).map(({ tag }) => tag))
}
