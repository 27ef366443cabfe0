// @ts-check
/**
 * All that an installation runs of this project (package.json, `dependencies`). It imports no module of the server, and is JavaScript: what
 * runs on the machine of a user who installs it can be read in this one file, and runs on the Node that is there before ours is.
 *
 * Initialising PGlite's directory takes seconds, taking a copy of one that is ready a fraction of one. So a copy, with this version's
 * tables, is kept beside the modules: installing makes it, and if that could not be, the first boot does. All copies are the same
 * cluster to PostgreSQL; the first revision, which is the clock's, is what tells their logs apart.
 */
import { createHash, randomUUID } from 'node:crypto'
import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import * as zlib from 'node:zlib'

// The package has it as dist/make-template.js, and its build makes the copy: an installation of the package runs nothing.
const isPackage = !import.meta.filename.endsWith('.mjs')
const root = join(import.meta.dirname, isPackage ? '..' : '../../../..')
const cache = join(root, isPackage ? 'dist/database' : 'node_modules/.cache/rollcall')

/** Makes it unless it is there. An older Node, which cannot run the server either, has no zstd: the first boot makes it. */
export async function install() {
  if ('zstdCompressSync' in zlib) await readyTemplate()
}

/** @returns {Promise<Uint8Array>} a migrated directory as a tar, compressed with zstd: 2.6 MB of 28. */
export async function readyTemplate() {
  const migrations = readMigrations()
  const name = templateName(migrations)
  try {
    return readFileSync(join(cache, name))
  } catch {
    const template = zlib.zstdCompressSync(await makeTemplate(migrations))
    keep(name, template)
    return template
  }
}

/** @typedef {{ readonly tag: string, readonly text: string }} Migration */

/** @returns {readonly Migration[]} in the journal's order. */
function readMigrations() {
  const folder = join(root, 'drizzle')
  /** @type {{ entries: { tag: string }[] }} */
  const { entries } = JSON.parse(readFileSync(join(folder, 'meta/_journal.json'), 'utf8'))
  return entries.map(({ tag }) => ({ tag, text: readFileSync(join(folder, `${tag}.sql`), 'utf8') }))
}

/**
 * As migrate.ts does it, which finds nothing left to do.
 * @param {readonly Migration[]} migrations
 */
async function makeTemplate(migrations) {
  const { PGlite, MemoryFS } = await import('@electric-sql/pglite')
  const files = new MemoryFS()
  /** @type {Blob[]} */
  const packed = []
  // After PostgreSQL has ended in order: a copy of a running one would begin with a recovery, which syncs each file.
  files.closeFs = async () => {
    packed.push(await files.dumpTar('pgdata', 'none'))
  }
  const database = await PGlite.create({ fs: files })
  try {
    await database.transaction(async (session) => {
      await session.exec(
        'create table if not exists migrations (tag text primary key, applied_at timestamptz not null default now())',
      )
      for (const { tag, text } of migrations) {
        for (const statement of text.split('--> statement-breakpoint')) await session.exec(statement)
        await session.query('insert into migrations (tag) values ($1)', [tag])
      }
    })
    // Half of all files are of databases that only CREATE DATABASE needs. Each file is written and synced at the first start, and synced at each later one.
    await database.exec('update pg_database set datistemplate = false')
    for (const name of ['template0', 'template1']) await database.exec(`drop database ${name}`)
  } finally {
    await database.close()
  }
  return new Uint8Array(await new Blob(packed).arrayBuffer())
}

/**
 * An installation that cannot be written to boots more slowly, and works.
 * @param {string} name
 * @param {Uint8Array} template
 */
function keep(name, template) {
  try {
    mkdirSync(cache, { recursive: true })
    const mine = join(cache, `${name}.${randomUUID()}`)
    writeFileSync(mine, template)
    renameSync(mine, join(cache, name))
    for (const file of readdirSync(cache)) if (!file.startsWith(name)) rmSync(join(cache, file), { force: true })
  } catch {}
}

/**
 * Another PGlite, other migrations or another way of making it need another one.
 * @param {readonly Migration[]} migrations
 */
function templateName(migrations) {
  const main = createRequire(import.meta.url).resolve('@electric-sql/pglite')
  const { version } = JSON.parse(readFileSync(join(main, '../../package.json'), 'utf8'))
  const hash = createHash('sha256')
    .update(JSON.stringify(migrations))
    .update(readFileSync(import.meta.filename))
  return `pglite-${version}-${hash.digest('hex').slice(0, 16)}.tar.zst`
}
