import { randomUUID } from 'node:crypto'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { Database } from '../../src/store/database.ts'
import { beginEpoch, ensureEpoch } from '../../src/store/epoch.ts'
import { readHead, readRange } from '../../src/store/log-head.ts'
import { openDatabase } from '../../src/store/open.ts'
import { openFresh } from '../support/databases.ts'
import { postgresStores, stores } from '../support/stores.ts'

const check = (database: Database): Promise<void> => database.transaction((session) => ensureEpoch(session, Date.now()))

describe.each(stores)('an epoch on $name', (store) => {
  it('keeps the history before it, and every time in order', async () => {
    const database = await openFresh(store)
    const before = await readHead(database.session)
    // A clock that went back an hour gives no smaller revision.
    const base = await database.transaction((session) => beginEpoch(session, before.at - 3_600_000))
    const { head, epochs, tail } = await readRange(database.session)
    expect(base).toBe(before.revision + 1)
    expect(head).toMatchObject({ epochBase: base, revision: base, at: before.at, writes: before.writes + 1 })
    expect(tail).toBe(before.tail)
    expect(epochs).toEqual([
      { base: before.epochBase, ended: before.revision },
      { base, ended: null },
    ])
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
    const copy = await openDatabase({ url: url.href, dataDir: 'memory' })
    const { epochs } = await readRange(copy.session)
    await copy.close()
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
