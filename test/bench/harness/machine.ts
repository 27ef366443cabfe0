/** What the numbers were measured on: printed above them, as without it they say nothing. */
import { execFileSync } from 'node:child_process'
import { cpus, loadavg, release, totalmem } from 'node:os'

export interface Machine {
  readonly cpu: string
  readonly cores: number
  readonly memory: string
  readonly kernel: string
  readonly node: string
  readonly commit: string
  /** Before the first benchmark: what else was running. */
  readonly load: string
  readonly at: string
}

export function describeMachine(): Machine {
  const cores = cpus()
  return {
    cpu: cores[0]?.model.trim() ?? 'unknown',
    cores: cores.length,
    memory: `${Math.round(totalmem() / 2 ** 30)} GiB`,
    kernel: release(),
    node: process.version,
    commit: commit(),
    load: loadavg()
      .map((load) => load.toFixed(2))
      .join(' '),
    at: new Date().toISOString(),
  }
}

function commit(): string {
  try {
    const git = (...args: string[]): string =>
      execFileSync('git', args, {
        cwd: import.meta.dirname,
        encoding: 'utf8',
        stdio: ['ignore', 'pipe', 'ignore'],
      }).trim()
    return `${git('rev-parse', '--short=12', 'HEAD')}${git('status', '--porcelain', '--', '../../../src') ? ' with uncommitted changes' : ''}`
  } catch {
    return 'unknown'
  }
}
