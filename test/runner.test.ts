/** What the test commands print and require (test/support/runner). */
import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { temporaryFolder } from './support/folder.ts'
import { missingPrograms } from './support/runner/programs.ts'

const root = join(import.meta.dirname, '..')
const runner = join(root, 'test/support/runner')
const program = (name: string, isThere: boolean, packages = name.toLowerCase()) => ({
  ...{ name, packages, untested: `what needs ${name}`, isThere: () => isThere },
})

it('says of each missing program what is not tested, and which package has it', () => {
  const programs = [program('Foo', false, 'foo foo-clients'), program('Bar', true), program('Data', false, '')]
  expect(missingPrograms(programs, {})).toEqual([
    'not tested, because Foo is missing: what needs Foo (apt-get install foo foo-clients)',
    'not tested, because Data is missing: what needs Data',
  ])
})

it('fails where a missing program is required', () => {
  const programs = [program('Foo', false), program('Data', false, '')]
  expect(() => missingPrograms(programs, { ROLLCALL_REQUIRE_FOO: '1' })).toThrow(
    /Foo is missing.*ROLLCALL_REQUIRE_FOO/s,
  )
  expect(() => missingPrograms(programs, { CI: 'true' })).toThrow(/ROLLCALL_REQUIRE_FOO requires what is missing/)
  expect(() => missingPrograms(programs, { ROLLCALL_REQUIRE_DATA: '1' })).toThrow(/ROLLCALL_REQUIRE_DATA/)
  expect(missingPrograms([program('Data', false, '')], { CI: 'true' })).toHaveLength(1)
})

/** Runs tests of their own as the suite is run. */
function runSuite(
  files: Readonly<Record<string, string>>,
  env: Readonly<Record<string, string>> = {},
  ...args: string[]
) {
  const folder = temporaryFolder()
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text)
  const config = `import { showProgress } from ${JSON.stringify(join(runner, 'progress.ts'))}
    import { endWhen } from ${JSON.stringify(join(runner, 'time-limit.ts'))}
    const { promise, resolve } = Promise.withResolvers()
    const ending = [endWhen(promise), { onTestCaseReady: () => resolve() }]
    const reporters = ['minimal', showProgress({ root: import.meta.dirname, command: 'again' }), ...(process.env.ENDS_IN_FIRST ? ending : [])]
    export default { test: { globals: true, pool: 'threads', maxWorkers: 1, reporters } }`
  writeFileSync(join(folder, 'vitest.config.ts'), config)
  const vitest = join(root, 'node_modules/vitest/vitest.mjs')
  const { status, stdout, stderr } = spawnSync(process.execPath, [vitest, 'run', '--root', folder, ...args], {
    encoding: 'utf8',
    env: { ...process.env, NODE_OPTIONS: '', FORCE_COLOR: '0', ...env },
  })
  return { status, lines: stdout.split('\n'), text: stdout + stderr }
}

it('prints few lines of a green run, the slowest files among them', () => {
  const files = Object.fromEntries(
    Array.from({ length: 12 }, (_, n) => [`file-${n}.test.mjs`, `it('works', () => console.log('noise ${n}'))`]),
  )
  const { status, lines, text } = runSuite(files)
  expect(status).toBe(0)
  expect(text).not.toContain('noise')
  expect(lines.length).toBeLessThan(40)
  expect(text).toMatch(/12 of 12 files, 0 failed/)
  expect(text.match(/ s file-\d+\.test\.mjs/g)).toHaveLength(10)
})

it('prints the assertion of a failure, and the command that runs only it', () => {
  const files = {
    'a.test.mjs': `describe("it's (odd)", () => {
      it('fails [1]', () => expect(1).toBe(2))
      it('fails [1] not', () => {})
    })`,
    'b.test.mjs': `throw new Error('broken')`,
  }
  const { status, text } = runSuite(files)
  expect(status).toBe(1)
  expect(text).toMatch(/expected 1 to be 2/)
  const commands = text.slice(text.indexOf('to run only what failed:')).split('\n').slice(1)
  expect(commands).toContain('again b.test.mjs')
  const command = commands.find((line) => line.startsWith('again a.test.mjs')) ?? ''
  // As a shell divides it.
  const words = spawnSync('sh', ['-c', `printf '%s\\n' ${command}`], { encoding: 'utf8' })
    .stdout.trim()
    .split('\n')
  const repeated = runSuite(files, {}, ...words.slice(1))
  expect(repeated.text).toMatch(/1 failed.*1 skipped/)
})

it('ends when the time is over, and says what was not reached', () => {
  const wait = `it('waits', () => new Promise((resolve) => setTimeout(resolve, 200)))`
  const files = { 'a.test.mjs': wait, 'b.test.mjs': wait, 'c.test.mjs': wait }
  const { text } = runSuite(files, { ENDS_IN_FIRST: '1' })
  expect(text).toMatch(/the time is over: 2 files were not reached/)
})

it.each([
  ['--minutes', 'many'],
  ['--minutes', '0'],
  ['--seed', '-1'],
])('the deep suite refuses %s %s', (option, value) => {
  const { status, stderr } = spawnSync(process.execPath, [join(runner, 'deep.ts'), `${option}=${value}`], {
    encoding: 'utf8',
  })
  expect(status).toBe(2)
  expect(stderr).toMatch(new RegExp(`${option} must be a whole number`))
})
