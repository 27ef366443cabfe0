/**
 * `summary.mjs <failed steps> <vitest's json> [<json of the second run of what failed>]` says what was tested, and fails
 * unless all of it passed on both stores. `summary.mjs --failed-files <json>` prints the files to run again.
 */
import { existsSync, readFileSync } from 'node:fs'

/** @returns {{ file: string, status: string, tests: { file: string, title: string, status: string }[] }[]} */
function readFiles(path = '') {
  if (!existsSync(path)) return []
  return JSON.parse(readFileSync(path, 'utf8')).testResults.map(({ name: file, status, assertionResults }) => {
    const tests = assertionResults.map((test) => ({ file, title: test.fullName, status: test.status }))
    // A file that could not be loaded, or whose hooks failed, has no failed test to show for it.
    const isBroken = status === 'failed' && tests.every((test) => test.status !== 'failed')
    return { file, status, tests: isBroken ? [...tests, { file, title: file, status: 'failed' }] : tests }
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
  if (Number(first) > 0) problems.push(`${first} of the steps above failed`)

  for (const problem of problems) console.log(problem)
  console.log(`${passed.length} passed, ${failed.length} failed`)
  process.exitCode = problems.length === 0 ? 0 : 1
}
