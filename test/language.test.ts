/**
 * Plain technical English: words that stand for an unnamed person or for a metaphor do not return. CONTRIBUTING.md has the rules;
 * a test can check only some of them.
 */
import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { root } from './support/documentation.ts'

/** Folders and files that have been rewritten. Add to this list, never remove from it. */
const plain = [
  'README.md',
  'CHANGELOG.md',
  'CONTRIBUTING.md',
  'schema.graphql',
  'deploy/',
  'docs/',
  ':(glob)src/*.ts',
  'src/auth/',
  'src/cli/',
  'src/client/',
  'src/clusters/',
  'src/dashboard/',
  'src/dialects/',
  'src/domain/',
  'src/export/',
  'src/feed/',
  'src/git/',
  'src/graphql/',
  'src/ingest/',
  'src/limits/',
  'src/mqtt/',
  'src/readiness/',
  'src/rest/',
  'src/simulate/',
  'src/sinks/',
  'src/store/',
  'src/traces/',
  'test/attacks/',
  'test/auth/',
  'test/clusters/',
  'test/config/',
  'test/dashboard/',
  'test/deploy/',
  'test/dialects/',
  'test/docs/',
  'test/domain/',
  'test/feed/',
  'test/git/',
  'test/graphql/',
  'test/ingest/',
  'test/limits/',
  'test/readiness/',
  'test/rest/',
  'test/road/',
  'test/sinks/',
  'test/store/',
]

/** "client", "caller", "subscriber" or "operator" says who it is; "receives" or "is refused" says what happens. */
const banned = /\b(whoever|whomever|somebody|nobody|anybody|he|him|his|(?:is|are|was|were|be|been|being) told)\b/i

const files = execFileSync('git', ['ls-files', ...plain], { cwd: root, encoding: 'utf8' })
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
