import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, statfsSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** Bytes that must be free in memory. */
const roomy = 4 * 2 ** 30

/** Where temporary folders go: to memory, where there is enough and programs may run. A database is 1,000 files, and most tests make one. */
export function fastFolder(): string {
  const memory = '/dev/shm'
  try {
    const { bavail, bsize } = statfsSync(memory)
    return bavail * bsize > roomy && mayRun(memory) ? memory : tmpdir()
  } catch {
    return tmpdir()
  }
}

function mayRun(parent: string): boolean {
  const folder = mkdtempSync(join(parent, 'rollcall-try-'))
  try {
    const program = join(folder, 'program')
    writeFileSync(program, '#!/bin/sh\n', { mode: 0o700 })
    execFileSync(program)
    return true
  } catch {
    return false
  } finally {
    rmSync(folder, { recursive: true })
  }
}
