/** Every store that a test should hold on: PGlite always, PostgreSQL where there is one. */
import { randomUUID } from 'node:crypto'
import postgres from 'postgres'
import { inject } from 'vitest'
import type { Database } from '../../src/store/database.ts'
import { openDatabase, type StoreConfig } from '../../src/store/open.ts'

export interface Store {
  readonly name: 'PGlite' | 'PostgreSQL'
  /** An empty database to open, several times at once on PostgreSQL. */
  create(): Promise<EmptyStore>
}

export interface EmptyStore {
  readonly config: StoreConfig
  open(): Promise<Database>
  /** Removes it; close what was opened first. */
  drop(): Promise<void>
}

const pglite: Store = {
  name: 'PGlite',
  async create() {
    const config = { url: null, dataDir: 'memory' }
    return { config, open: () => openDatabase(config), drop: async () => {} }
  },
}

const postgresql: Store = {
  name: 'PostgreSQL',
  async create() {
    const server = postgresUrl()
    const name = `rollcall_test_${randomUUID().replaceAll('-', '')}`
    await administer(server, (sql) => sql.unsafe(`create database ${name}`))
    const url = new URL(server)
    url.pathname = `/${name}`
    const config = { url: url.href, dataDir: 'memory' }
    return {
      config,
      open: () => openDatabase(config),
      drop: () => administer(server, (sql) => sql.unsafe(`drop database ${name} with (force)`)),
    }
  },
}

export const stores: readonly Store[] = inject('postgresUrl') === null ? [pglite] : [pglite, postgresql]
/** For what PGlite cannot show, having one connection: concurrency, reconnects, replicas. */
export const postgresStores: readonly Store[] = stores.filter(({ name }) => name === 'PostgreSQL')

export function postgresUrl(): string {
  const url = inject('postgresUrl')
  if (url === null) throw new Error('no PostgreSQL is under test')
  return url
}

async function administer(url: string, act: (sql: postgres.Sql) => Promise<unknown>): Promise<void> {
  const sql = postgres(url, { max: 1, onnotice: () => {} })
  try {
    await act(sql)
  } finally {
    await sql.end()
  }
}
