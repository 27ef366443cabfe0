/** However many rows a level of a query has, it is one statement; what is not selected is none. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { declareDeployments } from '../../src/ingest/commands/declare.ts'
import { type Api, startApi } from './harness.ts'

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
    const components = [{ name: 'web', state: 'PENDING', error: null }] as const
    await Promise.all(
      numbers.flatMap((n) => [
        api.report({ reporter: `edge-${n}`, deploymentId: `d-${n}`, state: 'INSTALLING', components }),
        api.report({ reporter: 'gw', deviceId: `gw/child-${n}`, deploymentId: `c-${n}`, state: 'FAILED', components }),
      ]),
    )
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
    ['{ deployments(first: 100) { nodes { rollout { name deploymentCounts { total } } } } }', 3],
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
    ['{ devices(first: 100) { nodes { parent { deviceId } children { totalCount nodes { deviceId } } } } }', 4],
    ['{ devices(first: 100) { nodes { deploymentCounts { total } deployments { nodes { id } } } } }', 3],
    ['{ rollouts(first: 100) { nodes { deploymentCounts { total } deployments { nodes { id } totalCount } } } }', 3],
    ['{ changes(first: 100) { nodes { kind } } }', 1],
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

  it('do not grow with the rows of the past either', async () => {
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

  it('are as few for the same asked twice in one query', async () => {
    api.statements()
    await api.ask('{ a: deployments(first: 2) { nodes { id } } b: deployments(first: 2) { nodes { state } } }')
    expect(api.statements()).toBe(1)
  })
})
