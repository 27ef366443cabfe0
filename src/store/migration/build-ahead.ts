/**
 * Builds the indexes of a migration on large tables before the migration is applied, while the old servers write reports. In the migration's transaction,
 * to build one would block all writes to its table: seconds for millions of rows. The migration then finds the index (CREATE INDEX IF NOT EXISTS).
 *
 *   lock of builders → functions that the indexes use → each index, CONCURRENTLY → the migration
 *
 * An index that a server left half built when it ended is dropped and built anew. Several servers may start at once: one builds, and the others wait. They
 * wait in short statements, because PostgreSQL finishes an index only when all statements that began before have ended.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Database, RunText } from '../database.ts'

/** Bytes of a table. A smaller one is indexed in a moment. */
const leastSize = 8 << 20

/** Milliseconds to wait for older transactions: of backups, or of reports on their way. */
const longestWait = 600_000

/** Of the advisory lock that one of several servers holds while it builds. */
const lockKey = 7_020_304_120
/** Milliseconds between two attempts to take it. */
const retryAfter = 200

/** Calls `apply`, which applies the migration, once the indexes are built. Does not call it if another server has applied the migration meanwhile. */
export async function buildAhead(
  { onOwnConnection }: Pick<Database, 'onOwnConnection'>,
  { tag, statements }: { readonly tag: string; readonly statements: readonly string[] },
  apply: () => Promise<void>,
  lockLimit = longestWait,
): Promise<void> {
  const indexes = statements.flatMap((text) => indexIn(text) ?? [])
  if (!onOwnConnection || indexes.length === 0) return apply()
  await onOwnConnection(lockLimit, async (run) => {
    const large = await onLargeTables(run, indexes)
    if (large.length === 0) return apply()
    while (!(await tryLock(run))) await sleep(retryAfter)
    const applied = await run(`select 1 from migrations where tag = '${tag}'`)
    if (applied.length > 0) return
    // A migration that creates them again changes nothing.
    for (const text of statements) if (/^create or replace function /i.test(withoutComments(text))) await run(text)
    for (const index of large) await build(run, index)
    await apply()
  })
}

interface Index {
  readonly name: string
  readonly table: string
  /** The statement after `create`, with the index's kind, and after `index`. */
  readonly kind: string
  readonly rest: string
}

function indexIn(text: string): Index | null {
  const found = /^create (unique )?index (if not exists "(\w+)" on "(\w+)" .*)/is.exec(withoutComments(text))
  const [, kind = '', rest, name, table] = found ?? []
  return rest && name && table ? { name, table, kind, rest } : null
}

function withoutComments(text: string): string {
  return text.replaceAll(/^--.*$/gm, '').trim()
}

async function build(run: RunText, { name, table, kind, rest }: Index): Promise<void> {
  const [known] = await run<{ isValid: boolean }>(
    `select indisvalid as "isValid" from pg_index where indexrelid = to_regclass('"${name}"')`,
  )
  if (known?.isValid) return
  if (known) await run(`drop index concurrently if exists "${name}"`)
  try {
    await run(`create ${kind}index concurrently ${rest}`)
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === '55P03')) throw error
    throw new Error(
      `the index ${name} of ${table} cannot be built, because an older transaction is open: end it (pg_stat_activity), or start the server again when it has ended`,
      { cause: error },
    )
  }
}

/** The indexes of large tables, and half built ones: their tables may have been large. A table that the migration creates does not exist yet, and one with partitions has no rows of its own. */
async function onLargeTables(run: RunText, indexes: readonly Index[]): Promise<Index[]> {
  const large: Index[] = []
  for (const index of indexes) {
    const [row] = await run<{ size: number | null; isHalfBuilt: boolean }>(
      `select pg_relation_size(to_regclass('"${index.table}"'))::float8 as size,
         exists (select from pg_index where indexrelid = to_regclass('"${index.name}"') and not indisvalid) as "isHalfBuilt"`,
    )
    if (row && (row.isHalfBuilt || (row.size ?? 0) >= leastSize)) large.push(index)
  }
  return large
}

/** The lock ends with the connection. */
async function tryLock(run: RunText): Promise<boolean> {
  const [row] = await run<{ isHeld: boolean }>(
    `select pg_try_advisory_lock(${lockKey} + hashtext(current_schema())) as "isHeld"`,
  )
  return row?.isHeld === true
}
