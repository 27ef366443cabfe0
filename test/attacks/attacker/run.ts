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
    help: { type: 'boolean', short: 'h', default: false },
  },
})
if (values.help) {
  console.log('Usage: npm run attack -- [--minutes 60] [--inputs N] [--seed N] [--connections 24]')
  process.exit(0)
}

const parts = [
  { name: 'PGlite, open', isEmbedded: true, env: {} },
  { name: 'PGlite, keys and tokens', isEmbedded: true, env: closed },
  { name: 'PostgreSQL, open', isEmbedded: false, env: {} },
  { name: 'PostgreSQL, keys and tokens', isEmbedded: false, env: closed },
]
const time = (Number(values.minutes) * 60_000) / parts.length
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

function progress({ sent, handled }: Findings): void {
  if (process.stdout.isTTY) process.stdout.write(`\r  ${sent} sent, ${handled} handled`)
}

function report(found: Findings): boolean {
  const mb = (bytes: number): string => `${Math.round(bytes / 2 ** 20)} MiB`
  const { warm, end, stalls } = found
  console.log(`\r  ${found.sent} sent, ${found.handled} handled; by status ${JSON.stringify(found.byStatus)}`)
  const memory = ({ rss, heap, external }: Findings['end']): string =>
    `RSS ${mb(rss)}, heap ${mb(heap)}, external ${mb(external)}`
  console.log(`  warm: ${memory(warm)}; at the end: ${memory(end)}; at most: RSS ${mb(found.mostRss)}`)
  for (const { time, cpu, inFlight } of stalls) {
    console.log(`  stall of ${Math.round(time)} ms, ${Math.round(cpu)} ms of them its own work, with`)
    for (const input of inFlight) console.log(`    ${input}`)
  }
  if (found.rejections > 0) console.log(`  ! ${found.rejections} unhandled rejections`)
  for (const failure of found.failures) console.log(`  ! ${failure}`)
  for (const drift of found.drift) console.log(`  ! drift: ${JSON.stringify(drift)}`)
  return found.failures.length === 0 && found.drift.length === 0 && found.rejections === 0
}
