/** Opens the database that the configuration names, ready to use: migrated, in an epoch, and nobody else's (PGlite). */
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join, resolve } from 'node:path'
import type { Database } from './database.ts'
import { ensureEpoch } from './epoch.ts'
import { lockDirectory } from './lock-file.ts'
import { migrate } from './migrate.ts'
import { openPglite } from './pglite.ts'
import { openPostgres } from './postgres.ts'

export interface StoreConfig {
  /** postgres://…; null: embedded. */
  readonly url: string | null
  /** Where the embedded database lives; `memory` keeps nothing. */
  readonly dataDir: string
}

export async function openDatabase(config: StoreConfig, now: () => number = Date.now): Promise<Database> {
  const database = config.url === null ? await openEmbedded(config.dataDir) : openPostgres({ url: config.url })
  try {
    await migrate(database)
    await database.transaction((session) => ensureEpoch(session, now()))
    return database
  } catch (error) {
    await database.close()
    throw error
  }
}

async function openEmbedded(dataDir: string): Promise<Database> {
  if (dataDir === 'memory') return openPglite({ dataDir: undefined, template: await template() })
  const directory = resolve(dataDir)
  mkdirSync(directory, { recursive: true })
  const unlock = lockDirectory(directory)
  try {
    const home = join(directory, 'pgdata')
    if (!existsSync(home)) await initialise(home)
    const database = await openPglite({ dataDir: home, template: undefined })
    return { ...database, location: directory, close: () => database.close().finally(unlock) }
  } catch (error) {
    unlock()
    throw error
  }
}

/** Elsewhere first, then renamed: a process killed here leaves nothing that looks like a database. */
async function initialise(home: string): Promise<void> {
  const beginning = `${home}.new`
  rmSync(beginning, { recursive: true, force: true })
  await (await openPglite({ dataDir: beginning, template: await template() })).close()
  renameSync(beginning, home)
}

/** Initialising takes seconds, loading a copy of an initialised directory takes a fraction: the first boot keeps one for the next. */
async function template(): Promise<Uint8Array> {
  const cache = join(import.meta.dirname, '../../node_modules/.cache/rollcall')
  const file = join(cache, `pglite-${pgliteVersion()}.tar`)
  if (existsSync(file)) return readFileSync(file)
  const fresh = await openPglite({ dataDir: undefined, template: undefined })
  const tar = await fresh.dump()
  await fresh.close()
  try {
    mkdirSync(cache, { recursive: true })
    const mine = `${file}.${process.pid}`
    writeFileSync(mine, tar)
    renameSync(mine, file)
  } catch {
    // An installation that cannot be written to boots more slowly, and works.
  }
  return tar
}

function pgliteVersion(): string {
  const main = createRequire(import.meta.url).resolve('@electric-sql/pglite')
  const { version } = JSON.parse(readFileSync(join(main, '../../package.json'), 'utf8'))
  return String(version)
}
