/** Programs under test as processes of their own: started, waited for, measured, ended. Each prints `… listens on <url>`. */
import { type ChildProcess, spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { processorTime, residentSize } from './processor.ts'

export interface Program {
  readonly url: string
  readonly port: number
  readonly pid: number
  /** Seconds of processor time so far. */
  cpu(): number
  /** Bytes in memory. */
  memory(): number
  stop(): Promise<void>
}

export interface ProgramOptions {
  /** Relative to the repository's root. */
  readonly script: string
  readonly env?: Readonly<Record<string, string>>
  readonly nodeOptions?: readonly string[]
  /** The checkout that has the script. Absent: this one. */
  readonly checkout?: string
}

const root = join(import.meta.dirname, '../../..')
const patience = 60_000
const running = new Set<ChildProcess>()

// Whatever ends this process, nothing that it started stays behind.
process.on('exit', () => {
  for (const child of running) child.kill('SIGKILL')
})

/** Where `--profile` wants the profiles of the server under test; null: none. */
let profiles: string | null = null

export function profileInto(folder: string): void {
  profiles = folder
}

/** With Node's options of `npm start`. `script`: of the checkout, or of the package. */
export function startRollcall(
  env: Readonly<Record<string, string>>,
  checkout = root,
  script = 'src/main.ts',
): Promise<Program> {
  const { scripts } = JSON.parse(readFileSync(join(checkout, 'package.json'), 'utf8')) as { scripts: { start: string } }
  const started = scripts.start.split(' ').filter((part) => part.startsWith('--'))
  const nodeOptions = [...started, ...(profiles ? ['--cpu-prof', `--cpu-prof-dir=${profiles}`] : [])]
  return startProgram({ script, env: { LOG_LEVEL: 'warn', ...env }, nodeOptions, checkout })
}

export async function startProgram({
  script,
  env = {},
  nodeOptions = [],
  checkout = root,
}: ProgramOptions): Promise<Program> {
  const child = spawn(process.execPath, [...nodeOptions, script], {
    cwd: checkout,
    env: { PATH: process.env.PATH ?? '', NODE_ENV: 'production', HOST: '127.0.0.1', PORT: '0', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  running.add(child)
  child.once('exit', () => running.delete(child))
  const url = await ready(child, script)
  const { pid = 0 } = child
  return {
    url,
    port: Number(new URL(url).port),
    pid,
    cpu: () => processorTime(pid),
    memory: () => residentSize(pid),
    stop: () => stop(child),
  }
}

/** Whatever is still running, after something went wrong. */
export async function stopPrograms(): Promise<void> {
  await Promise.all([...running].map(stop))
}

function ready(child: ChildProcess, script: string): Promise<string> {
  return new Promise((resolve, reject) => {
    let said = ''
    const timer = setTimeout(() => reject(new Error(`${script} was not ready in time: ${said}`)), patience)
    child.once('exit', (code) => reject(new Error(`${script} ended with ${code}: ${said}`)))
    const hear = (chunk: Buffer): void => {
      said = (said + chunk).slice(-4_000)
      const [, url] = /listens on (https?:\S+)/.exec(said) ?? []
      if (!url) return
      clearTimeout(timer)
      resolve(url)
    }
    child.stdout?.on('data', hear)
    child.stderr?.on('data', (chunk: Buffer) => {
      hear(chunk)
      process.stderr.write(chunk)
    })
  })
}

function stop(child: ChildProcess): Promise<void> {
  return new Promise((resolve) => {
    if (child.exitCode !== null || child.signalCode !== null) return resolve()
    const timer = setTimeout(() => child.kill('SIGKILL'), 15_000)
    child.once('exit', () => {
      clearTimeout(timer)
      resolve()
    })
    child.kill('SIGTERM')
  })
}
