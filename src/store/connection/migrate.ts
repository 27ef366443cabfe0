/**
 * Migrates the database to this program's tables. Several replicas may start at once: one applies the migrations, the others wait for its
 * lock and find nothing to do. Unknown migrations are those of a newer version, and stay (rolling upgrade).
 */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Database, Session } from '../database.ts'

export interface Migration {
  readonly tag: string
  readonly text: string
}

const folder = join(import.meta.dirname, '../../../drizzle')
const lockKey = 7_020_304_119

export async function readMigrations(): Promise<readonly Migration[]> {
  return Promise.all(
    (await tags()).map(async (tag) => ({ tag, text: await readFile(join(folder, `${tag}.sql`), 'utf8') })),
  )
}

/** Applies all missing migrations in the journal's order, or none. A missing one may have been merged after a later one. */
export async function migrate(database: Database, migrations?: readonly Migration[]): Promise<void> {
  const known = migrations ?? (await readMigrations())
  await database.transaction(async (session) => {
    await session.run('select pg_advisory_xact_lock($1::bigint)', [lockKey])
    await session.run(
      'create table if not exists migrations (tag text primary key, applied_at timestamptz not null default now())',
    )
    const applied = await appliedTags(session)
    for (const { tag, text } of known) {
      if (applied.has(tag)) continue
      for (const statement of text.split('--> statement-breakpoint')) await session.run(statement)
      await session.run('insert into migrations (tag) values ($1)', [tag])
    }
  })
}

/** The known migrations that are missing in the database. */
export async function missingMigrations(session: Session): Promise<string[]> {
  const applied = await appliedTags(session)
  return (await tags()).filter((tag) => !applied.has(tag))
}

async function tags(): Promise<string[]> {
  const journal: { entries: { tag: string }[] } = JSON.parse(await readFile(join(folder, 'meta/_journal.json'), 'utf8'))
  return journal.entries.map(({ tag }) => tag)
}

async function appliedTags(session: Session): Promise<Set<string>> {
  return new Set((await session.run<{ tag: string }>('select tag from migrations')).map(({ tag }) => tag))
}
