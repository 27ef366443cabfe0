import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { createArchive } from '../../src/api/export/archive/archive.ts'
import { createDirectory, type Storage } from '../../src/api/export/archive/directory.ts'
import type { Row } from '../../src/api/export/columns.ts'
import { recordAudit } from '../../src/ingest/commands/api-access.ts'
import { type Archive, createArchiving, createRetention, dropDelay } from '../../src/ingest/duties/history.ts'
import { restartEpoch } from '../../src/store/connection/epoch.ts'
import { readHead } from '../../src/store/connection/log-head.ts'
import type { Database } from '../../src/store/database.ts'
import { change, closeAfterEach, open } from '../feed/harness.ts'
import { divideTables } from '../support/databases/partitions.ts'
import { stores } from '../support/databases/stores.ts'
import { someOf } from '../support/runner/depth.ts'
import type { Road } from '../support/servers/road.ts'
import { type Duck, openDuck } from './duckdb.ts'
import { exportRows } from './rows.ts'

closeAfterEach()

const openArchive = (folder: string, database: Database): Archive => createArchive(createDirectory(folder), database)

const day = 86_400_000
const kinds = ['changes', 'reports', 'audit'] as const
type Kind = (typeof kinds)[number]

const line = { kind: 'MUTATION', caller: 'a', credential: 'key', address: '', outcome: 'done', times: 1 } as const

async function write(road: Road, count: number): Promise<void> {
  for (let n = 0; n < count; n += 1) {
    await change(road)
    const detail = n % 2 === 0 ? { note: `=${n}` } : 'a text'
    await road.writer.submit(recordAudit([{ ...line, action: `${n}`, detail, at: Date.now() }]))
  }
}

async function all(database: Database): Promise<Record<Kind, Row[]>> {
  const { tail } = await readHead(database.session)
  const since = { afterRevision: String(tail) }
  return {
    changes: await exportRows(database, 'changes', since),
    reports: await exportRows(database, 'reports', {
      ...since,
      atRevision: String((await readHead(database.session)).revision),
    }),
    audit: await exportRows(database, 'audit'),
  }
}

const left = async (database: Database): Promise<Record<Kind, number>> => {
  const [row] = await database.session.run<Record<Kind, number>>(
    `select (select count(*) from change_log)::int as changes, (select count(*) from reports)::int as reports, (select count(*) from audit_log)::int as audit`,
  )
  return row ?? expect.unreachable()
}
const none = { changes: 0, reports: 0, audit: 0 }

const forEver = { listeningSince: 0, isOver: () => false }
const soon = () => Date.now() + 30 * day

/** Rounds of retention, with the minute between the end of a partition and its removal. */
async function retire(database: Database, archive: Archive | null): Promise<void> {
  let monotonic = 0
  const signal = new AbortController().signal
  const retention = createRetention({ database, kept: day, signal, archive, monotonic: () => monotonic })
  for (const _ of [1, 2, 3]) {
    await retention.run({ ...forEver, now: soon() })
    monotonic += dropDelay + 1
  }
}

const copy = (database: Database, archive: Archive, isOver = () => false) =>
  createArchiving({ database, kept: day, signal: new AbortController().signal }, archive).run({
    ...forEver,
    isOver,
    now: soon(),
  })

