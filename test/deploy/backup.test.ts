/** deploy/backup.sh, with a real pg_dump. */
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, existsSync, readdirSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, it, onTestFinished } from 'vitest'
import { findPostgres } from '../support/databases/postgres-server.ts'
import { postgresStores } from '../support/databases/stores.ts'
import { root } from '../support/documentation.ts'
import { temporaryFolder } from '../support/folder.ts'

const run = promisify(execFile)
const script = join(root, 'deploy/backup.sh')

// Without PostgreSQL there is nothing to dump; .ci/run requires it.
describe.each(postgresStores)('deploy/backup.sh on $name', (store) => {
  async function prepare() {
    const [folder, empty] = [temporaryFolder(), await store.create()]
    onTestFinished(() => empty.drop())
    await (await empty.open()).close()
    const PATH = `${findPostgres() ?? ''}:${process.env.PATH}`
    return { folder, env: { PATH, BACKUP_DIR: folder, BACKUPS: '2', DATABASE_URL: empty.config.url ?? '' } }
  }
  const dumpsIn = (folder: string) => readdirSync(folder).filter((name) => name.endsWith('.dump'))

  it('makes a dump that pg_restore reads, and keeps the newest', async () => {
    const { folder, env } = await prepare()
    const older = ['2020', '2021', '2022'].map((year) => `rollcall-${year}0101T000000Z.dump`)
    for (const name of [...older, 'rollcall-20200101T000000Z.dump.part', 'other.dump'])
      writeFileSync(join(folder, name), '')
    utimesSync(join(folder, 'rollcall-20200101T000000Z.dump.part'), 0, 0)
    await run('sh', [script, 'once'], { env })
    const [other, kept, made = '', ...more] = readdirSync(folder).toSorted()
    expect([other, kept, more]).toEqual(['other.dump', older[2], []])
    const { stdout } = await run('pg_restore', ['--list', join(folder, made)], { env })
    expect(stdout).toMatch(/TABLE DATA public change_log/)
  })

  it('leaves no dump that is not whole', async () => {
    const { folder, env } = await prepare()
    await expect(
      run('sh', [script, 'once'], { env: { ...env, DATABASE_URL: 'postgres://127.0.0.1:9/none' } }),
    ).rejects.toThrow()
    expect(dumpsIn(folder)).toEqual([])
  })

  /** In place of pg_dump: writes to the file of the dump, and then executes `then`. */
  function fakeDump(then: string): string {
    const bin = temporaryFolder()
    const text = `#!/bin/sh\nfor option; do case $option in --file=*) file=\${option#--file=};; esac; done\necho half > "$file"\n${then}\n`
    writeFileSync(join(bin, 'pg_dump'), text)
    chmodSync(join(bin, 'pg_dump'), 0o755)
    return bin
  }

  it('leaves nothing of a dump that failed half way, such as on a full disk', async () => {
    const { folder, env } = await prepare()
    const PATH = `${fakeDump('exit 1')}:${env.PATH}`
    await expect(run('sh', [script, 'once'], { env: { ...env, PATH } })).rejects.toThrow()
    expect(readdirSync(folder)).toEqual([])
  })

  it('makes a dump while another one is made', async () => {
    const { folder, env } = await prepare()
    const go = join(temporaryFolder(), 'go')
    const PATH = `${fakeDump(`until [ -e ${go} ]; do sleep 0.1; done`)}:${env.PATH}`
    const slow = run('sh', [script, 'once'], { env: { ...env, PATH } })
    await expect.poll(() => readdirSync(folder)).toEqual([expect.stringMatching(/\.part$/)])
    const [part = ''] = readdirSync(folder)
    // Of another second, so of another name.
    const name = () => new Date().toISOString().replaceAll(/[-:]|\.\d+/g, '')
    await expect.poll(() => part.includes(name())).toBe(false)
    await run('sh', [script, 'once'], { env })
    expect(existsSync(join(folder, part))).toBe(true)
    writeFileSync(go, '')
    await slow
    expect(dumpsIn(folder)).toHaveLength(2)
  })

  it('repeats until it is stopped, and stops at once', async () => {
    const { folder, env } = await prepare()
    const child = spawn('sh', [script], { env, stdio: ['ignore', 'pipe', 'inherit'] })
    const ended = once(child, 'exit')
    // A sleep that outlived the script would hold the other end.
    const left = once(child.stdout.resume(), 'end')
    await expect.poll(() => dumpsIn(folder).length).toBe(1)
    child.kill('SIGTERM')
    expect((await ended)[1]).toBe(null)
    await left
  })
})
