/** Lint refuses each way to look at a page once (support/single-look.grit). */
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { root } from './support/documentation.ts'

/** Those of the lines that lint refuses in a test. */
function refused(lines: readonly string[]): readonly (string | undefined)[] {
  // The rule holds below test/ only.
  const folder = mkdtempSync(join(import.meta.dirname, 'single-look-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const file = join(folder, 'looks.ts')
  writeFileSync(file, lines.join('\n'))
  const command = ['lint', '--only=plugin', '--reporter=json', '--max-diagnostics=200', file]
  const { stdout } = spawnSync(join(root, 'node_modules/.bin/biome'), command, { cwd: root, encoding: 'utf8' })
  const { diagnostics }: { diagnostics: { location: { start: { line: number } } }[] } = JSON.parse(stdout)
  const numbers = new Set(diagnostics.map(({ location }) => location.start.line))
  return [...numbers].toSorted((a, b) => a - b).map((number) => lines[number - 1])
}

it('a test cannot look at a page once', () => {
  const ofLocators = ['allTextContents', 'allInnerTexts', 'textContent', 'innerText', 'innerHTML', 'inputValue']
  const ofStates = ['isVisible', 'isHidden', 'isDisabled', 'isEnabled', 'isEditable', 'isChecked']
  const others = ['boundingBox', 'ariaSnapshot', 'evaluate', 'evaluateAll', 'evaluateHandle', 'getAttribute', 'cookies']
  const handles = ['elementHandle', 'elementHandles', '$', '$$', '$eval', '$$eval', 'screenshot']
  const methods = [...ofLocators, ...ofStates, ...others, ...handles]
  const lines = [
    ...methods.flatMap((name) => [`await row.${name}()`, `await page.${name}('a', { timeout: 1 })`]),
    ...['count', 'all', 'title'].map((name) => `await row.${name}()`),
    'await rows?.count()',
    ...['page', 'feed.page'].flatMap((page) => [`${page}.url()`, `await ${page}.content()`]),
    'expect.poll(() => row.getAttribute("a"))',
    'expect(await textOf(row).take()).toBe("")',
    'expectShown(countOf(rows)).toBe(0)',
  ]
  expect(refused(lines)).toEqual(lines)
})

it('a test can wait for what a page shows', () => {
  const lines = [
    'await expectShown(textOf(row)).toBe("")',
    'await expectNone(row, page.getByText("b"))',
    'await row.waitFor()',
    'const read = (rows) => rows.map((row) => row.getAttribute("a"))',
    'await Promise.all([one, two])',
    'request.url()',
    'await server.stop()',
  ]
  expect(refused(lines)).toEqual([])
})
