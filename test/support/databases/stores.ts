/** The stores that a test runs on. */
import { randomUUID } from 'node:crypto'
import { inject } from 'vitest'
import { ensureEpoch } from '../../../src/store/connection/epoch.ts'
import { openPostgres } from '../../../src/store/connection/postgres.ts'
import type { Database } from '../../../src/store/database.ts'
import { openDatabase, type StoreConfig } from '../../../src/store/open.ts'
import { isWhole } from '../runner/depth.ts'
import { openPooledPglite } from './pglite-pool.ts'
import { administer, urlOf } from './postgres-admin.ts'

export interface Store {
  readonly name: 'PGlite' | 'PostgreSQL'
  /** An empty database to open, several times at once on PostgreSQL. Its tables are there: migrating each anew takes longer than most tests. */
  create(): Promise<EmptyStore>
  /** A database that no test has used. On PostgreSQL it has no tables. */
  createBare(): Promise<EmptyStore>
}

export interface EmptyStore {
  readonly config: StoreConfig
  /** `now`: the clock that an empty one begins with. */
  open(now?: () => number): Promise<Database>
  /** Removes it; close what was opened first. */
  drop(): Promise<void>
}

const inMemory = { url: null, dataDir: 'memory' }
export const pglite: Store = {
  name: 'PGlite',
  create: async () => ({ config: inMemory, open: openPooledPglite, drop: async () => {} }),
  createBare: async () => ({ config: inMemory, open: () => openDatabase(inMemory), drop: async () => {} }),
}

const postgresql: Store = {
  name: 'PostgreSQL',
  create: () => createFrom(inject('postgresTemplate') ?? 'template1'),
  createBare: () => createFrom('template1'),
}

async function createFrom(template: string): Promise<EmptyStore> {
  const server = postgresUrl()
  const name = `rollcall_test_${randomUUID().replaceAll('-', '')}`
  // Copying the files is faster than writing them to the log, the default.
  await administer(server, (sql) => sql.unsafe(`create database ${name} template ${template} strategy file_copy`))
  const config = { url: urlOf(inject('pooledUrl') ?? server, name), dataDir: 'memory' }
  return {
    config,
    async open(now) {
      if (now) await beginAt(config, now())
      return openDatabase(config)
    },
    drop: () => administer(server, (sql) => sql.unsafe(`drop database if exists ${name} with (force)`)),
  }
}

async function beginAt({ url }: { readonly url: string }, now: number): Promise<void> {
  const database = openPostgres({ url, readers: 1 })
  await database.transaction((session) => ensureEpoch(session, now)).finally(() => database.close())
}

/** For what PGlite cannot show, having one connection: concurrency, reconnects, replicas. */
export const postgresStores: readonly Store[] = inject('postgresUrl') === null ? [] : [postgresql]
/** For what tests the store itself, and one test of each part of the server. */
export const everyStore: readonly Store[] = [pglite, ...postgresStores]
/** For the rest: PostgreSQL where there is one, otherwise PGlite. Both are one engine: what passes on one and fails on the other is rare, so `npm run test:deep` and `.ci/run` look for it (ROLLCALL_STORES=both). */
export const stores: readonly Store[] = isWhole ? everyStore : everyStore.slice(-1)

/** Where a test needs one database and any store is right. */
export const usualStore: Store = stores[0] ?? pglite

export function postgresUrl(): string {
  const url = inject('postgresUrl')
  if (url === null) throw new Error('no PostgreSQL is under test')
  return url
}
