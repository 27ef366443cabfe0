/** .ci/summary.mjs: what it prints of a run that passed, failed, or was ended from outside. */
import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { temporaryFolder } from './support/folder.ts'
import { slowest } from './support/runner/slowest-first.ts'
import { startNode } from './support/servers/child.ts'

const root = join(import.meta.dirname, '..')

function summarise(...args: readonly string[]): { readonly lines: readonly string[]; readonly status: number | null } {
  const { stdout, status } = spawnSync(process.execPath, [join(root, '.ci/summary.mjs'), ...args], { encoding: 'utf8' })
  return { lines: stdout.trimEnd().split('\n'), status }
}

const passed = { title: 'is stored on PostgreSQL', status: 'passed' }
const failed = { title: 'is counted', status: 'failed' }
const skipped = { title: 'is drawn', status: 'skipped' }

function resultsOf(...lines: readonly object[]): string {
  const path = join(temporaryFolder(), 'results.jsonl')
  writeFileSync(path, lines.map((line) => `${JSON.stringify(line)}\n`).join(''))
  return path
}

it('counts the tests of a run that passed', () => {
  const path = resultsOf(
    { began: 'a' },
    { file: 'a', status: 'passed', tests: [passed, passed, skipped] },
    { success: true },
  )
  expect(summarise('0', path)).toEqual({ lines: ['2 passed, 0 failed'], status: 0 })
  expect(summarise('1', path)).toEqual({ lines: ['1 of the steps above failed', '2 passed, 0 failed'], status: 1 })
})

it('names what failed, and what passed in the second run', () => {
  const broken = { file: 'b', status: 'failed', tests: [] }
  const path = resultsOf({ file: 'a', status: 'failed', tests: [passed, failed] }, broken, { success: false })
  expect(summarise('--failed-files', path).lines).toEqual(['a', 'b'])
  expect(summarise('0', path)).toEqual({
    lines: ['failed: is counted', 'failed: b', '1 passed, 2 failed'],
    status: 1,
  })
  const again = resultsOf(
    { file: 'a', status: 'passed', tests: [passed, { ...failed, status: 'passed' }] },
    { file: 'b', status: 'passed', tests: [passed] },
    { success: true },
  )
  const flaky = ['is counted', 'b'].map((title) => `flaky, passed when run again: ${title}`)
  expect(summarise('0', path, again)).toEqual({ lines: [...flaky, '3 passed, 0 failed'], status: 0 })
})

it('fails without results', () => {
  expect(summarise('0', join(temporaryFolder(), 'nothing'))).toMatchObject({ status: 1 })
})

it('counts what had ended in a run that was killed', async () => {
  const folder = temporaryFolder()
  const path = join(folder, 'results.jsonl')
  writeFileSync(join(folder, 'a.test.mjs'), "it('is stored on PostgreSQL', () => {})")
  writeFileSync(join(folder, 'b.test.mjs'), "it('waits', () => new Promise(() => setInterval(() => {}, 1_000)))")
  const config = `import { writeResults } from ${JSON.stringify(join(root, 'test/support/runner/results.ts'))}
    export default { test: { globals: true, pool: 'threads', reporters: [writeResults(${JSON.stringify(path)})] } }`
  writeFileSync(join(folder, 'vitest.config.ts'), config)
  const vitest = join(root, 'node_modules/vitest/vitest.mjs')
  const run = startNode([vitest, 'run', '--root', folder, '--maxWorkers=2'], { NODE_OPTIONS: '' })
  const written = () => (existsSync(path) ? readFileSync(path, 'utf8') : '')
  await expect.poll(written).toMatch(/"file":"[^"]*a\.test\.mjs"/)
  await expect.poll(written).toMatch(/"began":"[^"]*b\.test\.mjs"/)
  run.process.kill('SIGKILL')
  await run.ended
  expect(summarise('0', path)).toEqual({
    lines: [expect.stringMatching(/^the suite did not end, it was in \S*b\.test\.mjs$/), '1 passed, 0 failed'],
    status: 1,
  })
})

it('knows its slowest files by their names of today', () => {
  expect(slowest.filter((name) => !existsSync(join(root, 'test', `${name}.test.ts`)))).toEqual([])
})
