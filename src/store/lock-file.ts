/**
 * One process a data directory. The lock outlives `kill -9`, so it names its holder in a way that a reused process id cannot
 * imitate: process id, when that process started, and the boot it started in.
 */
import { linkSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DomainError } from '../domain/errors.ts'

interface Holder {
  readonly pid: number
  readonly started: string
  readonly boot: string
}

/** Takes the directory, or throws CONFLICT naming who has it. The answer gives it back. */
export function lockDirectory(directory: string): () => void {
  const file = join(directory, 'rollcall.lock')
  const mine = `${file}.${process.pid}`
  const me: Holder = { pid: process.pid, started: startOf(process.pid) ?? '', boot: bootId() }
  writeFileSync(mine, JSON.stringify(me))
  try {
    for (let tries = 0; ; tries += 1) {
      // Linking fails when the name exists: of several that try, one succeeds.
      if (link(mine, file)) return () => rmSync(file, { force: true })
      const holder = readHolder(file)
      if (tries >= 10 || (holder && isAlive(holder)))
        throw new DomainError(
          'CONFLICT',
          `the data directory ${directory} is in use by process ${holder?.pid ?? 'unknown'}: stop it, or set DATA_DIR to another one`,
        )
      // Its holder is dead. Renaming is how one of several takes the dead lock away, and only that one.
      if (holder) takeAway(file, holder)
    }
  } finally {
    rmSync(mine, { force: true })
  }
}

function takeAway(file: string, dead: Holder): void {
  const aside = `${file}.dead.${process.pid}`
  try {
    renameSync(file, aside)
  } catch {
    return
  }
  const taken = readHolder(aside)
  // Somebody was quicker and this is already their lock: give it back.
  if (taken && JSON.stringify(taken) !== JSON.stringify(dead)) link(aside, file)
  rmSync(aside, { force: true })
}

function link(from: string, to: string): boolean {
  try {
    linkSync(from, to)
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false
    throw error
  }
}

function readHolder(file: string): Holder | null {
  try {
    const { pid, started, boot } = JSON.parse(readFileSync(file, 'utf8'))
    return typeof pid === 'number' ? { pid, started: String(started), boot: String(boot) } : null
  } catch {
    return null
  }
}

function isAlive({ pid, started, boot }: Holder): boolean {
  if (boot !== bootId()) return false
  try {
    process.kill(pid, 0)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ESRCH') return false
  }
  const now = startOf(pid)
  return now === null || now === started
}

/** When the process started, in clock ticks since boot; null where the system does not say. */
function startOf(pid: number): string | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    // The second field is the command in parentheses, and may contain anything; the 22nd is what we want.
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19] ?? null
  } catch {
    return null
  }
}

function bootId(): string {
  try {
    return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()
  } catch {
    return ''
  }
}
