import { describe, expect, it, onTestFinished } from 'vitest'
import { readRange } from '../../src/store/log-head.ts'
import { openDatabase, type StoreConfig } from '../../src/store/open.ts'
import { startNode } from '../support/child.ts'
import { temporaryFolder } from '../support/folder.ts'
import { postgresStores } from '../support/stores.ts'

async function epochsOf(config: StoreConfig): Promise<{ base: number; ended: number | null }[]> {
  const database = await openDatabase(config)
  try {
    return (await readRange(database.session)).epochs
  } finally {
    await database.close()
  }
}

const newEpoch = (env: Record<string, string>) => startNode(['src/cli/new-epoch.ts'], env)

describe('npm run new-epoch', () => {
  it('begins an epoch in a data directory, and says at which revision', async () => {
    const dataDir = temporaryFolder()
    const [first] = await epochsOf({ url: null, dataDir })
    const command = newEpoch({ DATA_DIR: dataDir })
    const [, base] = /revision (\d+) of/.exec(await command.said(/^A new epoch begins/)) ?? []
    expect(await command.ended).toBe(0)
    expect(await epochsOf({ url: null, dataDir })).toEqual([
      { base: first?.base, ended: first?.base },
      { base: Number(base), ended: null },
    ])
  })

  it('leaves a directory alone that a server is using', async () => {
    const dataDir = temporaryFolder()
    const server = await openDatabase({ url: null, dataDir })
    onTestFinished(() => server.close())
    const command = newEpoch({ DATA_DIR: dataDir })
    await command.said(new RegExp(`in use by process ${process.pid} `))
    expect(await command.ended).toBe(1)
  })
})

describe.each(postgresStores)('npm run new-epoch on $name', (store) => {
  it('begins an epoch beside running servers', async () => {
    const empty = await store.create()
    onTestFinished(() => empty.drop())
    await epochsOf(empty.config)
    const command = newEpoch({ DATABASE_URL: empty.config.url ?? '' })
    await command.said(/^A new epoch begins/)
    expect(await command.ended).toBe(0)
    expect(await epochsOf(empty.config)).toHaveLength(2)
  })
})
