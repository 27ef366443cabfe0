/**
 * A copy of what retention removes, as Parquet files that have the columns of the exports.
 *
 *   rows up to a key → files of bounded size → each is read back and compared → its progress is stored → retention may remove the rows
 *
 * The progress is stored in the archive itself, with the identity of the database: another archive, or another database, begins anew and copies
 * all rows that there are. A file's name has its range and a part of its digest. So what two replicas write at the same time, or a server after a
 * kill, is the same file, or a file of its own, and never half of each.
 */
import { createHash } from 'node:crypto'
import { z } from 'zod'
import type { Archive } from '../../../ingest/duties/history.ts'
import { readAnswer } from '../../../platform/outbound/json.ts'
import type { Database } from '../../../store/database.ts'
import { databaseId } from '../../../store/read/export/archive-log.ts'
import type { Encoder } from '../formats/format.ts'
import { parquet, toParquet } from '../formats/parquet.ts'
import { createTally } from '../tally.ts'
import type { Storage } from './directory.ts'
import { type ArchivedTable, tables } from './tables.ts'
import { createRowDigest, digestOf } from './verify.ts'

const key = z.int().nonnegative()
const progress = z.object({
  database: z.string(),
  /** All rows up to this key have been copied. */
  copied: key,
  /** Being copied. */
  unit: z.object({ upTo: key, cursor: z.string().nullable(), files: key }).nullable(),
})
type Progress = Readonly<z.infer<typeof progress>>

/** Bytes. Anything larger is not what was stored. */
const largestProgress = 16 << 10
const progressLimits = { most: 100, longestText: 4 << 10 }

interface ArchiveLimits {
  readonly rows: number
  readonly bytes: number
}

const usual: ArchiveLimits = { rows: 50_000, bytes: 32 * 2 ** 20 }

export function createArchive(storage: Storage, database: Database, limits = usual): Archive {
  /** Read each time: another server may have continued, and the archive may have been removed. */
  async function progressOf(table: ArchivedTable): Promise<Progress> {
    const id = await databaseId(database.session)
    const bytes = await storage.get(progressFile(table), largestProgress)
    const stored = bytes && progress.safeParse(await readAnswer(bytes, progressLimits)).data
    return stored?.database === id ? stored : { database: id, copied: 0, unit: null }
  }

  async function note(table: ArchivedTable, progress: Progress): Promise<void> {
    await storage.put(progressFile(table), Buffer.from(`${JSON.stringify(progress)}\n`))
  }

  /** Writes the next file of a unit. Null: it was the last one. */
  async function copyFile(table: ArchivedTable, progress: Progress, unit: NonNullable<Progress['unit']>) {
    const { columns } = table
    const encoder: Encoder = await parquet.encode(columns, false)
    const tally = createTally(columns)
    const written = createRowDigest()
    const chunks: Buffer[] = []
    const take = (bytes: Buffer): void => {
      tally.addBytes(bytes)
      chunks.push(bytes)
    }
    let next: string | null = unit.cursor
    let isLast = false
    for (let rows = 0; rows < limits.rows && tally.figures().bytes < limits.bytes && !isLast; ) {
      const part = await within((whole) => table.read(whole, { after: progress.copied, upTo: unit.upTo }, next))
      for (const row of part.rows) written.add(columns.map(({ name, type }) => toParquet(type, row[name])))
      tally.addRows(part.rows)
      take(encoder.add(part.rows))
      rows += part.rows.length
      isLast = part.next === null
      next = part.next ?? next
    }
    take(encoder.end())
    const files = unit.files + 1
    if (written.value().rows > 0) {
      const { sha256, ...figures } = tally.figures()
      const range = [progress.copied + 1, unit.upTo, files].map((key) => String(key).padStart(16, '0'))
      const name = `${table.kind}/${range.join('-')}-${sha256.slice(0, 8)}`
      await store(table, `${name}.parquet`, Buffer.concat(chunks), written.value())
      const manifest = { kind: table.kind, ...figures, sha256, columns }
      await storage.put(`${name}.manifest.json`, Buffer.from(`${JSON.stringify(manifest, null, 2)}\n`))
    }
    return isLast ? null : { ...unit, cursor: next, files }
  }

  async function store(
    table: ArchivedTable,
    name: string,
    bytes: Buffer,
    expected: { readonly rows: number; readonly digest: string },
  ): Promise<void> {
    await storage.put(name, bytes)
    const back = await storage.get(name, bytes.length)
    if (!back || hashOf(back) !== hashOf(bytes)) throw new Error(`the archive has not kept ${name} as it was written`)
    const found = await digestOf(back, table.columns)
    if (found.rows !== expected.rows || found.digest !== expected.digest)
      throw new Error(`${name} has other rows than were written to it`)
  }

  async function within<T>(work: (whole: Awaited<ReturnType<Database['snapshot']>>) => Promise<T>): Promise<T> {
    const snapshot = await database.snapshot()
    try {
      return await work(snapshot)
    } finally {
      await snapshot.close()
    }
  }

  return {
    copied: async (name) => (await progressOf(tableOf(name))).copied,
    async copy(name, upTo, isOver) {
      const table = tableOf(name)
      let progress = await progressOf(table)
      // A unit that was begun is completed first, up to its own bound.
      let unit = progress.unit ?? { upTo, cursor: null, files: 0 }
      for (;;) {
        const next = await copyFile(table, progress, unit)
        progress = next ? { ...progress, unit: next } : { ...progress, copied: unit.upTo, unit: null }
        await note(table, progress)
        if (progress.copied >= upTo) return true
        if (isOver()) return false
        unit = progress.unit ?? { upTo, cursor: null, files: 0 }
      }
    },
  }
}

const progressFile = ({ kind }: ArchivedTable): string => `${kind}/archived.json`

function tableOf(name: string): ArchivedTable {
  const table = tables[name]
  if (table) return table
  throw new Error(`there is no archive of the table ${name}`)
}

const hashOf = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex')
