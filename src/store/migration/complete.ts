/**
 * Whether a database that answers has what this program needs. It may have lost that under running servers: its tables are dropped and restored, or it
 * is replaced by the copy of an older version. An error of a statement alone does not say so, because it may as well be a defect of this program.
 */
import { getTableName, is } from 'drizzle-orm'
import { PgTable } from 'drizzle-orm/pg-core'
import { storableJson } from '../../domain/text.ts'
import { incomplete, noLogHead } from '../connection/failure.ts'
import { headStatement } from '../connection/log-head.ts'
import type { Reader } from '../database.ts'
import * as schema from '../tables/schema.ts'
import { missingMigrations, whyUnreadable } from './migrate.ts'

const tables = ['migrations', ...Object.values(schema).flatMap((one) => (is(one, PgTable) ? [getTableName(one)] : []))]

/** A restore makes the primary keys after it has filled the tables. */
const tablesText = `select exists (select from json_array_elements_text($1::text::json) as wanted(name) where not exists (
  select from pg_index where indrelid = to_regclass(wanted.name) and indisprimary)) as missing`

/** In a clause or a sentence. Null: nothing is missing. */
export async function whatIsMissing(session: Reader): Promise<string | null> {
  const [found] = await session.run<{ missing: boolean }>(tablesText, [storableJson(tables)])
  if (found?.missing) return 'the database lacks our tables'
  const reason = await whyUnreadable(session)
  if (reason !== null) return reason
  const migrations = await missingMigrations(session)
  if (migrations.length > 0) return `the database lacks the migrations ${migrations.join(', ')}`
  const [head] = await session.run(headStatement.text, headStatement.parameters)
  return head ? null : noLogHead().message
}

/** Throws what the database lacks. */
export async function requireComplete(session: Reader): Promise<void> {
  const missing = await whatIsMissing(session)
  if (missing !== null) throw incomplete(missing)
}

/**
 * SQLSTATEs of a statement that does not fit the tables or may not read them, and of one in the transaction of such a statement: that one must not be
 * answered first.
 */
const unfitting = /^(42...|25P02)$/

/**
 * The error of a statement, or instead of it what the database lacks. `ask` reads on another connection: this one may be within a transaction, which has
 * failed.
 */
export async function explainFailure(error: unknown, ask: () => Promise<string | null>): Promise<unknown> {
  if (!(error instanceof Error && 'code' in error && unfitting.test(String(error.code)))) return error
  const missing = await ask().catch(() => null)
  return missing === null ? error : incomplete(missing, error)
}
