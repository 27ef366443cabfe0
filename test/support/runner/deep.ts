/**
 * `npm run test:deep -- --minutes 60`: the whole suite on both stores, with more runs of each property and the files that end with `.deep.test.ts`.
 * Then the road of a report behind a PgBouncer, and the random tests again, each round with another seed, until the time is over. `--seed` repeats the first round. Other arguments are files.
 * Ends with 1 if a test fails. With ROLLCALL_TEST_RESULTS, the results of all rounds are in that file, see results.ts.
 */
import { spawn } from 'node:child_process'
import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { glob } from 'node:fs/promises'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { findPgBouncer } from '../systems/pgbouncer.ts'

const root = join(import.meta.dirname, '../../..')
const mostSeed = 2 ** 31 - 1

const { values, positionals } = parseArgs({
  options: { minutes: { type: 'string', default: '60' }, seed: { type: 'string' } },
  allowPositionals: true,
})
const minutes = readNumber('minutes', values.minutes, 1)
const first = readNumber('seed', values.seed ?? String(randomInt(1, mostSeed)), 0)
const end = Date.now() + minutes * 60_000

function readNumber(name: string, text: string, least: number): number {
  const number = Number(text)
  if (text.trim() !== '' && Number.isInteger(number) && number >= least && number <= mostSeed) return number
  console.error(`--${name} must be a whole number of at least ${least}, not ${text}`)
  process.exit(2)
}

/** Files whose tests depend on the seed. The long ones run once. */
async function randomFiles(): Promise<readonly string[]> {
  const files = await Array.fromAsync(glob('test/**/*.test.ts', { cwd: root }))
  const short = files.filter((file) => !file.endsWith('.deep.test.ts'))
  return short.filter((file) => /from 'fast-check'|\bseed\b/.test(readFileSync(join(root, file), 'utf8')))
}

async function runRound(
  seed: number,
  files: readonly string[],
  round: number,
  more: Readonly<Record<string, string>> = {},
): Promise<boolean> {
  const env = {
    ...process.env,
    ROLLCALL_DEEP: '1',
    ROLLCALL_SEED: String(seed),
    ROLLCALL_END: String(end),
    ROLLCALL_ROUND: String(round),
    ...more,
  }
  console.log(`round ${round}, seed ${seed}, ${Math.max(0, Math.round((end - Date.now()) / 60_000))} minutes are left`)
  const child = spawn(process.execPath, [join(root, 'node_modules/vitest/vitest.mjs'), 'run', ...files], {
    cwd: root,
    env,
    stdio: 'inherit',
  })
  const [code] = (await once(child, 'exit')) as [number | null]
  return code === 0
}

let passed = await runRound(first, positionals, 1)
if (passed && positionals.length === 0 && findPgBouncer())
  passed = await runRound(first, ['test/road'], 1, { ROLLCALL_POOLER: '1' })
const again = positionals.length > 0 ? positionals : await randomFiles()
// A round needs a minute to begin.
for (let round = 2; passed && Date.now() + 60_000 < end; round += 1)
  passed = await runRound((first + round) % mostSeed, again, round)
process.exitCode = passed ? 0 : 1
