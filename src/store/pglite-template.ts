/**
 * Initialising PGlite's directory takes seconds, taking a copy of one that is ready a fraction of one. So a copy is kept beside the
 * modules: installing makes it, and if that could not be, the first boot does. All copies are the same cluster to PostgreSQL; the
 * first revision, which is the clock's, is what tells their logs apart.
 */
import { createHash, randomUUID } from 'node:crypto'
import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join, normalize, sep } from 'node:path'
import { zstdCompressSync, zstdDecompressSync } from 'node:zlib'
import { migrate, readMigrations } from './migrate.ts'
import { openPglite } from './pglite.ts'

const cache = join(import.meta.dirname, '../../node_modules/.cache/rollcall')

/** A migrated directory as a tar. */
export async function readyTemplate(): Promise<Uint8Array> {
  const name = await templateName()
  try {
    return zstdDecompressSync(readFileSync(join(cache, name)))
  } catch {
    const tar = await makeTemplate()
    keep(name, tar)
    return tar
  }
}

/** Puts a copy into a new folder. Elsewhere first, then renamed: a process killed here leaves nothing that looks like a database. */
export function unpackTemplate(tar: Uint8Array, folder: string): void {
  const beginning = `${folder}.new`
  rmSync(beginning, { recursive: true, force: true })
  mkdirSync(beginning, { recursive: true, mode: 0o700 })
  for (const { path, content } of entriesOf(tar)) {
    const target = join(beginning, path)
    if (content === null) mkdirSync(target, { recursive: true, mode: 0o700 })
    else {
      mkdirSync(dirname(target), { recursive: true, mode: 0o700 })
      writeFileSync(target, content, { mode: 0o600 })
    }
  }
  renameSync(beginning, folder)
}

async function makeTemplate(): Promise<Uint8Array> {
  const fresh = await openPglite({ dataDir: undefined, template: undefined })
  try {
    await migrate(fresh)
    return await fresh.dump()
  } finally {
    await fresh.close()
  }
}

/** An installation that cannot be written to boots more slowly, and works. */
function keep(name: string, tar: Uint8Array): void {
  try {
    mkdirSync(cache, { recursive: true })
    const mine = join(cache, `${name}.${randomUUID()}`)
    writeFileSync(mine, zstdCompressSync(tar))
    renameSync(mine, join(cache, name))
    for (const file of readdirSync(cache)) if (!file.startsWith(name)) rmSync(join(cache, file), { force: true })
  } catch {}
}

/** Another PGlite or other migrations need another one. */
async function templateName(): Promise<string> {
  const main = createRequire(import.meta.url).resolve('@electric-sql/pglite')
  const { version } = JSON.parse(readFileSync(join(main, '../../package.json'), 'utf8'))
  const hash = createHash('sha256').update(JSON.stringify(await readMigrations()))
  return `pglite-${version}-${hash.digest('hex').slice(0, 16)}.tar.zst`
}

/** The entries of a ustar archive: 512 bytes of header each, then the content, padded to 512 again. `content` null: a folder. */
function* entriesOf(tar: Uint8Array): Generator<{ readonly path: string; readonly content: Uint8Array | null }> {
  const field = (header: Uint8Array, from: number, length: number): string =>
    Buffer.from(header.subarray(from, from + length))
      .toString()
      .replace(/\0.*$/s, '')
  for (let at = 0; at + 512 <= tar.length; ) {
    const header = tar.subarray(at, at + 512)
    const [name, prefix] = [field(header, 0, 100), field(header, 345, 155)]
    if (name === '') return
    const size = Number.parseInt(field(header, 124, 12), 8) || 0
    const path = normalize(join(sep, prefix, name))
    yield { path, content: field(header, 156, 1) === '5' ? null : tar.subarray(at + 512, at + 512 + size) }
    at += 512 + Math.ceil(size / 512) * 512
  }
}
