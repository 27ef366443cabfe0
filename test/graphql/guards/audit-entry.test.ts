import { describe, expect, it } from 'vitest'
import { summaryOf } from '../../../src/api/graphql/guards/audit-entry.ts'

describe('the input in an audit log entry', () => {
  it('shows the values', () => {
    const input = { deviceId: 'edge-1', labels: [{ key: 'site', value: 'munich' }], overlap: 60, parent: null }
    expect(summaryOf(input)).toEqual(input)
  })

  it.each([
    'secret',
    'clientSecret',
    'token',
    'password',
    'credentials',
    'url',
    'detail',
    'document',
    'resourceBundleState',
  ])('hides a %s, however deep', (field) => {
    expect(summaryOf({ list: [{ [field]: 'hidden' }] })).toEqual({ list: [{ [field]: '…' }] })
  })

  it('is limited in size', () => {
    expect(summaryOf({ name: 'n'.repeat(121) })).toEqual({ name: `${'n'.repeat(120)}…` })
    expect(summaryOf({ name: 'n'.repeat(120) })).toEqual({ name: 'n'.repeat(120) })
    expect(summaryOf([1, 2, 3, 4, 5, 6, 7])).toEqual([1, 2, 3, 4, 5, 'and 2 more'])
    expect(summaryOf({ a: { b: { c: { d: { e: 1 } } } } })).toEqual({ a: { b: { c: { d: '…' } } } })
  })
})
