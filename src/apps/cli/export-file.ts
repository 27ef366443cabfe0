/**
 * The file of an export while it is written: FILE.part, and FILE.part.json with the address of the export. If the command is interrupted, the same
 * command continues after the last complete row.
 */
import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { appendFile, readFile, rename, rm, truncate, writeFile } from 'node:fs/promises'

export interface Part {
  /** The export's exact address, with all bounds. */
  readonly location: string
  /** The cursor of the last complete row. Null: there is none. */
  readonly cursor: string | null
}

/** What FILE.part.json holds. `request`: what the user asked for. */
interface Record {
  readonly request: string
  readonly location: string
}

export function exportFile(file: string) {
  const [part, record] = [`${file}.part`, `${file}.part.json`]
  return {
    /** Removes an incomplete row. Null: there is nothing to continue. */
    async find(request: string): Promise<Part | null> {
      const known = await readFile(record, 'utf8').then(parse, () => null)
      if (known?.request !== request) return null
      if (!isByRow(known.location)) return { location: known.location, cursor: await empty() }
      const { end, cursor } = await lastRow(part, known.location.includes('format=csv'))
      if (cursor === null) return { location: known.location, cursor: await empty() }
      await truncate(part, end)
      return { location: known.location, cursor }
    },
    async begin(request: string, location: string): Promise<void> {
      await empty()
      await writeFile(record, JSON.stringify({ request, location } satisfies Record))
    },
    append: (bytes: Uint8Array) => appendFile(part, bytes),
    async figures() {
      const hash = createHash('sha256')
      let size = 0
      for await (const chunk of createReadStream(part)) {
        hash.update(chunk)
        size += chunk.length
      }
      return { bytes: size, sha256: hash.digest('hex') }
    },
    async finish(manifest: object): Promise<void> {
      await writeFile(`${file}.manifest.json`, `${JSON.stringify(manifest, null, 2)}\n`)
      await rename(part, file)
      await rm(record)
    },
    async discard(): Promise<void> {
      await rm(part, { force: true })
      await rm(record, { force: true })
    },
  }

  async function empty(): Promise<null> {
    await writeFile(part, '')
    return null
  }
}

/** A Parquet file has its index at the end, so it cannot be continued. */
const isByRow = (location: string): boolean => !location.includes('format=parquet')

function parse(text: string): Record | null {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}

const [newline, quote] = [0x0a, 0x22]

/** The end of the last complete row, and its cursor: the last value of a row in both formats. In CSV, a line break may be within quotes. */
async function lastRow(
  file: string,
  isCsv: boolean,
): Promise<{ readonly end: number; readonly cursor: string | null }> {
  let [offset, end, begin, isQuoted] = [0, 0, 0, false]
  let rows = 0
  try {
    for await (const chunk of createReadStream(file) as AsyncIterable<Buffer>) {
      for (const [index, byte] of chunk.entries()) {
        if (isCsv && byte === quote) isQuoted = !isQuoted
        if (byte !== newline || isQuoted) continue
        begin = end
        end = offset + index + 1
        rows += 1
      }
      offset += chunk.length
    }
  } catch {
    return { end: 0, cursor: null }
  }
  if (rows < (isCsv ? 2 : 1)) return { end: 0, cursor: null }
  const chunks: Buffer[] = []
  for await (const chunk of createReadStream(file, { start: begin, end: end - 1 })) chunks.push(chunk)
  const row = Buffer.concat(chunks).toString().trimEnd()
  return { end, cursor: /"([^",]*)"}?$/.exec(row)?.[1] ?? null }
}
