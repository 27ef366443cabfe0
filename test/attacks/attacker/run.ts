/**
 * `npm run attack -- --minutes 60`: the attacker of the suite, for as long as wanted, on both stores, with and without credentials. Ends
 * with 1 when it found something. `--seed` repeats a run; `--inputs` ends each part after so many.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { startPostgres } from '../../support/postgres-server.ts'
import { attack, type Findings } from './attack.ts'
import { closed } from './credentials.ts'

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '60' },
    inputs: { type: 'string', default: 'Infinity' },
    seed: { type: 'string', default: String(Date.now() % 2 ** 31) },
    connections: { type: 'string', default: '48' },
    store: { type: 'string', default: '' },
    help: { type: 'boolean', short: 'h', default: false },
  },
})
if (values.help) {
  console.log(
    'Usage: npm run attack -- [--minutes 60] [--inputs N] [--seed N] [--connections 48] [--store PGlite|PostgreSQL]',
  )
  process.exit(0)
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
/** Milliseconds of the main thread's own work that none may last, and by how much it may be larger at the end than once warm. */
const [longestStall, mostGrowth] = [200, 1.25]
/** Milliseconds from which on a stall is worth a line. */
const shownStall = 60
let told = 0
let isSound = true
let handled = 0
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
  }).finally(async () => {
    await postgres?.dispose()
    rmSync(folder, { recursive: true, force: true })
  })
  handled += found.handled
  if (!report(found, (performance.now() - began) / 1_000)) isSound = false
}
console.log(`${handled} inputs reached a handler: ${isSound ? 'nothing was found' : 'see above'}`)
process.exitCode = isSound ? 0 : 1

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

function mebibytes(bytes: number): string {
  return `${Math.round(bytes / 2 ** 20)} MiB`
}

function report({ warm, end, stalls, cpu, busy, ...found }: Findings, seconds: number): boolean {
  const rate = (count: number): string => (count / seconds).toFixed(0)
  const each = (time: number): string => (time / found.sent).toFixed(2)
  console.log(`\r  ${found.sent} sent, ${found.handled} handled; by status ${JSON.stringify(found.byStatus)}`)
  console.log(
    `  ${rate(found.sent)} sent and ${rate(found.handled)} handled a second; ms of processors for each: main thread ${each(cpu.main)}, server ${each(cpu.server)}, attacker ${each(cpu.attacker)}`,
  )
  console.log(`  warm: ${memory(warm)}; at the end: ${memory(end)}; at most: RSS ${mebibytes(found.mostRss)}`)
  for (const [limit, { times, input }] of Object.entries(busy))
    console.log(`  refused by ${limit}: ${times}, such as ${input}`)
  for (const { time, cpu: own, inFlight } of stalls.filter((one) => one.cpu > shownStall)) {
    console.log(`  stall of ${Math.round(time)} ms, ${Math.round(own)} ms of them its own work, with`)
    for (const input of inFlight.slice(0, 10)) console.log(`    ${input}`)
  }
  const problems = [
    ...(found.rejections > 0 ? [`${found.rejections} unhandled rejections`] : []),
    ...(stalls.some((one) => one.cpu > longestStall) ? [`a stall of more than ${longestStall} ms`] : []),
    ...(warm.rss > 0 && Math.max(end.rss / warm.rss, end.heap / warm.heap) > mostGrowth ? ['its memory grew'] : []),
    ...found.failures,
    ...found.drift.map((drift) => `drift: ${JSON.stringify(drift)}`),
  ]
  for (const problem of problems) console.log(`  ! ${problem}`)
  return problems.length === 0
}
