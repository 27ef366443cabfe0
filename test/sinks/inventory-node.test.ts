import { expect, it } from 'vitest'
import { describeNode, resourceId } from '../../src/outlets/sinks/inventory-node.ts'

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

it('names a k8s-resource as so-cnf-adapter does', () => {
  const words = { name: 'name', namespace: '', kind: 'kind', group: 'group', version: 'version' }
  const where = { cloudOwner: 'cloudOwner', cloudRegion: 'cloudRegion', tenantId: 'tenantId' }
  expect(resourceId('instanceId', words, where)).toBe(
    '335d6ab87744a3140b36e70eee7537e97523b5e09f26d1d0ee887fd5839f87e2',
  )
})
