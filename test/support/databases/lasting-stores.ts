/** Stores that outlive the process that has opened them: one, or in the deep suite both. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openDatabase } from '../../../src/store/open.ts'
import { isDeep } from '../runner/depth.ts'
import { type EmptyStore, postgresStores } from './stores.ts'

/** `env`: by which a program of its own opens it. */
const all = [
  {
    name: 'PGlite',
    async create(): Promise<{ readonly env: Record<string, string>; readonly on: EmptyStore }> {
      const dataDir = mkdtempSync(join(tmpdir(), 'rollcall-mqtt-'))
      const config = { url: null, dataDir }
      const drop = async (): Promise<void> => rmSync(dataDir, { recursive: true, force: true })
      return { env: { DATA_DIR: dataDir }, on: { config, open: () => openDatabase(config), drop } }
    },
  },
  ...postgresStores.map((store) => ({
    name: store.name,
    async create() {
      const on = await store.create()
      return { env: { DATABASE_URL: on.config.url ?? '' }, on }
    },
  })),
]

export const lastingStores = isDeep ? all : all.slice(-1)
