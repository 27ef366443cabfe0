/** The server under attack: the program itself, in a process of its own, so that its end and its stalls are seen from outside. */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Report, Stall, Vitals } from './monitor.ts'

const root = join(import.meta.dirname, '../../..')

export interface Target {
  readonly url: string
  readonly pid: number
  /** Null while it lives; afterwards how it ended, with its last words. */
  end(): string | null
  /** `collect`: after collecting garbage. `live`: the same in less time, but some of the garbage may stay. */
  vitals(question?: 'tell' | 'collect' | 'live'): Promise<Vitals>
  /** What it logged as an error. */
  errors(): readonly string[]
  stop(): Promise<void>
}

export async function startTarget(
  env: Readonly<Record<string, string>>,
  onStall: (stall: Stall) => void,
  /** Gets each line of its log. */
  onLine: (line: string) => void = () => {},
): Promise<Target> {
  const { PATH = '', HOME = '' } = process.env
  const child = fork(join(root, 'src/main.ts'), {
    cwd: root,
    env: { PATH, HOME, PORT: '0', LOG_LEVEL: 'error', GIT: 'off', ...env },
    execArgv: ['--expose-gc', '--import', join(import.meta.dirname, 'monitor.ts')],
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  })
  const errors: string[] = []
  let last = ''
  let ended: string | null = null
  const waiting: ((vitals: Vitals) => void)[] = []
  child.on('message', (report: Report) => (report.kind === 'stall' ? onStall(report) : waiting.shift()?.(report)))
  if (child.stderr)
    createInterface({ input: child.stderr }).on('line', (line) => {
      last = `${last}${line}\n`.slice(-4_000)
      if (errors.length < 100) errors.push(line.slice(0, 2_000))
      onLine(line)
    })
  const gone = once(child, 'close').then(([code, signal]) => {
    ended = `it ended with ${code ?? signal}: ${last}`
  })
  const lost = gone.then(() => Promise.reject(new Error(ended ?? 'it ended')))
  lost.catch(() => undefined)
  const url = await Promise.race([
    lost,
    new Promise<string>((resolve) => {
      let out = ''
      child.stdout?.setEncoding('utf8').on('data', (text: string) => {
        out += text
        const [, address] = /listens on (\S+)\n/.exec(out) ?? []
        if (address) resolve(address)
      })
    }),
  ])
  return {
    url,
    pid: child.pid ?? 0,
    end: () => ended,
    vitals(question = 'tell') {
      const answer = new Promise<Vitals>((resolve) => waiting.push(resolve))
      child.send(question)
      return Promise.race([answer, lost])
    },
    errors: () => errors,
    async stop() {
      child.kill('SIGTERM')
      await gone
    },
  }
}
