/** A script in a process of its own, line by line: what it says can be awaited, and it can be killed like any process. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { onTestFinished } from 'vitest'

export interface Child {
  readonly process: ChildProcess
  readonly lines: readonly string[]
  /** Resolves with the first line, said already or still to come, that matches; rejects when it ends without. */
  said(pattern: RegExp): Promise<string>
  /** Its exit code, or the signal that ended it; all its lines have been read by then. */
  readonly ended: Promise<number | NodeJS.Signals>
}

const root = new URL('../../../', import.meta.url)

/** The file of the package (runner/built.ts) that does what this program of src does. Any other is returned as it is. */
export function builtProgram(file: string): string {
  const { ROLLCALL_BUILT } = process.env
  const name = { 'src/main.ts': 'main.js', 'src/bin.ts': 'bin.js', 'src/apps/cli/rollcall.ts': 'bin.js' }[file]
  return ROLLCALL_BUILT && name ? join(ROLLCALL_BUILT, 'dist', name) : file
}

/** What a process started by a test has of this one's environment. */
export function childEnvironment(): Record<string, string> {
  const { PATH = '', HOME = '', NODE_COMPILE_CACHE } = process.env
  const NODE_OPTIONS = `--import=${new URL('../runner/quick-start.mjs', import.meta.url)}`
  return { PATH, HOME, NODE_OPTIONS, ...(NODE_COMPILE_CACHE && { NODE_COMPILE_CACHE }) }
}

/** `script` is JavaScript, with paths as from the project's folder: await import('./src/…'). Ends with the test. */
export function startChild(script: string, env: Readonly<Record<string, string>> = {}): Child {
  return startNode(['-e', script], env)
}

/**
 * A program of src that is the first argument runs as the package has it. `program`: the Node.js that runs it. `cwd`: its folder; absent, the
 * project's.
 */
export function startNode(
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
  program = process.execPath,
  cwd: string | URL = root,
): Child {
  const [file = '', ...more] = args
  const child = spawn(program, [cwd === root ? builtProgram(file) : file, ...more], {
    cwd,
    // Another Node.js may not have the hooks.
    env: { ...childEnvironment(), ...(program === process.execPath ? {} : { NODE_OPTIONS: '' }), ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const lines: string[] = []
  let waiting: { pattern: RegExp; resolve: (line: string) => void; reject: (error: Error) => void }[] = []
  for (const stream of [child.stdout, child.stderr])
    createInterface({ input: stream }).on('line', (line) => {
      lines.push(line)
      for (const { resolve } of waiting.filter(({ pattern }) => pattern.test(line))) resolve(line)
      waiting = waiting.filter(({ pattern }) => !pattern.test(line))
    })
  const ended = once(child, 'close').then(([code, signal]): number | NodeJS.Signals => {
    for (const { pattern, reject } of waiting)
      reject(new Error(`it ended with ${code ?? signal} and never said ${pattern}:\n${lines.join('\n')}`))
    return code ?? signal
  })
  onTestFinished(async () => {
    if (child.exitCode === null && child.signalCode === null) child.kill('SIGKILL')
    await ended
  })
  return {
    process: child,
    lines,
    ended,
    said: (pattern) =>
      new Promise((resolve, reject) => {
        const said = lines.find((line) => pattern.test(line))
        if (said === undefined) waiting.push({ pattern, resolve, reject })
        else resolve(said)
      }),
  }
}
