/**
 * `npm run faults`: breaks the program in one place after the other, in a copy, and shows which test finds each fault (faults.ts). Ends with 1 if no test
 * finds one. Arguments are parts of the files that are broken; without them, all.
 */
import { spawnSync } from 'node:child_process'
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Fault, faults } from './faults.ts'

const root = join(import.meta.dirname, '../..')
const wanted = process.argv.slice(2)
const chosen = faults.filter(({ file }) => wanted.length === 0 || wanted.some((part) => file.includes(part)))

/** Everything but what Git and npm keep. The packages are the same. */
function copyProject(): string {
  const copy = mkdtempSync(join(tmpdir(), 'rollcall-faults-'))
  for (const name of readdirSync(root).filter((one) => !['.git', 'node_modules', 'data', 'dist'].includes(one)))
    cpSync(join(root, name), join(copy, name), { recursive: true })
  symlinkSync(join(root, 'node_modules'), join(copy, 'node_modules'))
  return copy
}

/** The first test that fails, in the quick suite or in a whole run. Null: none does. */
function findIn(copy: string, { tests }: Fault, isWhole: boolean): string | null {
  const results = join(copy, 'results.jsonl')
  const command = [join(root, 'node_modules/vitest/vitest.mjs'), 'run', '--bail=1', '--no-file-parallelism', ...tests]
  const whole = isWhole ? { ROLLCALL_STORES: 'both' } : {}
  const { status } = spawnSync(process.execPath, command, {
    cwd: copy,
    env: { ...process.env, ...whole, ROLLCALL_SEED: '1', ROLLCALL_TEST_RESULTS: results },
    stdio: 'ignore',
    timeout: 900_000,
    killSignal: 'SIGKILL',
  })
  if (status === 0) return null
  const lines = readFileSync(results, 'utf8').split('\n').filter(Boolean)
  for (const line of lines) {
    const { file, tests: run = [] } = JSON.parse(line) as Result
    const failed = run.find((test) => test.status === 'failed')
    if (failed) return `${file?.slice(copy.length + 1)}: ${failed.title}`
  }
  return 'a file that does not load or end'
}

interface Result {
  readonly file?: string
  readonly tests?: readonly { readonly title: string; readonly status: string }[]
}

const copy = copyProject()
let missed = 0
try {
  for (const [index, fault] of chosen.entries()) {
    const path = join(copy, 'src', fault.file)
    const text = readFileSync(path, 'utf8')
    writeFileSync(
      path,
      text.replace(fault.find, () => fault.put),
    )
    const isDeep = fault.tests.some((test) => test.endsWith('.deep'))
    const quick = isDeep ? null : findIn(copy, fault, false)
    const found = quick ?? findIn(copy, fault, true)
    writeFileSync(path, text)
    if (found === null) missed += 1
    const outcome = found === null ? 'NO TEST FINDS IT' : `found ${quick === null ? 'in a whole run ' : ''}by ${found}`
    console.log(`${index + 1} of ${chosen.length}, ${fault.file}: ${fault.breaks}\n    ${outcome}`)
  }
} finally {
  rmSync(copy, { recursive: true, force: true })
}
console.log(`${chosen.length - missed} of ${chosen.length} faults are found`)
if (missed > 0) process.exitCode = 1
