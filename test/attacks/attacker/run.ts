/**
 * `npm run attack -- --minutes 60`: the attacker of the suite, for as long as wanted, on both stores, with and without credentials. Ends
 * with 1 when it found something. `--seed` repeats a run; `--inputs` ends each part after so many.
 */
import { parseArgs } from 'node:util'
import { startPostgres } from '../../support/postgres-server.ts'
import { attack, type Findings } from './attack.ts'
import { closed } from './credentials.ts'

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '60' },
    inputs: { type: 'string', default: 'Infinity' },
    seed: { type: 'string', default: String(Date.now() % 2 ** 31) },
    connections: { type: 'string', default: '24' },
    store: { type: 'string', default: '' },
    help: { type: 'boolean', short: 'h', default: false },
  },
})
if (values.help) {
  console.log(
    'Usage: npm run attack -- [--minutes 60] [--inputs N] [--seed N] [--connections 24] [--store PGlite|PostgreSQL]',
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
let told = 0
let isSound = true
let handled = 0
for (const [index, { name, isEmbedded, env }] of parts.entries()) {
  const seed = Number(values.seed) + index
  console.log(`${name}, seed ${seed}`)
  const postgres = isEmbedded ? null : await startPostgres()
  const store = postgres ? { DATABASE_URL: postgres.url } : { DATA_DIR: 'memory' }
  const found = await attack({
    env: { ...store, ...env },
    ...{ seed, time, progress },
    inputs: Number(values.inputs),
    connections: Number(values.connections),
  }).finally(() => postgres?.dispose())
  handled += found.handled
  if (!report(found)) isSound = false
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

function report(found: Findings): boolean {
  const { warm, end, stalls } = found
  console.log(`\r  ${found.sent} sent, ${found.handled} handled; by status ${JSON.stringify(found.byStatus)}`)
  console.log(`  warm: ${memory(warm)}; at the end: ${memory(end)}; at most: RSS ${mebibytes(found.mostRss)}`)
  for (const { time, cpu, inFlight } of stalls) {
    console.log(`  stall of ${Math.round(time)} ms, ${Math.round(cpu)} ms of them its own work, with`)
    for (const input of inFlight) console.log(`    ${input}`)
  }
  if (found.rejections > 0) console.log(`  ! ${found.rejections} unhandled rejections`)
  for (const failure of found.failures) console.log(`  ! ${failure}`)
  for (const drift of found.drift) console.log(`  ! drift: ${JSON.stringify(drift)}`)
  return found.failures.length === 0 && found.drift.length === 0 && found.rejections === 0
}
