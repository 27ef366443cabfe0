import { describe, expect, it } from 'vitest'
import { parseLabelSelector } from '../../src/domain/selectors/label-selector.ts'

describe('--selector', () => {
  it('means what it means for kubectl', () => {
    expect(parseLabelSelector('site=munich,env!=dev, ring in (a, b),tier notin (x),spare,!old,empty==')).toEqual([
      { key: 'site', equals: 'munich' },
      { key: 'env', notIn: ['dev'] },
      { key: 'ring', in: ['a', 'b'] },
      { key: 'tier', notIn: ['x'] },
      { key: 'spare', exists: true },
      { key: 'old', exists: false },
      { key: 'empty', equals: '' },
    ])
  })

  it.each(['', ',', 'a=b,', '=b', 'a in b', 'a in (b', '!a=b', 'a b', '!'])('refuses %j', (text) => {
    expect(parseLabelSelector(text)).toBe(null)
  })
})
