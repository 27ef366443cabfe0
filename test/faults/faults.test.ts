import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
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

const floors = ['domain', 'store', 'feed', 'ingest']

it('are sixty and more, and in each part of src', () => {
  expect(faults.length).toBeGreaterThanOrEqual(60)
  const partOf = (file: string): string => {
    const [floor = '', part = ''] = file.split('/')
    return floors.includes(floor) ? floor : `${floor}/${part}`
  }
  const parts = readdirSync(join(root, 'src'), { recursive: true, encoding: 'utf8' })
    .filter((file) => /\.tsx?$/.test(file) && file.split('/').length > (floors.includes(dirname(file)) ? 1 : 2))
    .map(partOf)
  const broken = faults.map(({ file }) => partOf(file))
  expect([...new Set(parts)].filter((part) => !broken.includes(part))).toEqual([])
})
