/**
 * `node test/attacks/attacker/measure-bodies.ts [part of a title]`: what the largest body of each route costs: the longest stall of the event loop in
 * processor time, how much the process grew, and how much of that was live, both as a multiple of the body. The process also grows by garbage that
 * is not collected yet: `live` is what is left when it is collected while the body is handled.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { startPostgres } from '../../support/databases/postgres-server.ts'
import { prepared } from './large-body.ts'
import { hostileBodies } from './largest-hostile-bodies.ts'
import { validBodies } from './largest-valid-bodies.ts'
import { startTarget, type Target } from './target.ts'

const [, , wanted = ''] = process.argv

/** Bytes that the process has had at most since the last `forgetPeak`. */
function peakOf({ pid }: Target): number {
  const [, kilobytes] = /VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? []
  return Number(kilobytes) * 1024
}
const forgetPeak = ({ pid }: Target): void => writeFileSync(`/proc/${pid}/clear_refs`, '5')

let stall = 0
async function send(target: Target, line: string, type: string, body: string): Promise<number> {
  const [method = '', path = ''] = line.split(' ')
  const response = await fetch(target.url + path, {
    method,
    headers: { 'content-type': type },
    body: Buffer.from(body),
  })
  const text = await response.text()
  if (response.status >= 500 || process.env.SHOW) console.log(`    ${text.slice(0, 300)}`)
  return response.status
}

/** Milliseconds between two looks: without them, the body would be handled between two collections. */
const pause = 30

async function liveWith(target: Target, work: () => Promise<unknown>): Promise<number> {
  const before = await target.vitals('collect')
  let most = before.heap
  let isOver = false
  const working = work().finally(() => {
    isOver = true
  })
  while (!isOver) {
    most = Math.max(most, (await target.vitals('live')).heap)
    await new Promise((resolve) => setTimeout(resolve, pause))
  }
  await working
  return most - before.heap
}

async function measure(name: string, env: Readonly<Record<string, string>>): Promise<void> {
  console.log(`${name}\n| body | bytes | status | stall, ms | all, ms | memory / body | first | live / body, MiB |`)
  for (const { title, line, body, first: before, type = 'application/json', status } of [
    ...validBodies(),
    ...hostileBodies,
  ]) {
    if (!title.includes(wanted)) continue
    const target = await startTarget({ LOG_LEVEL: 'error', ...env }, ({ cpu }) => {
      stall = Math.max(stall, cpu)
    })
    try {
      const text = body()
      for (const one of prepared) {
        const found = await send(target, one.line, 'application/json', one.body())
        if (found !== 200 && found !== one.status) console.log(`prepared ${found}`)
      }
      if (before) await send(target, line, type, before())
      const runs: { stall: number; cpu: number; memory: number; status: number }[] = []
      for (let run = 0; run < 2; run += 1) {
        const before = await target.vitals('collect')
        forgetPeak(target)
        stall = 0
        const answered = await send(target, line, type, text)
        await new Promise((resolve) => setTimeout(resolve, 100))
        const peak = peakOf(target)
        const after = await target.vitals()
        runs.push({ stall, cpu: after.cpu - before.cpu, memory: (peak - before.rss) / text.length, status: answered })
      }
      const live = await liveWith(target, () => send(target, line, type, text))
      const [first, second] = runs
      const odd = second?.status === status ? '' : ` (${status})`
      const shown = (value = 0): string => value.toFixed(value < 10 ? 1 : 0)
      console.log(
        `| ${title}: ${line.slice(0, 40)} | ${text.length} | ${second?.status}${odd} | ${shown(second?.stall)} | ${shown(second?.cpu)} | ${shown(second?.memory)} | ${shown(first?.stall)}; ${shown(first?.memory)} | ${shown(live / text.length)}; ${shown(live / 2 ** 20)} |`,
      )
    } finally {
      await target.stop()
    }
  }
}

if (process.env.STORE !== 'PostgreSQL') await measure('PGlite', { DATA_DIR: 'memory' })
if (process.env.STORE !== 'PGlite') {
  const postgres = await startPostgres()
  await measure('PostgreSQL', { DATABASE_URL: postgres.url }).finally(() => postgres.dispose())
}
