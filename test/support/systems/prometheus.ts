/** The Prometheus of deploy/monitoring as it is shipped: only its targets, its port and its intervals are others. */
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { root } from '../documentation.ts'

export interface Sample {
  readonly metric: Readonly<Record<string, string>>
  readonly value: number
}

export interface Prometheus {
  /** Throws what Prometheus has to say against the expression. */
  query(expression: string): Promise<readonly Sample[]>
  /** By name, whether it fires or not. */
  alerts(): Promise<ReadonlyMap<string, 'inactive' | 'pending' | 'firing'>>
  /** The labels of the exemplars of the last hour. */
  exemplars(expression: string): Promise<readonly Readonly<Record<string, string>>[]>
  dispose(): Promise<void>
}

export const monitoring = join(root, 'deploy/monitoring')

export function hasProgram(name: string): boolean {
  return spawnSync(name, ['--version'], { stdio: 'ignore' }).status === 0
}

/** `prometheus` for Rollcall at `target`, host and port. */
export async function startPrometheus(target: string, key: string): Promise<Prometheus> {
  const folder = mkdtempSync(join(tmpdir(), 'rollcall-prometheus-'))
  cpSync(monitoring, folder, { recursive: true })
  const shipped = readFileSync(join(folder, 'prometheus.yml'), 'utf8')
  const changes = [
    ['rollcall-1:4000, rollcall-2:4000', target],
    ['scrape_interval: 15s', 'scrape_interval: 1s'],
    ['evaluation_interval: 15s', 'evaluation_interval: 200ms'],
    ['alertmanager:9093', '127.0.0.1:9'],
  ] as const
  const configuration = changes.reduce((text, [from, to]) => {
    if (!text.includes(from)) throw new Error(`prometheus.yml has no ${from}`)
    return text.replace(from, to)
  }, shipped)
  writeFileSync(join(folder, 'prometheus.yml'), configuration)
  writeFileSync(join(folder, 'rollcall.key'), key)
  const child = spawn(
    'prometheus',
    [
      `--config.file=${join(folder, 'prometheus.yml')}`,
      `--storage.tsdb.path=${join(folder, 'data')}`,
      '--web.listen-address=127.0.0.1:0',
      '--log.format=json',
      '--enable-feature=exemplar-storage',
    ],
    { stdio: ['ignore', 'ignore', 'pipe'] },
  )
  const ended = once(child, 'close')
  async function dispose(): Promise<void> {
    child.kill('SIGTERM')
    await ended
    rmSync(folder, { recursive: true, force: true })
  }
  const said: string[] = []
  let address = ''
  let isReady = false
  for await (const line of createInterface({ input: child.stderr })) {
    said.push(line)
    address = /"address":"(127\.0\.0\.1:[1-9]\d*)"/.exec(line)?.[1] ?? address
    isReady ||= line.includes('Server is ready')
    if (isReady && address !== '') break
  }
  child.stderr.resume()
  if (address === '') {
    await dispose()
    throw new Error(`prometheus does not start:\n${said.join('\n')}`)
  }

  async function ask(path: string): Promise<unknown> {
    const answer = await fetch(`http://${address}/api/v1/${path}`)
    const { status, data, error } = (await answer.json()) as { status: string; data: unknown; error?: string }
    if (status !== 'success') throw new Error(error)
    return data
  }

  return {
    dispose,
    async query(expression) {
      const data = (await ask(`query?query=${encodeURIComponent(expression)}`)) as {
        result: { metric: Record<string, string>; value: [number, string] }[]
      }
      return data.result.map(({ metric, value }) => ({ metric, value: Number(value[1]) }))
    },
    async exemplars(expression) {
      const [end, query] = [Math.ceil(Date.now() / 1_000), encodeURIComponent(expression)]
      const found = (await ask(`query_exemplars?query=${query}&start=${end - 3_600}&end=${end + 1}`)) as {
        exemplars: { labels: Record<string, string> }[]
      }[]
      return found.flatMap(({ exemplars }) => exemplars.map(({ labels }) => labels))
    },
    async alerts() {
      const { groups } = (await ask('rules?type=alert')) as {
        groups: { rules: { name: string; state: 'inactive' | 'pending' | 'firing' }[] }[]
      }
      return new Map(groups.flatMap(({ rules }) => rules.map(({ name, state }) => [name, state])))
    },
  }
}