describe.each(stores)('the archive on $name', (store) => {
  let duck: Duck
  let folder: string
  beforeAll(async () => {
    duck = await openDuck()
  })
  afterAll(() => duck.close())
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'archive-'))
    return () => rm(folder, { recursive: true })
  })

  /** What the files have, by cursor: a row may be in two files. */
  async function archived(kind: Kind): Promise<Map<string, Record<string, unknown>>> {
    const files = await readdir(join(folder, kind)).catch(() => [])
    if (!files.some((name) => name.endsWith('.parquet'))) return new Map()
    const rows = await duck.askFiles(`${folder}/${kind}/*.parquet`, 'select * from read_parquet(FILE)')
    return new Map(rows.map((row) => [String(row.cursor), row]))
  }

  async function expectArchived(expected: Record<Kind, Row[]>): Promise<void> {
    for (const kind of kinds) {
      const found = await archived(kind)
      expect([kind, [...found.keys()].toSorted()]).toEqual([
        kind,
        expected[kind].map(({ cursor }) => cursor).toSorted(),
      ])
      for (const { cursor, ...row } of expected[kind]) {
        const copied = found.get(String(cursor)) ?? {}
        for (const [name, value] of Object.entries(row)) {
          if (/^at$|At$/.test(name)) continue
          const text = typeof value === 'object' && value !== null ? JSON.stringify(value) : value
          const isJson = name === 'detail' && typeof value === 'string'
          expect([name, String(copied[name])]).toEqual([name, isJson ? JSON.stringify(value) : String(text)])
        }
      }
    }
  }

  it.each([true, false])('has what is dropped with partitions, or removed by rows: %s', async (isDivided) => {
    const [road] = await open(store)
    const { database } = road
    await write(road, 5)
    const expected = await all(database)
    if (isDivided) await divideTables(database, 0)
    const archive = openArchive(folder, database)
    expect(await copy(database, archive)).toBe(true)
    await expectArchived(expected)
    await retire(database, archive)
    expect(await left(database)).toEqual(none)
    // There is nothing more to copy.
    const files = await readdir(folder, { recursive: true })
    expect(await copy(database, openArchive(folder, database))).toBe(true)
    expect(await readdir(folder, { recursive: true })).toEqual(files)
    const manifests = files.filter((name) => name.endsWith('.manifest.json'))
    expect(manifests).toHaveLength(kinds.length)
    for (const name of manifests) {
      const { sha256, rows, kind } = JSON.parse(await readFile(join(folder, name), 'utf8'))
      expect(rows).toBe(expected[kind as Kind].length)
      expect(name).toContain(sha256.slice(0, 8))
    }
  })

  it('keeps rows in the database until they are copied', async () => {
    const [road] = await open(store)
    const { database } = road
    await write(road, 3)
    const archive = openArchive(folder, database)
    await copy(database, archive)
    await write(road, 2)
    await retire(database, archive)
    expect(await left(database)).toEqual({ changes: 2, reports: 2, audit: 2 })
    await divideTables(database, 0)
    await retire(database, archive)
    expect(await left(database)).toEqual({ changes: 2, reports: 2, audit: 2 })
    expect((await readHead(database.session)).tail).toBeLessThan((await readHead(database.session)).revision)
    await copy(database, archive)
    await retire(database, archive)
    expect(await left(database)).toEqual(none)
  })

  it.each([
    ['cannot be written', { put: () => Promise.reject(new Error('no space left')) }],
    [
      'does not keep what is written',
      { get: async (name: string) => (name.endsWith('.parquet') ? Buffer.from('PAR1') : null) },
    ],
    ['loses what is written', { get: async () => null }],
  ] as const)('that %s stops retention, and neither the log nor reports', async (_, broken) => {
    const [road] = await open(store)
    const { database } = road
    await write(road, 2)
    await divideTables(database, 0)
    const archive = createArchive({ ...createDirectory(folder), ...broken }, database)
    await expect(copy(database, archive)).rejects.toThrow()
    await retire(database, archive)
    expect(await left(database)).toEqual({ changes: 2, reports: 2, audit: 2 })
    await change(road)
    const mended = openArchive(folder, database)
    const expected = await all(database)
    await copy(database, mended)
    await copy(database, mended)
    await retire(database, mended)
    await expectArchived(expected)
    expect(await left(database)).toEqual(none)
  })

  it('loses nothing when a server ends at any moment, and does not count a partial file as complete', async () => {
    const [road] = await open(store)
    const { database } = road
    await write(road, 7)
    const expected = await all(database)
    await divideTables(database, 0)
    await fc.assert(
      fc.asyncProperty(fc.array(fc.nat(6), { maxLength: 5 }), fc.integer({ min: 1, max: 4 }), async (ends, rows) => {
        for (const name of await readdir(folder)) await rm(join(folder, name), { recursive: true })
        for (const end of ends) {
          const archive = createArchive(dying(createDirectory(folder), end), database, { rows, bytes: 1_000_000 })
          await copy(database, archive).catch(() => false)
          for (const table of ['change_log', 'reports', 'audit_log']) {
            const kind = ({ change_log: 'changes', reports: 'reports', audit_log: 'audit' } as const)[table] ?? 'audit'
            if ((await openArchive(folder, database).copied(table)) > 0)
              expect((await archived(kind)).size).toBe(expected[kind].length)
          }
        }
        const archive = createArchive(createDirectory(folder), database, { rows, bytes: 1_000_000 })
        while (!(await copy(database, archive, () => true)));
        await expectArchived(expected)
      }),
      { numRuns: someOf(5, 12) },
    )
  })

  it('begins again with a new epoch, because files that were restored contain the same keys again', async () => {
    const [road] = await open(store)
    const { database } = road
    await write(road, 2)
    await openArchive(folder, database).copy('audit_log', 99, () => false)
    await restartEpoch(database, Date.now(), (await readHead(database.session)).revision + 1)
    expect(await openArchive(folder, database).copied('audit_log')).toBe(0)
  })

  it('begins again for another database', async () => {
    const [road] = await open(store)
    const { database } = road
    await write(road, 2)
    await openArchive(folder, database).copy('audit_log', 99, () => false)
    expect(await openArchive(folder, database).copied('audit_log')).toBe(99)
    const file = join(folder, 'audit', 'archived.json')
    await writeFile(file, JSON.stringify({ ...JSON.parse(await readFile(file, 'utf8')), database: 'another' }))
    expect(await openArchive(folder, database).copied('audit_log')).toBe(0)
  })
})

/** Ends, as a killed process does, in a write: before it, or with a half of it under a temporary name. */
function dying(storage: Storage, writes: number): Storage {
  let count = 0
  return {
    get: storage.get,
    async put(name, bytes) {
      count += 1
      if (count <= writes) return storage.put(name, bytes)
      if (count % 2 === 0) await storage.put(`${name}.half.tmp`, bytes.subarray(0, bytes.length / 2))
      throw new Error('killed')
    },
  }
}
