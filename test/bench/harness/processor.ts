/** Processor time and memory of other processes, from /proc: the same for ours, the floors and the peers. */
import { readdirSync, readFileSync } from 'node:fs'

/** Linux counts in hundredths of a second everywhere that Node runs. */
const ticksPerSecond = 100

/** Seconds of processor time, all threads together. */
export function processorTime(pid: number): number {
  const { user, system } = stat(pid)
  return (user + system) / ticksPerSecond
}

/** The same of a process with all that it has started, the ended ones included. */
export function familyTime(pid: number): number {
  const own = stat(pid)
  const children = readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map((name) => statOrNull(Number(name)))
    .filter((child) => child?.parent === pid)
  const ticks = children.reduce((sum, child) => sum + (child?.user ?? 0) + (child?.system ?? 0), 0)
  return (own.user + own.system + own.endedChildren + ticks) / ticksPerSecond
}

/** Bytes that are in memory. */
export function residentSize(pid: number): number {
  const [, kilobytes = '0'] = /^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? []
  return Number(kilobytes) * 1024
}

interface Stat {
  readonly parent: number
  readonly user: number
  readonly system: number
  readonly endedChildren: number
}

function stat(pid: number): Stat {
  const text = readFileSync(`/proc/${pid}/stat`, 'latin1')
  // The name, in parentheses, may hold anything; proc(5) counts from there.
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
  const field = (number: number): number => Number(fields[number - 3])
  return { parent: field(4), user: field(14), system: field(15), endedChildren: field(16) + field(17) }
}

function statOrNull(pid: number): Stat | null {
  try {
    return stat(pid)
  } catch {
    return null
  }
}
