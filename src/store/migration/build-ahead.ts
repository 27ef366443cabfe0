/**
 * Builds the indexes of a migration before it is applied, while reports go on. In the migration's transaction, to build one would block all writes to its
 * table: seconds for millions of rows. A migration finds such an index and takes it as it is (CREATE INDEX IF NOT EXISTS).
 *
 * An index that an ended server left half built is dropped. Several servers may start at once: one builds, and the others wait. They wait in short
 * statements, because PostgreSQL finishes an index only when all statements that began before have ended.
 */
import type { Database, RunText } from '../database.ts'

/** Bytes of a table. A smaller one is indexed in a moment. */
const leastSize = 8 << 20

/** Milliseconds to wait for older transactions: of backups, or of reports on their way. */
const longestWait = 600_000

const lockKey = 7_020_304_120
const retryAfter = 200

/** Functions that the indexes need are created before them, if they may be replaced. `apply` applies the migration. */
export async function buildAhead(
  { apart }: Pick<Database, 'apart'>,
  { tag, statements }: { readonly tag: string; readonly statements: readonly string[] },
  apply: () => Promise<void>,
  lockLimit = longestWait,
): Promise<void> {
  const indexes = statements.flatMap((text) => indexIn(text) ?? [])
  if (!apart || indexes.length === 0) return apply()
  await apart(lockLimit, async (run) => {
    const large = await largeOf(run, indexes)
    if (large.length === 0) return apply()
    while (!(await tryLock(run))) await new Promise((resolve) => setTimeout(resolve, retryAfter))
    const applied = await run(`select 1 from migrations where tag = '${tag}'`)
    if (applied.length > 0) return
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

/** Those of large tables. A table that the migration creates does not exist yet, and one with partitions has no rows of its own. */
async function largeOf(run: RunText, indexes: readonly Index[]): Promise<Index[]> {
  const large: Index[] = []
  for (const index of indexes) {
    const [row] = await run<{ size: number | null }>(
      `select pg_relation_size(to_regclass('"${index.table}"'))::float8 as size`,
    )
    if ((row?.size ?? 0) >= leastSize) large.push(index)
  }
  return large
}

/** The lock ends with the connection. */
async function tryLock(run: RunText): Promise<boolean> {
  const [row] = await run<{ isHeld: boolean }>(`select pg_try_advisory_lock(${lockKey}) as "isHeld"`)
  return row?.isHeld === true
}
