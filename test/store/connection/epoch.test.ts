import { randomUUID } from 'node:crypto'
import { describe, expect, it, onTestFinished } from 'vitest'
import { beginEpoch, ensureEpoch } from '../../../src/store/connection/epoch.ts'
import { readHead, readRange } from '../../../src/store/connection/log-head.ts'
import type { Database } from '../../../src/store/database.ts'
import { openDatabase } from '../../../src/store/open.ts'
import { openFresh } from '../../support/databases/databases.ts'
import { everyStore, postgresStores } from '../../support/databases/stores.ts'

const check = (database: Database): Promise<unknown> =>
  database.transaction((session) => ensureEpoch(session, Date.now()))

describe.each(everyStore)('an epoch on $name', (store) => {
  it('keeps the history before it, and every time in order', async () => {
    const database = await openFresh(store)
    const before = await readHead(database.session)
    const base = await database.transaction((session) => beginEpoch(session, before.at))
    const { head, epochs, tail } = await readRange(database.session)
    expect(base).toBeGreaterThan(before.revision)
    expect(head).toMatchObject({ epochBase: base, revision: base, at: before.at, writes: before.writes + 1 })
    expect(tail).toBe(before.tail)
    expect(epochs).toEqual([
      { base: before.epochBase, ended: before.revision },
      { base, ended: null },
    ])
  })

  it.each([
    ['stands still', 0],
    ['went back an hour', -3_600_000],
    ['is ahead', 3_600_000],
    ['never was set', -Date.now()],
    ['is centuries ahead', Date.UTC(9_999, 1) - Date.now()],
  ])(
    'lies above what any lost future used, and never meets another one of the same copy, when the clock %s',
    async (_, off) => {
      const database = await openFresh(store)
      const before = await readHead(database.session)
      const bases: number[] = []
      for (let again = 0; again < 20; again += 1)
        await database
          .transaction(async (session) => {
            bases.push((await beginEpoch(session, before.at + off)) ?? 0)
            // The copy is put back.
            throw new Error('lost')
          })
          .catch(() => undefined)
      const sorted = bases.toSorted((a, b) => a - b)
      expect(sorted[0]).toBeGreaterThan(before.revision + 2 ** 40 - 1)
      expect(sorted.at(-1)).toBeLessThan(Number.MAX_SAFE_INTEGER)
      for (const [index, base] of sorted.slice(1).entries()) expect(base - (sorted[index] ?? 0)).toBeGreaterThan(10_000)
    },
  )

  it('follows another one a thousand times, and is refused rather than inexact when there are no revisions left', async () => {
    const database = await openFresh(store)
    const room = Number.MAX_SAFE_INTEGER - (await readHead(database.session)).revision
    expect(room / 2 ** 41).toBeGreaterThan(1_000)
    await database.session.run(`update log_head set revision = ${Number.MAX_SAFE_INTEGER - 2 ** 40}`)
    const begun = database.transaction((session) => beginEpoch(session, Date.now()))
    await expect(begun).rejects.toMatchObject({ code: 'CONFLICT' })
  })

  it('does not begin while a copy is made, and a running server makes no head of it', async () => {
    const database = await openFresh(store)
    const { session } = database
    const before = await readHead(session)
    const checkRunning = () => database.transaction((own) => ensureEpoch(own, Date.now(), before.revision))
    await session.run(`update log_head set identity = 'elsewhere'`)
    await session.run('alter table manifests drop constraint manifests_target_key_version_pk')
    await expect(checkRunning()).rejects.toThrow('the database lacks our tables')
    await session.run('delete from log_head')
    await expect(checkRunning()).rejects.toThrow('the database has no log head')
    expect(await session.run('select 1 from log_head')).toEqual([])
  })

  it('begins once, however many notice at the same time', async () => {
    const database = await openFresh(store)
    await database.session.run(`update log_head set identity = 'elsewhere'`)
    await Promise.all([check(database), check(database), check(database)])
    expect((await readRange(database.session)).epochs).toHaveLength(2)
  })
})

describe.each(postgresStores)('a database on $name', (store) => {
  it('that was copied begins an epoch of its own', async () => {
    const empty = await store.create()
    onTestFinished(() => empty.drop())
    const original = await empty.open()
    const { epochBase } = await readHead(original.session)
    await original.close()
    const url = new URL(empty.config.url ?? '')
    const name = `rollcall_test_copy_${randomUUID().replaceAll('-', '')}`
    const admin = await openFresh(store)
    await admin.session.run(`create database ${name} template ${url.pathname.slice(1)}`)
    url.pathname = `/${name}`
    const began: number[] = []
    const openCopy = () => openDatabase({ url: url.href, dataDir: 'memory' }, undefined, (base) => began.push(base))
    await (await openCopy()).close()
    const copy = await openCopy()
    const { epochs } = await readRange(copy.session)
    await copy.close()
    expect(began).toEqual([epochs[1]?.base])
    await admin.session.run(`drop database ${name} with (force)`)
    expect(epochs).toHaveLength(2)
    expect(epochs[0]?.base).toBe(epochBase)
  })

  it('is known by a role that may read nothing of the cluster', async () => {
    const database = await openFresh(store)
    const role = `rollcall_test_${randomUUID().replaceAll('-', '')}`
    await database.session.run(`create role ${role}`)
    const { session } = database
    try {
      await session.run(`grant select, insert, update on all tables in schema public to ${role}`)
      await database.transaction(async (writer) => {
        await writer.run(`set local role ${role}`)
        await ensureEpoch(writer, Date.now())
      })
      expect((await readRange(session)).epochs).toHaveLength(1)
      await session.run('revoke execute on function pg_control_system() from public')
      for (let again = 0; again < 2; again += 1)
        await database.transaction(async (writer) => {
          await writer.run(`set local role ${role}`)
          await ensureEpoch(writer, Date.now())
        })
      expect((await readRange(session)).epochs).toHaveLength(2)
    } finally {
      await session.run(`drop owned by ${role}`)
      await session.run(`drop role ${role}`)
    }
  })

  it('rings the doorbell when its epoch begins', async () => {
    const empty = await store.create()
    onTestFinished(() => empty.drop())
    const [writer, listener] = [await empty.open(), await empty.open()]
    onTestFinished(async () => void (await Promise.all([writer.close(), listener.close()])))
    const rings: (number | null)[] = []
    const rang = new Promise<void>((resolve, reject) => {
      const ring = (revision: number | null): unknown => rings.push(revision) === 2 && resolve()
      listener.listen(ring).catch(reject)
    })
    await expect.poll(() => rings).toEqual([null])
    const base = await writer.transaction((session) => beginEpoch(session, Date.now()))
    await rang
    expect(rings).toEqual([null, base])
  })
})
