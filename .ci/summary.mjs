/** `summary.mjs <vitest's json> <failed steps>`: says what was tested, and fails unless all of it passed on both stores. */
import { readFileSync } from 'node:fs'

const [file = '', failedSteps = '0'] = process.argv.slice(2)

/** @returns {{ title: string, status: string }[]} */
function readTests() {
  try {
    return JSON.parse(readFileSync(file, 'utf8')).testResults.flatMap(({ name, status, assertionResults }) => {
      const tests = assertionResults.map((test) => ({ title: test.fullName, status: test.status }))
      // A file that could not even be loaded, or whose hooks failed, has no failed test to show for it.
      const isBroken = status === 'failed' && tests.every((test) => test.status !== 'failed')
      return isBroken ? [...tests, { title: name, status: 'failed' }] : tests
    })
  } catch {
    return []
  }
}

const tests = readTests()
const passed = tests.filter(({ status }) => status === 'passed')
const failed = tests.filter(({ status }) => status === 'failed')
const problems = failed.map(({ title }) => `failed: ${title}`)
if (passed.length === 0) problems.push('no test ran')
if (!passed.some(({ title }) => title.includes('PostgreSQL'))) problems.push('PostgreSQL was not tested')
if (Number(failedSteps) > 0) problems.push(`${failedSteps} of the steps above failed`)

for (const problem of problems) console.log(problem)
console.log(`${passed.length} passed, ${failed.length} failed`)
process.exitCode = problems.length === 0 ? 0 : 1
