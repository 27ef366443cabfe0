/**
 * Limits a data directory to one process, with a lock of the kernel on a SQLite file. The lock ends with its process in every case, so it
 * is never stale. It also works between containers, where a process id means nothing. A second file names the holder, for operators only.
 */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { DomainError } from '../../../domain/errors.ts'

/** A lock that is garbage-collected would be released. */
const held = new Set<DatabaseSync>()

/** Locks the directory, or throws CONFLICT with the name of the holder. The result releases the lock. */
export function lockDirectory(directory: string): () => void {
  mkdirSync(directory, { recursive: true })
  const named = join(directory, 'rollcall.pid')
  const lock = new DatabaseSync(join(directory, 'rollcall.lock'), { timeout: 0 })
  try {
    // A journal would be another file, and nothing is written.
    lock.exec('pragma journal_mode = memory; begin exclusive')
  } catch (error) {
    lock.close()
    if (!isBusy(error)) throw error
    throw new DomainError(
      'CONFLICT',
      `the data directory ${directory} is in use by ${holderIn(named)}: stop it, or set DATA_DIR to another one`,
      { cause: error },
    )
  }
  held.add(lock)
  writeFileSync(named, JSON.stringify({ pid: process.pid, host: hostname(), since: new Date().toISOString() }))
  return () => {
    if (!held.delete(lock)) return
    lock.close()
  }
}

function isBusy(error: unknown): boolean {
  const busy = 5
  return error instanceof Error && 'errcode' in error && error.errcode === busy
}

function holderIn(file: string): string {
  try {
    const { pid, host, since } = JSON.parse(readFileSync(file, 'utf8'))
    return `process ${pid} on ${host} since ${since}`
  } catch {
    return 'another process'
  }
}
