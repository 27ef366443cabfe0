import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sql } from 'drizzle-orm'
import { afterEach, describe, expect, it, onTestFinished } from 'vitest'
import { beginEpoch, ensureEpoch } from '../../../src/store/connection/epoch.ts'
import { readHead, readRange } from '../../../src/store/connection/log-head.ts'
import { mostCharacters } from '../../../src/store/connection/reading.ts'
import type { Database } from '../../../src/store/database.ts'
import { openDatabase } from '../../../src/store/open.ts'
import { everyStore, postgresStores, type Store } from '../../support/databases/stores.ts'
import { jsonYardstick, longestStall } from '../../support/stall.ts'

const closing: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close()
})

async function fresh(store: Store): Promise<Database> {
  const empty = await store.create()
  const database = await empty.open()
  closing.push(() => empty.drop())
  closing.push(() => database.close())
  return database
}

describe.each(everyStore)('a database on $name', (store) => {
  it('hands over a large result in parts, in order, and lets others go on between them', async () => {
    const { session } = await fresh(store)
    const items = `json_build_object('name', 'component-' || i, 'state', 'FAILED', 'error', json_build_object('code', 'E42', 'message', repeat('x', 100)))`
    const text = `select n, (select json_agg(${items}) from generate_series(1, 200) as i) as list from generate_series(1, $1::int) as n`
    const rows = 800
    await session.run(text, [1])
    const yardstick = jsonYardstick(rows * 200 * 100)
    let found: { readonly n: number; readonly list: readonly unknown[] }[] = []
    const read = async (): Promise<void> => {
      found = await session.run(text, [rows])
    }
    // A garbage collection can fall into one run.
    const stall = Math.min(await longestStall(read), await longestStall(read), await longestStall(read))
    expect(found.map(({ n }) => n)).toEqual(Array.from({ length: rows }, (_, n) => n + 1))
    expect(found.every(({ list }) => list.length === 200)).toBe(true)
    expect(stall).toBeLessThan(yardstick / 2)
    expect(await session.run('select 1 as one')).toEqual([{ one: 1 }])
  })

  it('refuses a reading of too many characters, in words, and reads on. A transaction may read them', async () => {
    const database = await fresh(store)
    const text = `select repeat('x', 1024 * 1024) as text, json_build_object('text', repeat('x', 1024 * 1024)) as json from generate_series(1, $1::int)`
    const refused = expect.objectContaining({
      code: 'LIMIT_EXCEEDED',
      message: expect.stringContaining(`more than ${mostCharacters} characters: request fewer rows`),
    })
    expect(await database.session.run(text, [15])).toHaveLength(15)
    // The second one is so much that the statement is ended.
    for (const count of [17, 100]) await expect(database.session.run(text, [count])).rejects.toEqual(refused)
    const snapshot = await database.snapshot()
    await expect(snapshot.run(text, [17])).rejects.toEqual(refused)
    expect(await snapshot.run('select 1 as one')).toEqual([{ one: 1 }])
    await snapshot.close()
    expect(await database.transaction((session) => session.run(text, [17]))).toHaveLength(17)
    expect(await database.readBeside((reader) => reader.run(text, [17]))).toHaveLength(17)
  })

  it('answers the same JavaScript values whichever it is', async () => {
    const { session } = await fresh(store)
    const [row] = await session.rows<Record<string, unknown>>(sql`
      select count(*) as count, 9007199254740991::int8 as big, 18446744073709551615::numeric(20, 0) as digits, true as yes,
        null::text as nothing, '2026-01-02T03:04:05.678+02:00'::timestamptz as at, '{"a":[1,null]}'::jsonb as object,
        'INSTALLED'::deployment_state as state, ${'text'}::text as given, ${7}::int as number, ${'[1]'}::text::json as list`)
    expect(row).toEqual({
      count: 1,
      big: 9007199254740991,
      digits: '18446744073709551615',
      yes: true,
      nothing: null,
      at: Date.UTC(2026, 0, 2, 1, 4, 5, 678),
      object: { a: [1, null] },
      state: 'INSTALLED',
      given: 'text',
      number: 7,
      list: [1],
    })
  })

  it('takes back what a failed transaction wrote, and goes on', async () => {
    const database = await fresh(store)
    const insert = `insert into leases values ('x', 'me', now(), now())`
    await expect(
      database.transaction(async (session) => {
        await session.run(insert)
        await session.run('select 1 / 0')
      }),
    ).rejects.toMatchObject({ code: '22012' })
    expect(await database.session.run('select * from leases')).toEqual([])
    await database.transaction((session) => session.run(insert))
    expect(await database.session.run('select name from leases')).toEqual([{ name: 'x' }])
  })

  it('finds the rows that it writes by their keys, not by joining whole tables', async () => {
    const database = await fresh(store)
    const settings = `select name, setting from pg_settings where name in ('enable_hashjoin', 'enable_mergejoin') order by name`
    const off = ['enable_hashjoin', 'enable_mergejoin'].map((name) => ({ name, setting: 'off' }))
    expect(await database.transaction((session) => session.run(settings))).toEqual(off)
    // Reading is another matter.
    expect(await database.session.run(settings)).toEqual(off.map(({ name }) => ({ name, setting: 'on' })))
  })

  it('begins its first epoch with microseconds of the clock', async () => {
    const before = Date.now() * 1000
    const { session } = await fresh(store)
    const head = await readHead(session)
    expect(head.epochBase).toBeGreaterThanOrEqual(before)
    expect(head).toMatchObject({ revision: head.epochBase, tail: head.epochBase, writes: 0 })
    expect((await readRange(session)).epochs).toEqual([{ base: head.epochBase, ended: null }])
  })

  it('begins another epoch above everything seen when it is not the database it was', async () => {
    const database = await fresh(store)
    const { revision } = await readHead(database.session)
    await database.transaction((session) => ensureEpoch(session, Date.now(), revision))
    expect((await readHead(database.session)).epochBase).toBe(revision)
    const seen = revision + 10 ** 12
    await database.transaction((session) => ensureEpoch(session, Date.now(), seen))
    const { epochs, head } = await readRange(database.session)
    expect(head.revision).toBeGreaterThan(seen)
    expect(epochs).toEqual([
      { base: revision, ended: revision },
      { base: head.revision, ended: null },
    ])
    await database.session.run(`update log_head set identity = 'elsewhere'`)
    await database.transaction((session) => ensureEpoch(session, Date.now()))
    expect((await readRange(database.session)).epochs).toHaveLength(3)
    expect(await database.transaction((session) => beginEpoch(session, Date.now()))).toBeGreaterThan(head.revision)
  })

  it('shows a snapshot nothing that was written after it', async () => {
    const database = await fresh(store)
    const snapshot = await database.snapshot()
    // It is asked for unanswered: until its head is known, a write on another connection may come before it.
    await snapshot.head
    const write = database.transaction((session) => session.run(`insert into leases values ('y', 'me', now(), now())`))
    // PGlite has one connection: there the writer waits for the snapshot to end.
    if (database.kind === 'postgres') await write
    expect(await snapshot.run('select * from leases')).toEqual([])
    await snapshot.close()
    await write
    const later = await database.snapshot()
    expect(await later.run('select name from leases')).toEqual([{ name: 'y' }])
    await expect(later.run('delete from leases')).rejects.toMatchObject({ code: '25006' })
    await later.close()
    await later.close()
    expect(await database.session.run('select name from leases')).toEqual([{ name: 'y' }])
  })
})

