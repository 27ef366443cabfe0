/**
 * npm run bench [-- <name> …] [--quick] [--large] [--profile] [--minutes <of the soak>] [--groups <folder of control groups>] [--against <checkout>]
 * Prints the ratios, writes them to results/ beside a chart, and fails when an answer was wrong.
 */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { benches } from './benches.ts'
import type { Bench, Finding, Lab } from './harness/bench.ts'
import { drawChart } from './harness/chart.ts'
import { WrongAnswer } from './harness/closed-loop.ts'
import { installPeers } from './harness/install.ts'
import { describeMachine } from './harness/machine.ts'
import { type BenchPostgres, startBenchPostgres } from './harness/postgres.ts'
import { profileInto, stopPrograms } from './harness/process.ts'
import { printFinding, printHeader } from './harness/table.ts'

const { values: flags, positionals: names } = parseArgs({
  allowPositionals: true,
  options: {
    quick: { type: 'boolean' },
    large: { type: 'boolean' },
    profile: { type: 'boolean' },
    minutes: { type: 'string' },
    groups: { type: 'string' },
    against: { type: 'string' },
  },
})
const unknown = names.filter((name) => !benches.some((bench) => bench.name === name))
if (unknown.length > 0) {
  console.error(`there is no benchmark ${unknown.join(', ')}: there are ${benches.map(({ name }) => name).join(', ')}`)
  process.exit(2)
}
const chosen = names.length > 0 ? benches.filter(({ name }) => names.includes(name)) : benches
const results = join(import.meta.dirname, 'results')
mkdirSync(results, { recursive: true })
if (flags.profile) profileInto(join(results, 'profiles'))
installPeers()

const machine = describeMachine()
let database: Promise<BenchPostgres> | null = null
const lab: Lab = {
  isQuick: flags.quick ?? false,
  isLarge: flags.large ?? false,
  rounds: 5,
  seconds: flags.quick ? 1.5 : 5,
  minutes: Number(flags.minutes ?? (flags.quick ? 3 : 30)),
  groups: flags.groups ?? null,
  against: flags.against === undefined ? null : resolve(flags.against),
  postgres() {
    database ??= startBenchPostgres()
    return database
  },
  say: (text) => console.log(text),
}
process.once('SIGINT', () => void clear().then(() => process.exit(130)))
process.once('SIGTERM', () => void clear().then(() => process.exit(143)))

const findings: { bench: Bench; finding: Finding }[] = []
for (const bench of chosen) {
  console.log(`… ${bench.name}`)
  const began = performance.now()
  const finding = await attempt(bench)
  findings.push({ bench, finding })
  const seconds = Math.round((performance.now() - began) / 1000)
  console.log(`${printFinding(bench.name, bench.title, finding)}\n  (${seconds} s)\n`)
}

const settings = database ? (await (database as Promise<BenchPostgres>)).settings : []
await clear()
const claims = findings.flatMap(({ bench, finding }) =>
  finding.claims.map((claim) => ({ bench: bench.name, ...claim })),
)
const aimed = claims.filter(({ isReached }) => isReached !== null)
const wrong = findings.flatMap(({ finding }) => finding.wrong)
const header = printHeader(machine, settings)
const last = `${aimed.filter(({ isReached }) => isReached).length} of ${aimed.length} aims reached`
const table = [
  header,
  flags.quick ? 'Short rounds (--quick): do not quote these.' : '',
  '',
  ...findings.map(({ bench, finding }) => `${printFinding(bench.name, bench.title, finding)}\n`),
  ...(wrong.length > 0 ? [`${wrong.length} answers were wrong`] : []),
  last,
].join('\n')
const file = names.length > 0 ? names.join('+') : 'all'
writeFileSync(
  join(results, `${file}.json`),
  JSON.stringify(
    {
      machine,
      settings,
      isQuick: lab.isQuick,
      findings: findings.map(({ bench, finding }) => ({ bench: bench.name, ...finding })),
    },
    null,
    2,
  ),
)
writeFileSync(join(results, `${file}.txt`), `${table}\n`)
writeFileSync(join(results, `${file}.svg`), drawChart(claims, header.split('\n').slice(0, 2).join(' · ')))
console.log(table)
process.exit(wrong.length > 0 ? 1 : 0)

/** A benchmark whose answers are wrong has failed; the others are still run. */
async function attempt(bench: Bench): Promise<Finding> {
  try {
    return await bench.run(lab)
  } catch (error) {
    if (error instanceof WrongAnswer) return { rows: [], claims: [], notes: [], wrong: [error.message] }
    await clear()
    throw error
  }
}

async function clear(): Promise<void> {
  await stopPrograms()
  await (await database)?.dispose()
}
