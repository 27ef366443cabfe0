import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { root } from '../support/documentation.ts'
import { faults } from './faults.ts'

it('are at places that exist, once each, and are looked for by tests that exist', () => {
  for (const { file, find, put, tests } of faults) {
    expect([file, find, readFileSync(join(root, 'src', file), 'utf8').split(find).length - 1]).toEqual([file, find, 1])
    expect(put).not.toBe(find)
    for (const test of tests)
      expect([test, existsSync(join(root, test)) || existsSync(join(root, `${test}.test.ts`))]).toEqual([test, true])
  }
})

it('are sixty and more, and in each folder of src', () => {
  expect(faults.length).toBeGreaterThanOrEqual(60)
  const folders = readdirSync(join(root, 'src'), { withFileTypes: true }).filter((one) => one.isDirectory())
  const broken = new Set(faults.map(({ file }) => file.split('/')[0]))
  expect(folders.map(({ name }) => name).filter((name) => !broken.has(name))).toEqual([])
})
