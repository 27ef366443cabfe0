/** docs/security.md: each threat names the tests that hold its countermeasure, and security-claims.md names the test of each sentence. */
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

/** Without the tests that they name. */
const sentences = threats.flatMap(([, , countermeasure = '']) =>
  countermeasure
    .replaceAll(/\s*\(?(`test\/[\w./-]+`\s*)+\)?/g, ' ')
    .trim()
    .split(/(?<=[.)])\s+(?=[A-Z`])/)
    .map((sentence) => sentence.trim())
    .filter((sentence) => /\w/.test(sentence)),
)
const claims = [
  ...readPage('test/docs/security-claims.md').matchAll(/^\| (?!Claim|---)(.+?) \| (\S*) \| (.+) \|$/gm),
].map(([, claim = '', file = '', test = '']) => ({ claim, file, test }))

it('has a claim for each sentence, in order', () => {
  expect(sentences.length).toBeGreaterThan(200)
  expect(sentences.filter((sentence, index) => !sentence.startsWith(claims[index]?.claim ?? '\0'))).toEqual([])
  expect(claims).toHaveLength(sentences.length)
})

it('has a test for each claim', () => {
  const isThere = ({ file, test }: (typeof claims)[number]): boolean =>
    file === '' ? test === 'explains' : existsSync(join(root, file)) && hasTest(readPage(file), test)
  expect(claims.filter((claim) => !isThere(claim))).toEqual([])
  expect(claims.filter(({ test }) => test === 'explains').length).toBeLessThan(10)
})

/** Whether a string of the text, which is the name of a test, begins with that. */
function hasTest(text: string, name: string): boolean {
  return ["'", '`', '"'].some((quote) => text.includes(quote + name))
}
