import { readdirSync } from 'node:fs'
import { describe, expect, it, onTestFinished } from 'vitest'
import { readRange } from '../../src/store/connection/log-head.ts'
import { openDatabase, type StoreConfig } from '../../src/store/open.ts'
import { postgresStores } from '../support/databases/stores.ts'
import { temporaryFolder } from '../support/folder.ts'
import { isWhole } from '../support/runner/depth.ts'
import { startNode } from '../support/servers/child.ts'

async function epochsOf(config: StoreConfig): Promise<{ base: number; ended: number | null }[]> {
  const database = await openDatabase(config)
  try {
    return (await readRange(database.session)).epochs
  } finally {
    await database.close()
  }
}

const newEpoch = (env: Record<string, string>, ...args: readonly string[]) =>
  startNode(['src/bin.ts', 'new-epoch', ...args], env)

describe('npm run new-epoch', () => {
  it('begins an epoch in a data directory, and prints its revision', async () => {
    const dataDir = temporaryFolder()
    const [first] = await epochsOf({ url: null, dataDir })
    const command = newEpoch({ DATA_DIR: dataDir }, '--yes')
    const [, base] = /revision (\d+) of/.exec(await command.said(/^A new epoch begins/)) ?? []
    expect(await command.ended).toBe(0)
    expect(await epochsOf({ url: null, dataDir })).toEqual([
      { base: first?.base, ended: first?.base },
      { base: Number(base), ended: null },
    ])
  })

  it('refuses a directory that a server is using', async () => {
    const dataDir = temporaryFolder()
    const server = await openDatabase({ url: null, dataDir })
    onTestFinished(() => server.close())
    const command = newEpoch({ DATA_DIR: dataDir }, '--yes')
    await command.said(new RegExp(`in use by process ${process.pid} `))
    expect(await command.ended).toBe(1)
  })

  it('shows its help, asks for confirmation, and changes nothing for an unknown argument', async () => {
    const dataDir = temporaryFolder()
    const before = await epochsOf({ url: null, dataDir })
    for (const [args, said, code] of [
      [['--help'], /^Usage: rollcall new-epoch/, 0],
      [[], /no terminal to confirm on: add --yes/, 64],
      [['--yes', '--dry-run'], /unknown option --dry-run/, 64],
      [['--yes', 'now'], /Unexpected argument 'now'/, 64],
    ] as const) {
      const command = newEpoch({ DATA_DIR: dataDir }, ...args)
      await command.said(said)
      expect(await command.ended).toBe(code)
    }
    expect(await epochsOf({ url: null, dataDir })).toEqual(before)
  })

  it.runIf(isWhole)('begins none if the question gets no answer', async () => {
    const dataDir = temporaryFolder()
    const before = await epochsOf({ url: null, dataDir })
    const inTerminal = 'data:text/javascript,process.stdin.isTTY=true'
    const command = startNode(['--import', inTerminal, 'src/apps/cli/new-epoch.ts'], { DATA_DIR: dataDir })
    await command.said(/No epoch was begun\.$/)
    expect(await command.ended).toBe(1)
    expect(await epochsOf({ url: null, dataDir })).toEqual(before)
  })

  it.runIf(isWhole)('does not create a database', async () => {
    const dataDir = temporaryFolder()
    const command = newEpoch({ DATA_DIR: dataDir }, '--yes')
    await command.said(/^there is no database in/)
    expect(await command.ended).toBe(1)
    expect(readdirSync(dataDir)).toEqual([])
  })

  it.runIf(isWhole)('says in a sentence that there is no database where DATABASE_URL says', async () => {
    const command = newEpoch({ DATABASE_URL: 'postgres://rollcall:s3cret@127.0.0.1:1/rollcall' }, '--yes')
    expect(await command.ended).toBe(1)
    expect(command.lines.join('\n')).toMatch(
      /^the database cannot be used: 127\.0\.0\.1:1: it refuses connections .*DATABASE_URL.*$/,
    )
  })
})

describe.each(postgresStores)('npm run new-epoch on $name', (store) => {
  it('begins an epoch when every server is stopped, and refuses before', async () => {
    const empty = await store.createBare()
    onTestFinished(() => empty.drop())
    const env = { DATABASE_URL: empty.config.url ?? '' }
    const lacking = newEpoch(env, '--yes')
    await lacking.said(/^there are no tables of Rollcall/)
    expect(await lacking.ended).toBe(1)
    const server = await openDatabase(empty.config)
    await server.listen(() => {})
    const refused = newEpoch(env, '--yes')
    await refused.said(/^a server is connected to the database/)
    expect(await refused.ended).toBe(1)
    await server.close()
    expect(await epochsOf(empty.config)).toHaveLength(1)
    const command = newEpoch(env, '--yes')
    await command.said(/^A new epoch begins/)
    expect(await command.ended).toBe(0)
    expect(await epochsOf(empty.config)).toHaveLength(2)
  })
})
