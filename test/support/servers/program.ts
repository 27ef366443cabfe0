/** The program as an operator starts it: a process of its own, with an environment and signals. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { builtProgram, childEnvironment } from './child.ts'

export interface Program {
  readonly child: ChildProcess
  /** Resolves with its address once it says where it listens; rejects when it ends before. */
  readonly listening: Promise<string>
  /** Its exit code, or the signal that ended it. */
  readonly ended: Promise<number | NodeJS.Signals>
  stdout(): string
  stderr(): string
  /** Ends it if it still runs. */
  dispose(): Promise<void>
}

/** `prefix`: before the command, so that it runs in another network, for instance. */
export function startProgram(env: Record<string, string>, prefix: readonly string[] = []): Program {
  const [command = '', ...args] = [...prefix, process.execPath, builtProgram('src/main.ts')]
  const child = spawn(command, args, {
    env: { ...childEnvironment(), PORT: '0', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let out = ''
  let err = ''
  child.stderr.setEncoding('utf8').on('data', (chunk: string) => {
    err += chunk
  })
  const ended = once(child, 'close').then(([code, signal]): number | NodeJS.Signals => code ?? signal)
  const listening = new Promise<string>((resolve, reject) => {
    child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
      out += chunk
      const [, url] = /listens on (\S+)\n/.exec(out) ?? []
      if (url) resolve(url)
    })
    ended.then((code) => reject(new Error(`it ended with ${code}: ${err}`)), reject)
  })
  listening.catch(() => {})
  return {
    child,
    listening,
    ended,
    stdout: () => out,
    stderr: () => err,
    async dispose() {
      if (child.exitCode === null && child.signalCode === null) child.kill('SIGKILL')
      await ended
    },
  }
}
