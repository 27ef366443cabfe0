/**
 * Copies the files of an embedded database while it works, as pg_basebackup does. The copies of its tables may be of different moments, or be torn. The
 * write-ahead log from before the first copy until after the last makes them one state again, when the copy is opened. A slot keeps that log.
 *
 * Rejected: a copy while nothing is written, because reports would wait for it; and a dump, because it needs the only connection until its end.
 *
 *   zstd ( tar ( rollcall-backup, pgdata/…, rollcall-complete ) )
 */
import { readFileSync } from 'node:fs'
import { open, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { pipeline, Readable } from 'node:stream'
import { constants, createZstdCompress } from 'node:zlib'
import { DomainError } from '../../../domain/errors.ts'
import type { Backup, LogHead } from '../../database.ts'
import { lost } from '../failure.ts'
import { headText } from '../log-head.ts'
import type { TurnConnection } from './mutex.ts'
import { tarEnd, tarHeader, tarPadding } from './tar.ts'

/** The first entry of the archive and the last one. */
export const [firstEntry, lastEntry] = ['rollcall-backup', 'rollcall-complete']

type InTurn = <T>(work: (connection: Pick<TurnConnection, 'number' | 'run'>) => Promise<T>) => Promise<T>

/** What PostgreSQL makes again at its start, and the log, of which only a part belongs to the copy. */
const leftOut =
  /^(postmaster\.|backup_label|pg_(wal|replslot|dynshmem|notify|serial|snapshots|stat_tmp|subtrans)\/|global\/pg_control$)|(^|\/)(pgsql_tmp|pg_internal\.init)/

const dropSlot = `select pg_drop_replication_slot(slot_name) from pg_replication_slots where slot_name = 'rollcall_backup'`

/** What has to be copied after everything else. */
interface LastFiles {
  readonly label: Buffer
  readonly control: Buffer
  /** Names of files of the write-ahead log. */
  readonly log: readonly string[]
}

/** `home`: the folder of the database. */
export function createBackups(home: string, inTurn: InTurn): () => Promise<Backup> {
  let isRunning = false

  async function begin(): Promise<Backup> {
    const { number, head } = await inTurn(async ({ number, run }) => {
      await run(dropSlot)
      await run(`select pg_create_physical_replication_slot('rollcall_backup', true, true)`)
      const [head] = await run<LogHead>(headText)
      await run(`select pg_backup_start('rollcall', true)`)
      return { number, head }
    })
    let isCopying = true

    /** The copy is of one run of PostgreSQL: another one knows of no copy. */
    const inSameRun: InTurn = (work) =>
      inTurn((connection) => (connection.number === number ? work(connection) : Promise.reject(lost())))

    async function finish(): Promise<LastFiles> {
      const [{ label, last } = { label: '', last: '' }, control] = await inSameRun(async ({ run }) => {
        isCopying = false
        const [stopped] = await run<{ label: string; last: string }>(
          'select labelfile as label, pg_walfile_name(lsn) as last from pg_backup_stop(false)',
        )
        // Nothing writes it during this turn.
        return [stopped, readFileSync(join(home, 'global/pg_control'))] as const
      })
      const [, first = ''] = /\(file ([0-9A-F]{24})\)/.exec(label) ?? []
      const names = await readdir(join(home, 'pg_wal'))
      const log = names.filter((name) => /^[0-9A-F]{24}$/.test(name) && name >= first && name <= last).toSorted()
      return { label: Buffer.from(label), control, log }
    }

    const bytes = pipeline(
      Readable.from(archiveOf(home, finish)),
      createZstdCompress({ params: { [constants.ZSTD_c_checksumFlag]: 1 } }),
      () => undefined,
    )
    return {
      revision: head?.revision ?? 0,
      bytes,
      async close() {
        bytes.destroy()
        await inSameRun(async ({ run }) => {
          if (isCopying) await run('select pg_backup_stop(false)')
          isCopying = false
          await run(dropSlot)
        }).catch(() => undefined)
        isRunning = false
      },
    }
  }

  return async () => {
    if (isRunning) throw new DomainError('CONFLICT', 'another backup is being made: try again when it has ended')
    isRunning = true
    return await begin().catch((error: unknown) => {
      isRunning = false
      throw error
    })
  }
}

async function* archiveOf(home: string, finish: () => Promise<LastFiles>): AsyncGenerator<Buffer> {
  yield* entry(firstEntry, Buffer.from('1\n'))
  yield tarHeader('pgdata/', null)
  for (const found of await readdir(home, { recursive: true, withFileTypes: true })) {
    const path = join(found.parentPath, found.name).slice(home.length + 1)
    if (leftOut.test(path)) continue
    if (found.isDirectory()) yield tarHeader(`pgdata/${path}/`, null)
    else yield* fileEntry(home, path)
  }
  const { label, control, log } = await finish()
  yield* entry('pgdata/backup_label', label)
  for (const name of log) yield* fileEntry(home, `pg_wal/${name}`)
  yield* entry('pgdata/global/pg_control', control)
  yield* entry(lastEntry, Buffer.from('1\n'))
  yield tarEnd
}

/** A file that PostgreSQL removes meanwhile is not needed, because the log has that too. */
async function* fileEntry(home: string, path: string): AsyncGenerator<Buffer> {
  const file = await open(join(home, path)).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return null
    throw error
  })
  if (!file) return
  try {
    const { size } = await file.stat()
    yield tarHeader(`pgdata/${path}`, size)
    for (let at = 0; at < size; ) {
      const { buffer, bytesRead } = await file.read({ buffer: Buffer.alloc(Math.min(size - at, 256 * 1024)) })
      // It has become shorter. The log says that, too.
      yield bytesRead > 0 ? buffer.subarray(0, bytesRead) : buffer
      at += bytesRead || buffer.length
    }
    yield tarPadding(size)
  } finally {
    await file.close()
  }
}

function* entry(path: string, content: Buffer): Generator<Buffer> {
  yield tarHeader(path, content.length)
  yield content
  yield tarPadding(content.length)
}
