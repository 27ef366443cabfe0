/**
 * `npm run attack -- --minutes 60`: the attacker of the suite, for as long as wanted, on both stores, with and without credentials, over HTTP, WebSockets and MQTT. Ends
 * with 1 when it found something. `--seed` repeats a run; `--inputs` ends each part after so many. `--outbound`: the systems that the server asks attack it instead.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { startPostgres } from '../../support/databases/postgres-server.ts'
import { runOutbound } from '../outbound/run.ts'
import { attack, type Findings } from './attack.ts'
import { closed } from './credentials.ts'
import { type Part, problemsOf, tablesOf, verdictOf } from './report.ts'

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '60' },
    inputs: { type: 'string', default: 'Infinity' },
    seed: { type: 'string', default: String(Date.now() % 2 ** 31) },
    connections: { type: 'string', default: '48' },
    store: { type: 'string', default: '' },
    outbound: { type: 'boolean', default: false },
    only: { type: 'string' },
    help: { type: 'boolean', short: 'h', default: false },
  },
})
if (values.help) {
  console.log(
    `Usage: npm run attack -- [--minutes 60] [--inputs N] [--seed N] [--connections 48] [--store PGlite|PostgreSQL]
       npm run attack -- --outbound [--minutes 60] [--seed N] [--only FAULT]`,
  )
  process.exit(0)
}

if (values.outbound) {
  const { minutes, seed, only } = values
  process.exit((await runOutbound({ minutes: Number(minutes), seed: Number(seed), only })) ? 0 : 1)
}

const parts = [
  { name: 'PGlite, open', isEmbedded: true, env: {} },
  { name: 'PGlite, keys and tokens', isEmbedded: true, env: closed },
  { name: 'PostgreSQL, open', isEmbedded: false, env: {} },
  { name: 'PostgreSQL, keys and tokens', isEmbedded: false, env: closed },
].filter(({ name }) => name.startsWith(values.store))
const time = (Number(values.minutes) * 60_000) / parts.length
/** Milliseconds between two lines of a log. */
const interval = 60_000
/** Milliseconds from which on a stall is worth a line. */
const shownStall = 60
let told = 0
const done: Part[] = []
for (const [index, { name, isEmbedded, env }] of parts.entries()) {
  const seed = Number(values.seed) + index
  console.log(`${name}, seed ${seed}`)
  const postgres = isEmbedded ? null : await startPostgres()
  // Not in memory: what is stored would count as what the server has grown by.
  const folder = mkdtempSync(join(tmpdir(), 'rollcall-attack-'))
  const store = postgres ? { DATABASE_URL: postgres.url } : { DATA_DIR: folder }
  const began = performance.now()
  const found = await attack({
    env: { ...store, ...env },
    ...{ seed, time, progress },
    inputs: Number(values.inputs),
    connections: Number(values.connections),
    hasMqtt: true,
  }).finally(async () => {
    await postgres?.dispose()
    rmSync(folder, { recursive: true, force: true })
  })
  const part = { name, found, seconds: (performance.now() - began) / 1_000 }
  done.push(part)
  show(part)
}
console.log(`\n${tablesOf(done)}\n\n${verdictOf(done)}`)
process.exitCode = done.every(({ found }) => problemsOf(found).length === 0) ? 0 : 1

function progress({ sent, handled, last }: Findings): void {
  const line = `  ${sent} sent, ${handled} handled, ${memory(last)}`
  if (process.stdout.isTTY) process.stdout.write(`\r${line}`)
  else if (performance.now() - told > interval) {
    told = performance.now()
    console.log(line)
  }
}

function memory({ rss, heap, external }: Findings['end']): string {
  return `RSS ${mebibytes(rss)}, heap ${mebibytes(heap)}, external ${mebibytes(external)}`
}

function series({ samples }: Findings, of: 'heap' | 'rss'): string {
  return samples.map((memory) => Math.round(memory[of] / 2 ** 20)).join(', ')
}

function mebibytes(bytes: number): string {
  return `${Math.round(bytes / 2 ** 20)} MiB`
}

function show({ found, seconds }: Part): void {
  const { sent, cpu } = found
  const each = (time: number): string => (time / sent).toFixed(2)
  console.log(`\r  ${sent} sent in ${seconds.toFixed(0)} s; by status ${JSON.stringify(found.byStatus)}`)
  console.log(
    `  ms of processors for each: main thread ${each(cpu.main)}, server ${each(cpu.server)}, attacker ${each(cpu.attacker)}`,
  )
  console.log(
    `  warm: ${memory(found.warm)}; at the end: ${memory(found.end)}; at most: RSS ${mebibytes(found.mostRss)}`,
  )
  if (found.samples.length > 0)
    console.log(`  every 50,000 inputs: heap ${series(found, 'heap')} MiB; RSS ${series(found, 'rss')} MiB`)
  for (const [limit, { times, input }] of Object.entries(found.busy))
    console.log(`  refused by ${limit}: ${times}, such as ${input}`)
  for (const { time, cpu: own, inFlight } of found.stalls.filter((one) => one.cpu > shownStall)) {
    console.log(`  stall of ${Math.round(time)} ms, ${Math.round(own)} ms of them its own work, with`)
    for (const input of inFlight.slice(0, 10)) console.log(`    ${input}`)
  }
  for (const problem of problemsOf(found)) console.log(`  ! ${problem}`)
}
