/** deploy/standby, with a real primary. */
import { execFile } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'
import { findPostgres } from '../support/databases/postgres-server.ts'
import { postgresUrl } from '../support/databases/stores.ts'
import { root } from '../support/documentation.ts'
import { temporaryFolder } from '../support/folder.ts'

const run = promisify(execFile)
const folderOfScripts = join(root, 'deploy/standby')
const PATH = `${findPostgres() ?? ''}:${process.env.PATH}`

describe.skipIf(!findPostgres())('deploy/standby/copy.sh', () => {
  it('copies a primary once, as its standby, and runs the command', async () => {
    const folder = temporaryFolder()
    const env = { PATH, PRIMARY_URL: postgresUrl(), STANDBY_DATA: join(folder, 'standby') }
    // What is left of a copy that was interrupted.
    mkdirSync(join(folder, 'standby.part'))
    writeFileSync(join(folder, 'standby.part', 'PG_VERSION'), '')
    const copy = () => run('sh', [join(folderOfScripts, 'copy.sh'), 'echo', 'started'], { env })
    expect((await copy()).stdout).toBe('started\n')
    expect(readdirSync(folder)).toEqual(['standby'])
    expect(existsSync(join(folder, 'standby/standby.signal'))).toBe(true)
    const settings = join(folder, 'standby/postgresql.auto.conf')
    expect(readFileSync(settings, 'utf8')).toContain(`port=${new URL(postgresUrl()).port}`)
    writeFileSync(settings, '# kept')
    expect((await copy()).stdout).toBe('started\n')
    expect(readFileSync(settings, 'utf8')).toBe('# kept')
  })

  it('runs no command without a copy', async () => {
    const folder = temporaryFolder()
    const env = { PATH, PRIMARY_URL: 'postgres://127.0.0.1:9/none', STANDBY_DATA: join(folder, 'standby') }
    await expect(run('sh', [join(folderOfScripts, 'copy.sh'), 'echo', 'started'], { env })).rejects.toThrow()
    expect(existsSync(join(folder, 'standby'))).toBe(false)
  })
})

describe('deploy/standby/allow.sh', () => {
  it('adds its rule once', async () => {
    const folder = temporaryFolder()
    writeFileSync(join(folder, 'pg_hba.conf'), 'host all all all scram-sha-256\n')
    writeFileSync(join(folder, 'pg_ctl'), '#!/bin/sh\necho "$@"', { mode: 0o755 })
    const env = { PATH: `${folder}:${process.env.PATH}`, PGDATA: folder, POSTGRES_USER: 'rollcall' }
    for (let time = 0; time < 2; time += 1)
      expect((await run('sh', [join(folderOfScripts, 'allow.sh')], { env })).stdout).toBe(`reload -D ${folder}\n`)
    expect(readFileSync(join(folder, 'pg_hba.conf'), 'utf8').split('\n')).toEqual([
      'host all all all scram-sha-256',
      'host replication rollcall all scram-sha-256',
      '',
    ])
  })
})
