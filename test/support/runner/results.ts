/**
 * Writes the result of each test file as it ends, a line of JSON each: they remain when the run is ended from outside. Vitest's own JSON is
 * written at the end of the run only.
 */
import { appendFileSync, writeFileSync } from 'node:fs'
import type { Reporter } from 'vitest/node'

export function writeResults(path: string): Reporter {
  const write = (line: object): void => appendFileSync(path, `${JSON.stringify(line)}\n`)
  return {
    // A later round of the deep suite adds to the first one.
    onInit: () => writeFileSync(path, '', { flag: Number(process.env.ROLLCALL_ROUND ?? 1) > 1 ? 'a' : 'w' }),
    onTestModuleStart: ({ moduleId }) => write({ began: moduleId }),
    onTestModuleEnd(module) {
      const tests = [...module.children.allTests()].map((test) => ({
        title: test.fullName,
        status: test.result().state,
      }))
      const ms = Math.round(module.diagnostic().duration)
      write({ file: module.moduleId, status: module.ok() ? 'passed' : 'failed', ms, tests })
    },
    // Errors outside of tests fail the run.
    onTestRunEnd: (_, errors, reason) => write({ success: reason === 'passed' && errors.length === 0 }),
  }
}
