import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { commit, fileOf, firstCommit, grow } from '../../src/api/git/commits.ts'
import { change, digestOf } from './harness.ts'

describe('the file of a deployment', () => {
  it('is its id where that is a name everywhere', () => {
    for (const id of ['a3e2f5dc-912e-494f-8395-52cf3769bc06', 'press-control', 'a', 'v1.2_3'])
      expect(fileOf(id)).toBe(`deployments/${id}.yaml`)
  })

  it('is otherwise what can be read of it, and its hash', () => {
    expect(fileOf('Line 1/Press')).toMatch(/^deployments\/Line_1_Press~[0-9a-f]{32}\.yaml$/)
    const ids = ['.git', '..', '.', 'con', 'com1', 'nul.txt', 'a.', '-a', 'A', 'ü', 'x'.repeat(101), '😀'.repeat(256)]
    for (const id of ids) expect(fileOf(id)).toMatch(/^deployments\/[A-Za-z0-9_-]{0,60}~[0-9a-f]{32}\.yaml$/)
  })

  it('is valid on every file system, and unique, also without regard to case', () => {
    const any = fc.string({ unit: 'binary', minLength: 1, maxLength: 256 })
    const alike = fc.string({ unit: fc.constantFrom(...'aA.-_~/ 1'), minLength: 1, maxLength: 5 })
    const id = fc.oneof(any, alike)
    fc.assert(
      fc.property(id, id, (a, b) => {
        expect(fileOf(a)).toMatch(/^deployments\/[A-Za-z0-9._~-]{1,110}\.yaml$/)
        if (a !== b) expect(fileOf(a).toLowerCase()).not.toBe(fileOf(b).toLowerCase())
      }),
      { numRuns: 500 },
    )
  })
})

describe('a commit', () => {
  const changes = [change('a', 'x: ü\n')]
  const version = { version: 2, at: 1_783_663_200_999, caller: 'ann', why: 'Line 1 is ready', changes }
  const tree = grow(new Map(), changes)
  const said = (more: Partial<typeof version>): string => commit({ ...version, ...more }, tree, false)

  it('is made of nothing but the history', () => {
    expect(said({})).toBe(`commit refs/heads/main
author ann <> 1783663200 +0000
committer Rollcall <> 1783663200 +0000
data 37
Line 1 is ready

Manifest-Version: 2

M 100644 inline deployments/a.yaml
data 6
x: ü

M 100644 inline manifest.json
data 216
{
  "manifestVersion": 2,
  "deployments": [
    {
      "deploymentId": "a",
      "digest": "${digestOf('x: ü\n')}",
      "path": "deployments/a.yaml"
    }
  ]
}

`)
    expect(firstCommit()).toContain('"manifestVersion": 1')
  })

  it.each([
    ['ann@example.com', 'ann@example.com <ann@example.com>'],
    ['', 'unknown <>'],
    ['a <b> c', 'a b c <>'],
    ['x\ncommitter Eve <> 0 +0000', 'x committer Eve 0 +0000 <>'],
    ['\0\r\n', '\\u0000 <>'],
    ['\r\n', 'unknown <>'],
    ['ann\u202e@gro.live', 'ann\\u202e@gro.live <ann\\u202e@gro.live>'],
  ])('%j is its author as %s', (who, author) => {
    expect(said({ caller: who }).split('\n')[1]).toBe(`author ${author} 1783663200 +0000`)
  })

  it.each([
    [[change('a', 'x'), change('b', null)], 'Declare a; Remove b'],
    [['a', 'b', 'c', 'd', 'e'].map((id) => change(id, 'x')), 'Declare a, b, c and 2 more'],
    [[change('a\nb', 'x')], 'Declare a b'],
    [[change('a\u200bb', 'x')], 'Declare a\\u200bb'],
  ])('says what it changes when no reason is given', (some, why) => {
    expect(said({ why: ' \n', changes: some })).toContain(`\n${why}\n\nManifest-Version: 2\n`)
  })

  it('shows hidden characters of its reason as escapes, and keeps its lines', () => {
    expect(said({ why: 'Line 1\r\nis \u202eydaer\0' })).toContain('\nLine 1\nis \\u202eydaer\\u0000\n\nManifest')
  })
})
