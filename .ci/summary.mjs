/**
 * `summary.mjs <failed steps> <results> [<results of the second run of what failed>]` says what was tested, and fails unless all of it passed
 * on both stores. `summary.mjs --failed-files <results>` prints the files to run again. Results are lines of JSON, see test/support/runner/results.ts.
 */
import { existsSync, readFileSync } from 'node:fs'

/** @returns {{ began?: string, file?: string, status?: string, success?: boolean, tests?: { title: string, status: string }[] }[]} */
function readLines(path = '') {
  if (!existsSync(path)) return []
  const lines = readFileSync(path, 'utf8').split('\n')
  // What follows the last line break is a line that was cut off.
  return lines.slice(0, -1).map((line) => JSON.parse(line))
}

/** @returns {{ file: string, status: string, tests: { file: string, title: string, status: string }[] }[]} */
function readFiles(path = '') {
  return readLines(path).flatMap(({ file, status = '', tests: found = [] }) => {
    if (file === undefined) return []
    const tests = found.map((test) => ({ file, ...test }))
    // A file that could not be loaded, or whose hooks failed, has no failed test to show for it.
    const isBroken = status === 'failed' && tests.every((test) => test.status !== 'failed')
    return [{ file, status, tests: isBroken ? [...tests, { file, title: file, status: 'failed' }] : tests }]
  })
}

const [first = '0', path, second] = process.argv.slice(2)
if (first === '--failed-files') {
  for (const { file, status } of readFiles(path)) if (status === 'failed') console.log(file)
} else {
  const runs = readFiles(path)
  const repeated = new Map(readFiles(second).map((run) => [run.file, run]))
  const tests = runs.flatMap((run) => (repeated.get(run.file) ?? run).tests)
  const passed = tests.filter(({ status }) => status === 'passed')
  const failed = tests.filter(({ status }) => status === 'failed')
  const flaky = runs
    .flatMap((run) => run.tests)
    .filter(({ file, status }) => status === 'failed' && repeated.get(file)?.status === 'passed')

  for (const { title } of flaky) console.log(`flaky, passed when run again: ${title}`)
  const problems = failed.map(({ title }) => `failed: ${title}`)
  if (passed.length === 0) problems.push('no test ran')
  if (!passed.some(({ title }) => title.includes('PostgreSQL'))) problems.push('PostgreSQL was not tested')
  const lines = readLines(path)
  if (!lines.some(({ success }) => success !== undefined)) {
    const ended = new Set(runs.map(({ file }) => file))
    const open = lines.flatMap(({ began }) => (began === undefined || ended.has(began) ? [] : began))
    problems.push(`the suite did not end${open.length > 0 ? `, it was in ${open.join(' ')}` : ''}`)
  }
  if (Number(first) > 0) problems.push(`${first} of the steps above failed`)

  for (const problem of problems) console.log(problem)
  console.log(`${passed.length} passed, ${failed.length} failed`)
  process.exitCode = problems.length === 0 ? 0 : 1
}
