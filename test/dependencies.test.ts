/** What docs/security.md lists as known to be bad is not in the lockfile. */
import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { readPage, root } from './support/documentation.ts'

type Version = readonly number[]

const rows = [...readPage('docs/security.md').matchAll(/^\| `([^`]+)` \| ([\d.]+) \| ([\d.]+) \| (.+) \|$/gm)]
const bad = rows.map(([, name = '', from = '', before = '', advisory = '']) => ({ name, from, before, advisory }))

function parse(version: string): Version {
  return (version.split(/[-+]/)[0] ?? '').split('.').map(Number)
}

function isOlder(a: Version, b: Version): boolean {
  const at = [0, 1, 2].find((index) => (a[index] ?? 0) !== (b[index] ?? 0))
  return at !== undefined && (a[at] ?? 0) < (b[at] ?? 0)
}

function findBad(packages: Readonly<Record<string, { readonly version?: string }>>): string[] {
  return Object.entries(packages).flatMap(([path, { version }]) =>
    bad
      .filter(({ name }) => path.endsWith(`node_modules/${name}`) && version !== undefined)
      .filter(({ from, before }) => {
        const at = parse(version ?? '')
        return !isOlder(at, parse(from)) && isOlder(at, parse(before))
      })
      .map(({ name, advisory }) => `${name} ${version} (${path}): ${advisory}`),
  )
}

describe('the dependencies', () => {
  it.each([['package-lock.json'], ['test/bench/package-lock.json']])(
    'of %s are none that are known to be bad',
    (file) => {
      const { packages } = JSON.parse(readFileSync(`${root}/${file}`, 'utf8'))
      expect(findBad(packages)).toEqual([])
    },
  )

  it('would be found out', () => {
    expect(bad.length).toBeGreaterThan(10)
    const found = (name: string, version: string) => findBad({ [`node_modules/${name}`]: { version } })
    for (const { name, from, before } of bad) {
      expect([name, found(name, from).length > 0]).toEqual([name, true])
      const [major = 0, minor = 0, patch = 0] = parse(before)
      const older =
        patch > 0 ? `${major}.${minor}.${patch - 1}` : minor > 0 ? `${major}.${minor - 1}.9` : `${major - 1}.9.9`
      expect([name, found(name, older).length > 0]).toEqual([name, true])
    }
    expect(found('ws', '8.20.0')).toHaveLength(1)
    expect(found('graphql', '16.2.0')).toEqual([])
    expect(found('graphql', '16.8.1')).toEqual([])
    expect(findBad({ 'node_modules/a/node_modules/ws': { version: '8.17.0' } })).toHaveLength(2)
  })
})
