/** Debian's prometheus-alertmanager on loopback. It notifies a webhook at once, and keeps its folder over a restart. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'

export interface Alertmanager {
  readonly url: string
  /** `alertname rollout` of the alerts that fire. */
  firing(): Promise<readonly string[]>
  stop(signal: 'SIGKILL' | 'SIGTERM'): Promise<void>
  /** On the same port. */
  restart(): Promise<void>
  dispose(): Promise<void>
}

export async function startAlertmanager(webhook: string): Promise<Alertmanager> {
  const folder = mkdtempSync(join(tmpdir(), 'rollcall-alertmanager-'))
  writeFileSync(
    join(folder, 'alertmanager.yml'),
    `route: { receiver: test, group_by: ['...'], group_wait: 0s, group_interval: 1s, repeat_interval: 1h }
receivers: [{ name: test, webhook_configs: [{ url: '${webhook}', send_resolved: true }] }]
`,
  )
  let address = '127.0.0.1:0'
  let child = await start()

  async function start() {
    const program = spawn(
      'prometheus-alertmanager',
      [
        `--config.file=${join(folder, 'alertmanager.yml')}`,
        `--storage.path=${join(folder, 'data')}`,
        `--web.listen-address=${address}`,
        '--cluster.listen-address=',
      ],
      { stdio: ['ignore', 'ignore', 'pipe'] },
    )
    const said: string[] = []
    let isListening = false
    for await (const line of createInterface({ input: program.stderr })) {
      said.push(line)
      const [, found] = /[Ll]istening.*?address="?(127\.0\.0\.1:[1-9]\d*)/.exec(line) ?? []
      if (!found) continue
      address = found
      isListening = true
      break
    }
    program.stderr.resume()
    if (!isListening) throw new Error(`prometheus-alertmanager does not start:\n${said.join('\n')}`)
    return program
  }

  async function stop(signal: 'SIGKILL' | 'SIGTERM'): Promise<void> {
    if (child.exitCode !== null || child.signalCode !== null) return
    const ended = once(child, 'close')
    child.kill(signal)
    await ended
  }

  return {
    url: `http://${address}`,
    stop,
    async firing() {
      const answer = await fetch(`http://${address}/api/v2/alerts?active=true`)
      const alerts = (await answer.json()) as { labels: Record<string, string> }[]
      return alerts.map(({ labels }) => `${labels.alertname} ${labels.rollout ?? 'fleet'}`).toSorted()
    },
    async restart() {
      child = await start()
    },
    async dispose() {
      await stop('SIGKILL')
      rmSync(folder, { recursive: true, force: true })
    },
  }
}
