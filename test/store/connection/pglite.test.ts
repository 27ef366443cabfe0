import { existsSync, mkdirSync, readdirSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { readyTemplate } from '../../../src/store/connection/embedded/make-template.mjs'
import { openPglite } from '../../../src/store/connection/embedded/pglite.ts'
import { unpackTemplate } from '../../../src/store/connection/embedded/pglite-template.ts'
import { isTransient } from '../../../src/store/connection/failure.ts'
import { openDatabase } from '../../../src/store/open.ts'
import { temporaryFolder } from '../../support/folder.ts'
import { isWhole } from '../../support/runner/depth.ts'
import { startChild } from '../../support/servers/child.ts'

describe('an embedded database', () => {
  it('has everything that was committed when its process was killed', async () => {
    const dataDir = temporaryFolder()
    const writer = startChild(
      `const { openDatabase } = await import('./src/store/open.ts')
       const database = await openDatabase({ url: null, dataDir: process.env.DATA_DIR })
       for (let n = 1; ; n += 1) {
         await database.transaction(async (session) => {
           await session.run("insert into leases values ($1, 'me', now(), now())", [String(n)])
           await session.run('update log_head set writes = writes + 1')
         })
         console.log('committed', n)
       }`,
      { DATA_DIR: dataDir },
    )
    await writer.said(/^committed 200$/)
    writer.process.kill('SIGKILL')
    await writer.ended
    const acknowledged = Number(/\d+/.exec(writer.lines.at(-1) ?? '')?.[0])
    const database = await openDatabase({ url: null, dataDir })
    const [row] = await database.session.run<{ names: number; writes: number }>(
      'select (select count(*) from leases) as names, writes from log_head',
    )
    await database.close()
    expect(acknowledged).toBeGreaterThanOrEqual(200)
    // One more may have been committed and not yet acknowledged.
    expect(row?.names).toBeGreaterThanOrEqual(acknowledged)
    expect(row?.names).toBeLessThanOrEqual(acknowledged + 1)
    expect(row?.writes).toBe(row?.names)
  })

  it('has few buffers, because the system has its files in memory', async () => {
    const database = await openDatabase({ url: null, dataDir: temporaryFolder() })
    expect(await database.session.run('show shared_buffers')).toEqual([{ shared_buffers: '16MB' }])
    await database.close()
  })

  it('starts again after a panic of PostgreSQL, with everything that was committed', async () => {
    const home = join(temporaryFolder(), 'pgdata')
    await unpackTemplate(await readyTemplate(), home)
    const options = { dataDir: home, template: undefined }
    let longest = 60_000
    const database = await openPglite(options, undefined, () => longest)
    const { session } = database
    const add = () => database.transaction(async ({ run }) => void (await run('insert into counted values (1)')))
    const count = () => session.run('select count(*)::int as count from counted').catch(() => null)
    await session.run('create table counted (n int)')
    await add()
    // It panics when it cannot write a file of its log, as on a full disk, and computes without end.
    renameSync(join(home, 'pg_wal'), join(home, 'away'))
    longest = 200
    await session.run('select pg_switch_wal()')
    await expect(add()).rejects.toSatisfy(isTransient)
    longest = 60_000
    renameSync(join(home, 'away'), join(home, 'pg_wal'))
    // It does not make a new database where the folder is away, for example because a volume is not mounted.
    renameSync(home, `${home}.away`)
    expect(await count()).toBe(null)
    expect(existsSync(home)).toBe(false)
    renameSync(`${home}.away`, home)
    // No caller waits for a thread that cannot be started.
    let attempts = 0
    const unusable = {
      get() {
        attempts += 1
        throw new Error('there is no thread')
      },
    }
    Object.defineProperty(options, 'template', { ...unusable, configurable: true, enumerable: true })
    await expect.poll(async () => [await count(), attempts > 0]).toEqual([null, true])
    Object.defineProperty(options, 'template', { value: undefined })
    await expect.poll(count).toEqual([{ count: 1 }])
    await add()
    expect(await count()).toEqual([{ count: 2 }])
    await database.close()
  })

  it.runIf(isWhole)('begins anew when its first boot was cut short', async () => {
    const dataDir = temporaryFolder()
    mkdirSync(join(dataDir, 'pgdata.new'))
    writeFileSync(join(dataDir, 'pgdata.new', 'PG_VERSION'), 'half')
    const database = await openDatabase({ url: null, dataDir })
    await database.ping()
    await database.close()
    expect(existsSync(join(dataDir, 'pgdata.new'))).toBe(false)
  })

  it('writes before it serves the reads that wait, and serves one of them after each write', async () => {
    const database = await openDatabase({ url: null, dataDir: 'memory' })
    const snapshot = await database.snapshot()
    await snapshot.head
    expect(snapshot.isWanted()).toBe(false)
    const served: string[] = []
    const waiting = [
      ...['read 1', 'read 2', 'read 3'].map((name) => database.session.run('select 1').then(() => served.push(name))),
      database.append(1, 'select 1', []).then(() => served.push('write 1')),
      database.transaction(async (session) => void (await session.run('select 1'))).then(() => served.push('write 2')),
    ]
    expect(snapshot.isWanted()).toBe(true)
    await snapshot.close()
    await Promise.all(waiting)
    expect(served).toEqual(['write 1', 'read 1', 'write 2', 'read 2', 'read 3'])
    await database.close()
  })

  it.runIf(isWhole)('in memory is gone when it has failed, and not when it is closed', async () => {
    const options = { dataDir: undefined, template: await readyTemplate() }
    let longest = 60_000
    const database = await openPglite(options, undefined, () => longest)
    const { session, gone } = database
    longest = 50
    await expect(session.run('select pg_sleep(600)')).rejects.toSatisfy(isTransient)
    await gone
    await expect(session.run('select 1')).rejects.toSatisfy(isTransient)
    await database.close()
    const closed = await openPglite(options)
    await closed.close()
    expect(await Promise.race([closed.gone, 'not gone'])).toBe('not gone')
  })

  it('leaves no caller waiting when it is closed', async () => {
    const database = await openDatabase({ url: null, dataDir: 'memory' })
    const asked = database.session.run('select 1 as one')
    await database.close()
    expect(await asked).toEqual([{ one: 1 }])
    await expect(database.ping()).rejects.toMatchObject({ code: '57P01' })
    await database.close()
  })

  it.runIf(isWhole)('is closed although a statement does not end', async () => {
    const options = { dataDir: undefined, template: await readyTemplate() }
    const database = await openPglite(options, undefined, undefined, 100)
    const endless = expect(database.session.run('select pg_sleep(3600)')).rejects.toSatisfy(isTransient)
    await database.close()
    await endless
  })

  it.runIf(isWhole)('keeps its directory to itself', async () => {
    const dataDir = temporaryFolder()
    await (await openDatabase({ url: null, dataDir })).close()
    expect(readdirSync(dataDir).toSorted()).toEqual(['pgdata', 'rollcall.lock', 'rollcall.pid'])
  })
})
