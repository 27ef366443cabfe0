/** The benchmarks' own PostgreSQL, in a temporary folder, with the settings that production has: a commit is on the disk. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import postgres from 'postgres'
import { openDatabase } from '../../../src/store/open.ts'
import { startPostgres } from '../../support/databases/postgres-server.ts'
import { familyTime } from './processor.ts'

export interface BenchPostgres {
  readonly settings: readonly string[]
  /** A database with our tables, and its address. */
  create(name: string): Promise<string>
  /** A database without tables, and its address. */
  createEmpty(name: string): Promise<string>
  drop(name: string): Promise<void>
  /** Seconds of processor time of the whole server so far. */
  cpu(): number
  dispose(): Promise<void>
}

const shown = [
  'server_version',
  'fsync',
  'synchronous_commit',
  'full_page_writes',
  'wal_sync_method',
  'shared_buffers',
  'min_wal_size',
]

/** As docs/operating.md recommends. `more` comes later and wins. */
const recommended = ['shared_buffers=512MB', 'min_wal_size=1GB', 'max_wal_size=4GB']

export async function startBenchPostgres(more: readonly string[] = []): Promise<BenchPostgres> {
  const server = await startPostgres({ isDurable: true, settings: [...recommended, ...more] })
  const sql = postgres(server.url, { max: 1, onnotice: () => {} })
  const setting = async (name: string): Promise<string> => {
    const [row] = await sql<{ value: string }[]>`select current_setting(${name}) as value`
    return row?.value ?? ''
  }
  const settings = await Promise.all(shown.map(async (name) => `${name} ${await setting(name)}`))
  for (const name of ['fsync', 'synchronous_commit'])
    if ((await setting(name)) !== 'on') throw new Error(`${name} is off: what is measured would be no durable write`)
  await fillWal(sql)
  const [line = ''] = readFileSync(join(await setting('data_directory'), 'postmaster.pid'), 'utf8').split('\n')
  const pid = Number(line)
  const createEmpty = async (name: string): Promise<string> => {
    await sql.unsafe(`drop database if exists ${name} with (force)`)
    await sql.unsafe(`create database ${name}`)
    const url = new URL(server.url)
    url.pathname = `/${name}`
    return url.href
  }
  return {
    settings,
    createEmpty,
    async create(name) {
      const url = await createEmpty(name)
      await (await openDatabase({ url, dataDir: 'memory' })).close()
      return url
    },
    async drop(name) {
      await sql.unsafe(`drop database if exists ${name} with (force)`)
    },
    cpu: () => familyTime(pid),
    async dispose() {
      await sql.end({ timeout: 1 })
      await server.dispose()
    },
  }
}

/**
 * A server that has run for a while reuses the files of its write-ahead log. A new one would write zeros into each file of 16 MiB first: 50 ms every 5,000 reports, and a
 * tenth of its processor time.
 */
async function fillWal(sql: postgres.Sql): Promise<void> {
  for (let file = 0; file < 60; file += 1) {
    await sql`select pg_logical_emit_message(false, 'rollcall', 'fill')`
    await sql`select pg_switch_wal()`
  }
  await sql`checkpoint`
}