describe.each(postgresStores)('several replicas on $name', (store) => {
  it('may all start at once on an empty database', async () => {
    const empty = await store.createBare()
    closing.push(() => empty.drop())
    const replicas = await Promise.all([empty.open(), empty.open(), empty.open(), empty.open()])
    closing.push(async () => void (await Promise.all(replicas.map((database) => database.close()))))
    const heads = await Promise.all(replicas.map(({ session }) => readHead(session)))
    expect(new Set(heads.map(({ epochBase }) => epochBase)).size).toBe(1)
  })
})

describe('an embedded data directory', () => {
  it('keeps what was written, and has one owner', async () => {
    const dataDir = mkdtempSync(join(tmpdir(), 'rollcall-data-'))
    onTestFinished(() => rmSync(dataDir, { recursive: true, force: true }))
    const first = await openDatabase({ url: null, dataDir })
    await expect(openDatabase({ url: null, dataDir })).rejects.toThrow(`in use by process ${process.pid}`)
    await first.session.run(`insert into leases values ('z', 'me', now(), now())`)
    const head = await readHead(first.session)
    await first.close()
    const second = await openDatabase({ url: null, dataDir })
    closing.push(() => second.close())
    expect(await second.session.run('select name from leases')).toEqual([{ name: 'z' }])
    expect(await readHead(second.session)).toEqual(head)
  })
})
