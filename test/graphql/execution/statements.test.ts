/** Each level of a query is one statement for any number of rows. Unselected fields cost none. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { deploymentIntentGroup, type LifecycleRolloutName } from '../../../src/domain/rollout.ts'
import { declareDeployments } from '../../../src/ingest/commands/declare.ts'
import { recordActions } from '../../../src/ingest/commands/lifecycle-actions.ts'
import { reportResources } from '../../../src/ingest/commands/resources.ts'
import { type Api, startApi } from '../harness.ts'

describe('statements of a query', () => {
  let api: Api

  beforeAll(async () => {
    api = await startApi()
    await grow(0, 3)
  })
  afterAll(() => api.close())

  async function grow(from: number, to: number): Promise<void> {
    const numbers = Array.from({ length: to - from }, (_, i) => from + i)
    const declared = numbers.map((n) => ({
      deviceId: `edge-${n}`,
      deploymentId: `d-${n}`,
      application: 'nginx',
      applicationVersion: null,
      components: ['web'],
    }))
    await api.road.writer.submit(declareDeployments({ name: `rollout-${from}`, project: null }, declared))
    await Promise.all(numbers.map(orchestrate))
    const components = [{ name: 'web', state: 'PENDING', error: null }] as const
    await Promise.all(
      numbers.flatMap((n) => [
        api.report({ reporter: `edge-${n}`, deploymentId: `d-${n}`, state: 'INSTALLING', components }),
        api.report({ reporter: 'gw', deviceId: `gw/child-${n}`, deploymentId: `c-${n}`, state: 'FAILED', components }),
      ]),
    )
  }

  async function orchestrate(n: number): Promise<void> {
    const name = deploymentIntentGroup('p', 'app', 'v1', `dig-${n}`) as LifecycleRolloutName
    const instanceId = String(700_000 + n)
    const fact = { instanceId: null, at: null, timestamp: null, compositeProfile: null }
    await api.road.writer.submit(
      recordActions(
        name,
        [
          { ...fact, state: 'CREATED' },
          { ...fact, state: 'APPROVED' },
          { ...fact, state: 'INSTANTIATED', instanceId },
        ],
        'an operator',
      ),
    )
    const target = { kind: 'CLUSTER', provider: 'p', name: `edge-${n}` } as const
    const object = { group: 'apps', version: 'v1', kind: 'Deployment', namespace: 'default' }
    const items = ['a', 'b'].map((item) => ({
      ...object,
      component: 'web',
      target,
      name: item,
      sync: 'APPLIED' as const,
      showable: true,
    }))
    await api.road.writer.submit(reportResources(name, instanceId, items))
  }

  const documents: readonly (readonly [string, number])[] = [
    ['{ __typename }', 0],
    ['{ revision }', 0],
    ['{ deploymentCounts { total revision } }', 1],
    ['{ deployments { totalCount } }', 1],
    [
      '{ deployments(first: 100) { nodes { id state components { name } } pageInfo { endCursor } edges { cursor } } }',
      1,
    ],
    ['{ deployments(first: 100) { totalCount nodes { id } } }', 2],
    ['{ deployments(first: 100) { nodes { target { name } device { deviceId } } } }', 2],
    ['{ deployments(first: 100) { nodes { rollout { name deploymentCounts { total } } } } }', 2],
    [
      '{ deployments(first: 100) { nodes { rollout { deployments(first: 5) { nodes { id device { deviceId } } } } } } }',
      4,
    ],
    ['{ deployments(first: 100) { nodes { history { nodes { kind } } } } }', 2],
    [
      '{ deployments(first: 100) { nodes { history { nodes { ... on DeploymentStateChanged { deployment { id } } } } } } }',
      3,
    ],
    ['{ deployments(first: 100) { nodes { components { history { nodes { kind } totalCount } } } } }', 3],
    ['{ deployments(first: 100) { nodes { reports { nodes { verdict } totalCount } } } }', 3],
    [
      '{ deployments(first: 100) { nodes { reports { nodes { error { code } components { name } deployment { id } } } } } }',
      6,
    ],
    ['{ devices(first: 100) { nodes { parent { deviceId } children { totalCount nodes { deviceId } } } } }', 4],
    ['{ devices(first: 100) { nodes { deploymentCounts { total } deployments { nodes { id } } } } }', 3],
    ['{ devices(first: 100) { nodes { deviations { kind count lastAt example } } } }', 2],
    ['{ rollouts(first: 100) { nodes { deploymentCounts { total } deployments { nodes { id } totalCount } } } }', 3],
    ['{ rollouts(first: 100) { nodes { convergence deploymentCounts { total convergence { stale } } } } }', 1],
    ['{ changes(first: 100) { nodes { kind } } }', 1],
    ['{ rollouts(first: 100) { nodes { createdAt startedAt changedAt finishedAt } } }', 1],
    ['{ rollouts(first: 100) { nodes { labels { key value } } } }', 2],
    ['{ rollouts(first: 100) { nodes { changes(first: 2) { nodes { kind } totalCount } } } }', 3],
    [
      '{ changes(first: 100) { nodes { ... on DeploymentChange { deployment { id } device { deviceId } rollout { name } } } } }',
      4,
    ],
    ['{ changes(first: 100) { nodes { ... on DeploymentRevised { fromRollout { name } } } } }', 1],
    ['{ rollouts(first: 100) { nodes { actions { state } instances { instanceId status } } } }', 3],
    ['{ rollouts(first: 100) { nodes { readiness resourceCounts { total } } } }', 3],
    ['{ rollouts(first: 100) { nodes { instances { resources(first: 5) { nodes { name } totalCount } } } } }', 4],
    ['{ rollouts(first: 100) { nodes { instances { resources { nodes { detail appliedDetail } } } } } }', 4],
    ['{ deployments(first: 100) { nodes { readiness components { readiness resourceCounts { total } } } } }', 2],
    ['{ deployments(first: 100) { nodes { components { resources(first: 2) { nodes { name } } } } } }', 2],
    ['{ deployments(first: 100) { nodes { resources { nodes { target { name } instance { instanceId } } } } } }', 4],
    ['{ resourceCounts { total } }', 1],
    ['{ resources(first: 100) { nodes { history(first: 2) { nodes { kind } totalCount } } } }', 3],
    ['{ deviationCounts { kind devices reports } }', 1],
    ['{ history { oldestRevision } }', 0],
    ['{ deployments(first: 100) { nodes { target { deploymentCounts { total } deployments { nodes { id } } } } } }', 4],
    [
      '{ resources(first: 100) { nodes { name rollout { name } deployment { state } instance { rollout { name } } } } }',
      4,
    ],
    ['{ deploymentGroups(by: COMPONENT) { nodes { key counts { total convergence { stale } } } totalCount } }', 1],
    [
      '{ deploymentGroups(by: ERROR, filter: { states: [FAILED] }) { nodes { key deployments(first: 1) { id } } totalCount } }',
      2,
    ],
    ['{ deploymentGroups(by: TARGET) { nodes { key target { name } deployments(first: 2) { state } } } }', 3],
    ['{ rollouts(first: 100) { nodes { deploymentGroups(by: ERROR) { nodes { key deployments { id } } } } } }', 3],
    ['{ deploymentGroups(by: TARGET) { nodes { deploymentGroups(by: COMPONENT) { totalCount nodes { key } } } } }', 2],
    [
      '{ rollouts(first: 50) { nodes { deploymentGroups(by: ERROR) { nodes { deploymentGroups(by: TARGET) { nodes { deployments { id } } } } } } } }',
      4,
    ],
  ]

  it.each(documents)('%s is %i', async (document, expected) => {
    api.statements()
    await api.ask(document)
    expect(api.statements()).toBe(expected)
  })

  it('do not grow with the rows', async () => {
    await grow(3, 40)
    for (const [document, expected] of documents) {
      api.statements()
      await api.ask(document)
      expect([document, api.statements()]).toEqual([document, expected])
    }
  })

  it('do not grow with past rows either', async () => {
    const { revision } = await api.ask('{ revision }')
    await grow(40, 44)
    const ask = (first: number) =>
      api.ask(
        `query ($r: Revision, $first: Int) { deployments(atRevision: $r, first: $first) { totalCount nodes {
          device { deploymentCounts { total } } rollout { deployments { nodes { id } } } history { nodes { kind } }
        } } }`,
        { r: revision, first },
      )
    await ask(2)
    const few = api.statements()
    await ask(60)
    expect(api.statements()).toBe(few)
  })

  it('are not repeated for a field selected twice', async () => {
    api.statements()
    await api.ask('{ a: deployments(first: 2) { nodes { id } } b: deployments(first: 2) { nodes { state } } }')
    expect(api.statements()).toBe(1)
  })
})
