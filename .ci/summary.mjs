/**
 * `summary.mjs <failed steps> <results>` says what was tested, and fails unless all of it passed on both stores. Results are lines of JSON, see
 * test/support/runner/results.ts.
 */
import { existsSync, readFileSync } from 'node:fs'

/** @returns {{ began?: string, file?: string, status?: string, success?: boolean, tests?: { title: string, status: string }[] }[]} */
function readLines(path = '') {
  if (!existsSync(path)) return []
  const lines = readFileSync(path, 'utf8').split('\n')
  // What follows the last line break is a line that was cut off.
  return lines.slice(0, -1).map((line) => JSON.parse(line))
}

const [failedSteps = '0', path] = process.argv.slice(2)
const lines = readLines(path)
const tests = lines.flatMap(({ file, status = '', tests: found = [] }) => {
  if (file === undefined) return []
  // A file that could not be loaded, or whose hooks failed, has no failed test to show for it.
  const isBroken = status === 'failed' && found.every((test) => test.status !== 'failed')
  return isBroken ? [...found, { title: file, status: 'failed' }] : found
})
const passed = tests.filter(({ status }) => status === 'passed')
const failed = tests.filter(({ status }) => status === 'failed')

const problems = failed.map(({ title }) => `failed: ${title}`)
if (passed.length === 0) problems.push('no test ran')
for (const store of ['PGlite', 'PostgreSQL'])
  if (!passed.some(({ title }) => title.includes(store))) problems.push(`${store} was not tested`)
if (!lines.some(({ success }) => success !== undefined)) {
  const ended = new Set(lines.flatMap(({ file }) => file ?? []))
  const open = lines.flatMap(({ began }) => (began === undefined || ended.has(began) ? [] : began))
  problems.push(`the suite did not end${open.length > 0 ? `, it was in ${open.join(' ')}` : ''}`)
}
if (Number(failedSteps) > 0) problems.push(`${failedSteps} of the steps above failed`)

for (const problem of problems) console.log(problem)
console.log(`${passed.length} passed, ${failed.length} failed`)
process.exitCode = problems.length === 0 ? 0 : 1
