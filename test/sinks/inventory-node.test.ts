import { expect, it } from 'vitest'
import { describeNode } from '../../src/sinks/inventory-node.ts'

it('describes an object whose labels are not texts', () => {
  const belonging = { cloudOwner: 'o', cloudRegion: 'r', tenantId: 't' } as Parameters<typeof describeNode>[1]
  const resource = { name: 'n', group: '', version: 'v1', kind: 'Pod', namespace: null, readiness: 'READY' }
  const shown = { resource, detail: { metadata: { labels: { a: 'b', c: { toString: null }, d: 5 } } } }
  const { body } = describeNode(
    'https://rollcall.example',
    belonging,
    'i',
    shown as unknown as Parameters<typeof describeNode>[3],
    [],
  )
  expect(body.labels).toEqual([
    'k8splugin.io/rb-instance-id=i',
    'rollcall/readiness=Ready',
    'a=b',
    'c={"toString":null}',
    'd=5',
  ])
})
