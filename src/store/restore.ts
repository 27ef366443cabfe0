/**
 * Makes an embedded database of a backup. The database is opened, and begins a new epoch, before it gets its name: a restore that is killed leaves
 * nothing that a server would open.
 */
import { createReadStream, mkdirSync, readdirSync, rmSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { createZstdDecompress } from 'node:zlib'
import { DomainError } from '../domain/errors.ts'
import type { Revision } from '../domain/values.ts'
import { readClock } from './connection/clock.ts'
import { firstEntry, lastEntry } from './connection/embedded/backup.ts'
import { lockDirectory } from './connection/embedded/lock-file.ts'
import { renameSynced } from './connection/embedded/pglite-template.ts'
import { TarError, unpackTar } from './connection/embedded/tar.ts'
import { beginEpoch } from './connection/epoch.ts'
import { openDatabase } from './open.ts'
import { audit } from './read/counts/audit.ts'
import type { Drift } from './read/counts/drift.ts'

export interface Restored {
  /** The last one of the backup, and the base of the new epoch. */
  readonly revision: Revision
  readonly base: Revision
  readonly drift: readonly Drift[]
}

/** Throws CONFLICT if the directory is not empty, and INVALID_REQUEST if the file is no backup. */
export async function restoreBackup(file: string, dataDir: string): Promise<Restored> {
  const directory = resolve(dataDir)
  requireEmpty(directory)
  const unlock = lockDirectory(directory)
  const restoring = join(directory, 'restoring')
  try {
    // Another restore may have ended meanwhile.
    requireEmpty(directory)
    rmSync(restoring, { recursive: true, force: true })
    mkdirSync(restoring, { mode: 0o700 })
    await unpackBackup(file, restoring)
    const restored = await verify(restoring)
    renameSynced(join(restoring, 'pgdata'), join(directory, 'pgdata'))
    return restored
  } finally {
    rmSync(restoring, { recursive: true, force: true })
    unlock()
  }
}

/** What a lock and a restore that was killed leave behind is nothing. */
const passing = ['rollcall.lock', 'rollcall.pid', 'restoring']

function requireEmpty(directory: string): void {
  mkdirSync(directory, { recursive: true })
  if (readdirSync(directory).every((name) => passing.includes(name))) return
  throw new DomainError(
    'CONFLICT',
    `the data directory ${directory} is not empty: set DATA_DIR to an empty one, or move its content away`,
  )
}

async function unpackBackup(file: string, folder: string): Promise<void> {
  const source = createReadStream(file)
  const damaged = (cause: Error): never => {
    const { code, message } = cause as NodeJS.ErrnoException
    if (cause instanceof DomainError || !(cause instanceof TarError || /^(ZSTD_|Z_|ERR_)/.test(code ?? ''))) throw cause
    const reason = isFirst ? 'is not a backup of Rollcall' : `is damaged or incomplete (${message})`
    throw new DomainError('INVALID_REQUEST', `${file} ${reason}: nothing was restored`, { cause })
  }
  let isFirst = true
  let last = ''
  const accept = (path: string): void => {
    if (isFirst && path !== firstEntry) throw new TarError('it begins otherwise')
    isFirst = false
    last = path
  }
  try {
    const bytes = source.on('error', (error) => bytes.destroy(error)).pipe(createZstdDecompress())
    await unpackTar(bytes, folder, accept)
    if (last !== lastEntry) throw new TarError('it ends too early')
  } catch (error) {
    damaged(error as Error)
  } finally {
    source.destroy()
  }
}

/** Recovers the database from its log, counts everything again, and begins an epoch: no server can detect this copy. */
async function verify(folder: string): Promise<Restored> {
  const database = await openDatabase({ url: null, dataDir: folder })
  try {
    const snapshot = await database.snapshot()
    const { drift, revision } = await audit(snapshot)
      .then(async (drift) => ({ drift, revision: (await snapshot.head).revision }))
      .finally(() => snapshot.close())
    const base = await database.transaction(async (session) =>
      beginEpoch(session, await readClock(session), { timeFromClock: true }),
    )
    return { revision, base: base ?? revision, drift }
  } finally {
    await database.close()
  }
}
