/**
 * Embedded databases that are used again. A new one takes a second of processor time, emptying a used one a fiftieth of that. One whose catalogs
 * a test has changed (DDL, roles, statistics, migrations) is not used again.
 */
import { readClock } from '../../../src/store/connection/clock.ts'
import { readyTemplate } from '../../../src/store/connection/embedded/make-template.mjs'
import { openPglite } from '../../../src/store/connection/embedded/pglite.ts'
import { ensureEpoch } from '../../../src/store/connection/epoch.ts'
import { StatementError } from '../../../src/store/connection/failure.ts'
import type { Database, Session } from '../../../src/store/database.ts'

interface Instance {
  readonly database: Database
  /** Of its catalogs, when it was new. */
  readonly fingerprint: string
}

const idle: Instance[] = []
/** More are rarely open at once, and each takes some 350 MiB, which every start of a process has to map. */
const mostIdle = 2

const catalogs =
  'attribute attrdef authid auth_members constraint db_role_setting enum index inherits namespace proc rewrite sequence statistic trigger type'
const counted = catalogs
  .split(' ')
  .map((name) => `select '${name}' as name, count(*), max(xmin::text::bigint) from pg_${name}`)
  .join(' union all ')
const fingerprintText = `select (select string_agg(concat_ws('/', name, count, max), ' ' order by name) from (${counted}) as catalogs)
  || (select string_agg(tag, ' ' order by tag) from migrations) as fingerprint`

const emptyText = `do $$
  declare names text := (select string_agg(oid::regclass::text, ', ') from pg_class
    where relnamespace = 'public'::regnamespace and relkind = 'r' and relname <> 'migrations' and pg_relation_size(oid) > 0);
  begin
    if names is not null then execute 'truncate ' || names || ' cascade'; end if;
  end $$`

/** As `openDatabase` of an empty one in memory. `now`: the clock that its epoch begins with. */
export async function openPooledPglite(now?: () => number): Promise<Database> {
  const instance = idle.pop() ?? (await create())
  const { database } = instance
  await database.transaction(async (session) => ensureEpoch(session, now?.() ?? (await readClock(session))))
  return lease(instance)
}

async function create(): Promise<Instance> {
  const database = await openPglite({ dataDir: undefined, template: await readyTemplate() })
  return { database, fingerprint: await readFingerprint(database) }
}

async function readFingerprint({ session }: Database): Promise<string> {
  const [row] = await session.run<{ fingerprint: string }>(fingerprintText)
  return row?.fingerprint ?? ''
}

/** Like the whole database to its user; closing it gives the instance back. */
function lease(instance: Instance): Database {
  const { database } = instance
  let closing: Promise<void> | null = null
  const open = (): Database => {
    if (closing) throw new StatementError('the database is closed', '57P01')
    return database
  }
  const session: Session = {
    rows: async (query) => open().session.rows(query),
    run: async (text, parameters) => open().session.run(text, parameters),
  }
  return {
    ...database,
    session,
    snapshot: async (signal) => open().snapshot(signal),
    transaction: async (work) => open().transaction(work),
    append: async (connection, text, parameters) => open().append(connection, text, parameters),
    ping: async () => open().ping(),
    close() {
      closing ??= giveBack(instance)
      return closing
    },
  }
}

async function giveBack(instance: Instance): Promise<void> {
  const { database, fingerprint } = instance
  const isClean = await empty(database).then(
    async () => (await readFingerprint(database)) === fingerprint,
    () => false,
  )
  if (isClean && idle.length < mostIdle) idle.push(instance)
  else await database.close()
}

async function empty({ session }: Database): Promise<void> {
  await session.run('reset all')
  await session.run('set timezone to utc')
  await session.run('select pg_advisory_unlock_all()')
  await session.run('discard temp')
  await session.run(emptyText)
  // Otherwise its log grows in memory.
  await session.run('checkpoint')
}
