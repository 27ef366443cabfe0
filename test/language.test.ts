/**
 * Plain technical English: words that stand for an unnamed person or for a metaphor do not return. CONTRIBUTING.md has the rules;
 * a test can check only some of them.
 */
import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { root } from './support/documentation.ts'

/** Everything but what others wrote, and this list of words. */
const texts = ['*.md', 'schema.graphql', 'deploy/', 'src/', 'test/', ':!test/fixtures/', ':!test/language.test.ts']

/** "client", "caller", "subscriber" or "operator" says who it is; "receives" or "is refused" says what happens. `'nobody'` is a user of Unix. */
const banned = /\b(whoever|whomever|somebody|nobody(?!')|anybody|he|him|his|(?:is|are|was|were|be|been|being) told)\b/i

const files = execFileSync('git', ['ls-files', ...texts], { cwd: root, encoding: 'utf8' })
  .split('\n')
  .filter((file) => /\.(tsx?|css|html|md|graphql|conf|ya?ml)$|Dockerfile$/.test(file) && existsSync(join(root, file)))

it('uses no banned word', () => {
  const found = files.flatMap((file) =>
    readFileSync(join(root, file), 'utf8')
      .split('\n')
      .flatMap((line, index) => (banned.test(line) ? [`${file}:${index + 1}: ${banned.exec(line)?.[0]}`] : [])),
  )
  expect(files.length).toBeGreaterThan(100)
  expect(found).toEqual([])
})
