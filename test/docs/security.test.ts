/** docs/security.md: each threat names the tests that hold its countermeasure. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { readPage, root } from '../support/documentation.ts'

const [, table = ''] = /^## Threats and countermeasures$(.*?)^## /ms.exec(readPage('docs/security.md')) ?? []
const threats = [...table.matchAll(/^\| (?!An attacker|---)([^|]+) \| (.*) \|$/gm)]

it('names a test for each threat, and none that does not exist', () => {
  expect(threats.length).toBeGreaterThan(30)
  for (const [, threat, countermeasure = ''] of threats) {
    const tests = [...countermeasure.matchAll(/`(test\/[\w./-]+)`/g)].map(([, path = '']) => path)
    expect(tests.length, threat).toBeGreaterThan(0)
    for (const path of tests) expect([path, existsSync(join(root, path))]).toEqual([path, true])
  }
})
