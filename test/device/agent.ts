/** A device in each language: a process that queues what a test writes to it, says what happens, and can be killed. */
import { type ChildProcessWithoutNullStreams, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { promisify } from 'node:util'
import { expect, onTestFinished } from 'vitest'
import { root } from '../support/documentation.ts'
import { hasCompiler, hasPython } from '../support/runner/programs.ts'

export interface Language {
  readonly name: string
  readonly isThere: boolean
  /** The command, without the arguments of the agent. */
  command(): Promise<readonly string[]>
}

const { PATH = '' } = process.env
const run = promisify(execFile)
const examples = join(root, 'examples')
const beside = (name: string): string => join(import.meta.dirname, name)

export const languages: readonly Language[] = [
  { name: 'TypeScript', isThere: true, command: async () => [process.execPath, beside('agent.mjs')] },
  {
    name: 'Python',
    isThere: hasPython(),
    command: async () => ['python3', beside('agent.py'), examples],
  },
  { name: 'C', isThere: hasCompiler(), command: async () => [await compileOnce()] },
]

let compiled: Promise<string> | undefined

function compileOnce(): Promise<string> {
  compiled ??= compile()
  return compiled
}

/** In a folder that ends with this process. */
async function compile(): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'rollcall-device-'))
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }))
  const program = join(folder, 'agent')
  const checks = ['-Wall', '-Wextra', '-Wno-unused-parameter', '-Werror', '-fsanitize=address,undefined']
  await run('cc', [...checks, '-pthread', '-I', examples, beside('agent.c'), '-o', program, '-lcurl'])
  return program
}

export interface Agent {
  readonly process: ChildProcessWithoutNullStreams
  readonly lines: readonly string[]
  write(...lines: readonly string[]): void
  /** Waits for one more line that matches. */
  said(pattern: RegExp): Promise<string>
  /** Waits for the answer to a command. */
  ask(command: string): Promise<string>
  kill(): Promise<void>
}

export interface AgentOptions {
  readonly url: string
  readonly folder: string
  readonly maxBytes?: number
}

export async function startAgent(
  language: Language,
  { url, folder, maxBytes = 1 << 20 }: AgentOptions,
): Promise<Agent> {
  const [program = '', ...args] = await language.command()
  const child = spawn(program, [...args, url, folder, String(maxBytes)], {
    env: { PATH, PYTHONDONTWRITEBYTECODE: '1' },
  })
  const lines: string[] = []
  for (const stream of [child.stdout, child.stderr])
    createInterface({ input: stream }).on('line', (line) => lines.push(line))
  // It may have been killed before it reads.
  child.stdin.on('error', () => undefined)
  const ended = once(child, 'close')
  async function kill(): Promise<void> {
    child.kill('SIGKILL')
    await ended
  }
  onTestFinished(kill)
  let read = 0
  async function said(pattern: RegExp): Promise<string> {
    const next = () => lines.findIndex((line, index) => index >= read && pattern.test(line))
    await expect.poll(next, { interval: 5, message: `it has not said ${pattern}: ${lines}` }).toBeGreaterThanOrEqual(0)
    read = next() + 1
    return lines[read - 1] ?? ''
  }
  const write: Agent['write'] = (...more) => void child.stdin.write(more.map((line) => `${line}\n`).join(''))
  return {
    process: child,
    lines,
    write,
    said,
    ask(command) {
      write(command)
      return said(command === 'idle' ? /^idle$/ : /^(pending|queued|refused) /)
    },
    kill,
  }
}

/** Each differs from the one before, so each is a change. */
export function reportOf(message: string, deploymentId = 'pump/1', state = 'failed'): string {
  const body = { status: { state, error: { code: '1', message } }, components: [] }
  // An agent reads lines.
  return `${encodeURIComponent(deploymentId)} ${JSON.stringify(body).replaceAll('\u2028', '\\u2028')}`
}
