/** Cases of gitops-engine's and kstatus' own suites with the answer expected of us. They are not ours to ship, so they lie beside the project. */
import { existsSync, readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { readiness } from '../../src/domain/readiness/index.ts'

interface Case {
  readonly file: string
  readonly expected: string
  readonly reason?: string
}

const folder = new URL('../../../shared/fixtures/k8s-health/', import.meta.url)
const index = new URL('index.json', folder)
const isPresent = existsSync(index)
const cases: readonly Case[] = isPresent ? JSON.parse(readFileSync(index, 'utf8')) : []

// Skipped only where the fixtures are not checked out beside the project (see test/support/runner/programs.ts).
describe.skipIf(!isPresent)('the upstream cases', () => {
  test('are there', () => {
    expect(cases.length).toBeGreaterThan(0)
  })

  test.for(cases)('$file is $expected', ({ file, expected, reason }) => {
    // Some upstream cases spell a key twice, which their own parser lets pass.
    const object: unknown = parse(readFileSync(new URL(file, folder), 'utf8'), { uniqueKeys: false })
    const said = readiness(object)
    expect(said.readiness).toBe(expected)
    if (reason !== undefined) expect(said.reason).toBe(reason)
  })
})
