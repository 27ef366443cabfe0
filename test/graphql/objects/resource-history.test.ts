import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { deploymentIntentGroup, type LifecycleRolloutName } from '../../../src/domain/rollout.ts'
import { recordActions } from '../../../src/ingest/commands/lifecycle-actions.ts'
import { reportResources } from '../../../src/ingest/commands/resources.ts'
import { stores } from '../../support/databases/stores.ts'
import { type Api, startApi } from '../harness.ts'
import { namedAuth } from '../principals.ts'

describe.each(stores)('the history of resources on $name', (store) => {
  let api: Api
  beforeAll(async () => {
    api = await startApi({ store, graphql: { auth: namedAuth } })
    const name = deploymentIntentGroup('alpha', 'app', 'v1', 'dig') as LifecycleRolloutName
    const fact = { instanceId: null, at: null, timestamp: null, compositeProfile: null }
    await api.road.writer.submit(
      recordActions(
        name,
        [
          { ...fact, state: 'CREATED' },
          { ...fact, state: 'APPROVED' },
          { ...fact, state: 'INSTANTIATED', instanceId: '700' },
        ],
        'an operator',
      ),
    )
    const target = { kind: 'CLUSTER', provider: 'p', name: 'edge' } as const
    const object = { group: '', version: 'v1', kind: 'Pod', namespace: null, component: 'web', target, showable: true }
    for (const [one, sync] of [
      ['a', 'PENDING'],
      ['b', 'PENDING'],
      ['a', 'APPLIED'],
      ['b', 'APPLIED'],
      ['b', 'FAILED'],
    ] as const)
      await api.road.writer.submit(reportResources(name, '700', [{ ...object, name: one, sync }]))
  })
  afterAll(() => api.close())

  const document =
    '{ resources { nodes { name history(first: 10) { totalCount nodes { revision ... on ResourceStatusChanged { toSync resource { name } } } } } } }'

  it('has the changes of that resource alone, in order', async () => {
    const { resources } = await api.ask(document)
    const shown = resources.nodes.map(({ name, history }: Shown) => [
      name,
      history.totalCount,
      history.nodes.map(({ toSync, resource }) => `${resource.name} ${toSync}`),
    ])
    expect(shown.toSorted()).toEqual([
      ['a', 2, ['a PENDING', 'a APPLIED']],
      ['b', 3, ['b PENDING', 'b APPLIED', 'b FAILED']],
    ])
  })

  it('has a deployment at each revision, also before the one of the same commit that makes it', async () => {
    const { changes } = await api.ask('{ changes { nodes { revision kind } } }')
    const kinds: string[] = changes.nodes.map(({ kind }: { readonly kind: string }) => kind)
    expect(kinds.indexOf('RESOURCE_STATUS_CHANGED')).toBeLessThan(kinds.indexOf('DEPLOYMENT_STATE_CHANGED'))
    for (const { revision } of changes.nodes) {
      const past = `{ resources(atRevision: "${revision}") { nodes { name deployment { deploymentId } } } }`
      const { resources } = await api.ask(past, {}, 'viewer/project:alpha')
      for (const { deployment } of resources.nodes) expect(deployment).toEqual({ deploymentId: '700' })
    }
  })

  it('ends at the revision of a past resource, and is seen within the access scope', async () => {
    const { resources } = await api.ask(document, {}, 'viewer/project:alpha')
    const [first, second] = resources.nodes[0].history.nodes
    expect(second).toBeDefined()
    const { changes } = await api.ask(
      '{ changes(first: 100, filter: { kinds: [RESOURCE_STATUS_CHANGED] }) { totalCount } }',
    )
    expect(changes.totalCount).toBe(5)
    const past = `query ($r: Revision) { rollout(key: { project: "alpha", compositeApp: "app", compositeAppVersion: "v1", name: "dig" }, atRevision: $r) {
      resources { nodes { name history { totalCount } } } } }`
    const { rollout } = await api.ask(past, { r: first.revision })
    const found = rollout.resources.nodes.find(({ name }: Shown) => name === resources.nodes[0].name)
    expect(found.history.totalCount).toBe(1)
  })

  it('has counts at many moments, in the access scope too', async () => {
    const { changes } = await api.ask(
      '{ changes(first: 100, filter: { kinds: [RESOURCE_STATUS_CHANGED] }) { nodes { at } } }',
    )
    const numbers = 'total sync { pending applied failed } revision'
    for (const as of ['viewer', 'viewer/project:alpha', 'viewer/project:beta'])
      for (const filter of ['', ', filter: { kinds: ["Pod"], apps: ["web"] }', ', filter: { sync: [APPLIED] }']) {
        const args = `from: "${changes.nodes[0].at}", to: "${changes.nodes.at(-1).at}", points: 9${filter}`
        const { resourceCountsOverTime: points } = await api.ask(
          `{ resourceCountsOverTime(${args}) { at revision counts { ${numbers} } } }`,
          {},
          as,
        )
        expect(points).toHaveLength(9)
        for (const { at, revision, counts } of points) {
          const { resourceCounts } = await api.ask(`{ resourceCounts(asOf: "${at}"${filter}) { ${numbers} } }`, {}, as)
          expect(counts).toEqual(resourceCounts)
          expect(revision).toBe(counts.revision)
        }
      }
    const { errors } = await api.query('{ resourceCountsOverTime(from: "1970-01-01T00:00:00Z") { at } }')
    expect(errors).toMatchObject([{ extensions: { code: 'HISTORY_EXPIRED' } }])
  })
})

interface Shown {
  readonly name: string
  readonly history: {
    readonly totalCount: number
    readonly nodes: readonly { readonly toSync: string; readonly resource: { readonly name: string } }[]
  }
}
