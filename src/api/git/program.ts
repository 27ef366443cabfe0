/** Runs Git without a shell and without a user's configuration. A process ends when its caller ends, or earlier. */
import { type ChildProcessByStdio, spawn } from 'node:child_process'
import { once } from 'node:events'
import type { Readable, Writable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { DomainError } from '../../domain/errors.ts'

export interface GitProgram {
  readonly version: string
  /** `directory`: the repository, and the working directory of the process. */
  run(command: readonly string[], options: RunOptions): Run
  /** Ends all running processes. */
  close(): Promise<void>
}

export interface RunOptions {
  readonly directory: string
  /** The version of the wire protocol that the client asked for. */
  readonly protocol?: Protocol
  /** Aborting ends the process. */
  readonly signal: AbortSignal
}

export type Protocol = 0 | 1 | 2

export interface Run {
  readonly input: Writable
  readonly output: Readable
  /** Rejects with GitFailed, or with the reason of the aborted signal. */
  readonly ended: Promise<void>
}

/** Git failed. Its message is for the log only: it may name paths of this machine. */
export class GitFailed extends Error {}

interface ProgramConfig {
  readonly program: string
  /** The search path for programs. Empty: the default path. */
  readonly path: string
}

/** -c overrides configuration files, and sets options that Git does not accept from a repository. */
const settings = {
  'safe.directory': '*',
  'core.hooksPath': '/dev/null',
  // A repository can be recreated, so no fsync is needed.
  'core.fsync': 'none',
  'gc.auto': '0',
  'fastimport.unpackLimit': '1',
  'pack.threads': '1',
}

/** Limit for Git's error output, in characters. */
const longestComplaint = 500

/** Null: Git is not installed. */
export async function findGit({ program, path }: ProgramConfig): Promise<GitProgram | null> {
  const environment = {
    ...(path === '' ? {} : { PATH: path }),
    LC_ALL: 'C',
    GIT_CONFIG_NOSYSTEM: '1',
    GIT_CONFIG_GLOBAL: '/dev/null',
    GIT_ATTR_NOSYSTEM: '1',
    GIT_TERMINAL_PROMPT: '0',
    GIT_NO_REPLACE_OBJECTS: '1',
  }
  const version = await askVersion(program, environment)
  if (version === null) return null
  const running = new Set<Running>()
  const given = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])

  return {
    version,
    run(command, { directory, protocol = 0, signal }) {
      signal.throwIfAborted()
      const child = spawn(program, [...given, ...command], {
        cwd: directory,
        // Git's error output must not contain a path of this machine.
        env: {
          ...environment,
          HOME: directory,
          GIT_DIR: '.',
          ...(protocol && { GIT_PROTOCOL: `version=${protocol}` }),
        },
        stdio: ['pipe', 'pipe', 'pipe'],
        // Git starts child processes. They end together, as a group.
        detached: true,
      })
      const run = follow(child, signal)
      running.add(run)
      const forget = () => void running.delete(run)
      run.ended.then(forget, forget)
      return run
    },
    async close() {
      for (const { kill } of running) kill()
      await Promise.allSettled([...running].map(({ ended }) => ended))
    },
  }
}

interface Running extends Run {
  kill(): void
}

function follow(child: ChildProcessByStdio<Writable, Readable, Readable>, signal: AbortSignal): Running {
  // Receives the error of a process that could not be started. Without file descriptors there are no streams either.
  const closing = once(child, 'close')
  closing.catch(() => undefined)
  if (!child.stdin) throw new DomainError('UNAVAILABLE', 'git cannot be started now: try again later')
  let isOver = child.pid === undefined
  const kill = (): void => {
    try {
      if (!isOver) process.kill(-(child.pid as number), 'SIGKILL')
    } catch {
      // The process has already ended.
    }
  }
  let complaint = ''
  child.stderr.setEncoding('utf8').on('data', (chunk: string) => {
    complaint = (complaint + chunk).slice(0, longestComplaint)
  })
  // A process that ends early does not read its input. Its exit code says why it ended.
  child.stdin.on('error', () => undefined)
  child.stdout.on('error', () => undefined)
  signal.addEventListener('abort', kill, { once: true })
  const ended = closing
    .then(([code, by]: (number | string | null)[]) => {
      signal.throwIfAborted()
      if (code !== 0) throw new GitFailed(`git ended with ${code ?? by}: ${complaint.trim()}`)
    })
    .finally(() => {
      isOver = true
      signal.removeEventListener('abort', kill)
    })
  ended.catch(() => undefined)
  return { input: child.stdin, output: child.stdout, ended, kill }
}

async function askVersion(program: string, env: Readonly<Record<string, string>>): Promise<string | null> {
  const child = spawn(program, ['--version'], { env, stdio: ['ignore', 'pipe', 'ignore'], timeout: 10_000 })
  try {
    const [said] = await Promise.all([text(child.stdout), once(child, 'close')])
    const [, version = null] = /^git version (\S+)/.exec(said) ?? []
    return version
  } catch {
    return null
  }
}
