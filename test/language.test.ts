/**
 * Plain technical English: words that stand for an unnamed person or for a metaphor do not return. CONTRIBUTING.md has the rules;
 * a test can check only some of them.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { filesOfCheckout, root } from './support/documentation.ts'

/** Everything but what others wrote, and this list of words. */
const isOurs = (file: string): boolean =>
  /^(deploy|src|test)\/|^[^/]*\.md$|\/[^/]*\.md$|^schema\.graphql$/.test(file) &&
  !file.startsWith('test/fixtures/') &&
  file !== 'test/language.test.ts'

/** "client", "caller", "subscriber" or "operator" says who it is; "receives" or "is refused" says what happens. `'nobody'` is a user of Unix. */
const banned = /\b(whoever|whomever|somebody|nobody(?!')|anybody|he|him|his|(?:is|are|was|were|be|been|being) told)\b/i

const files = filesOfCheckout().filter(
  (file) => isOurs(file) && /\.(tsx?|css|html|md|graphql|conf|ya?ml)$|Dockerfile$/.test(file),
)

it('uses no banned word', () => {
  const found = files.flatMap((file) =>
    readFileSync(join(root, file), 'utf8')
      .split('\n')
      .flatMap((line, index) => (banned.test(line) ? [`${file}:${index + 1}: ${banned.exec(line)?.[0]}`] : [])),
  )
  expect(files.length).toBeGreaterThan(100)
  expect(found).toEqual([])
})
