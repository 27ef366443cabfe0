import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { stores } from '../../support/databases/stores.ts'
import { type Api, startApi } from '../harness.ts'

const problem = '... on UserError { message path } ... on InvalidInput { problems { path message } }'

const declare = `mutation ($input: DeclareDeploymentsInput!) { result: declareDeployments(input: $input) {
  __typename ${problem}
  ... on DeclareDeploymentsSuccess { revision rollout { name project deploymentCounts { total pending } } deployments { id deploymentId state application components { name state } } }
} }`
const forget = `mutation ($input: ForgetDeploymentsInput!) { result: forgetDeployments(input: $input) {
  __typename ${problem}
  ... on ForgetDeploymentsSuccess { revision deployments { id deploymentId forgottenAt } }
} }`

describe.each(stores)('mutations on $name', (store) => {
  let api: Api

  beforeAll(async () => {
    api = await startApi({ store })
  })
  afterAll(() => api.close())

  const run = async (mutation: string, input: object) => (await api.ask(mutation, { input })).result

  describe('declareDeployments', () => {
    it('shows what is declared as PENDING, in its rollout', async () => {
      const result = await run(declare, {
        rollout: { name: 'spring', project: 'fleet' },
        deployments: [
          {
            deviceId: 'edge-1',
            deploymentId: 'd-1',
            application: 'nginx',
            applicationVersion: '1.2',
            components: ['web', 'db'],
          },
          { deviceId: 'edge-2', deploymentId: 'd-2' },
        ],
      })
      expect(result).toMatchObject({
        __typename: 'DeclareDeploymentsSuccess',
        rollout: { name: 'spring', project: 'fleet', deploymentCounts: { total: 2, pending: 2 } },
        deployments: [
          {
            deploymentId: 'd-1',
            state: 'PENDING',
            application: 'nginx',
            components: [
              { name: 'web', state: 'PENDING' },
              { name: 'db', state: 'PENDING' },
            ],
          },
          { deploymentId: 'd-2', state: 'PENDING', application: null, components: [] },
        ],
      })
      expect(await api.ask('{ revision }')).toEqual({ revision: result.revision })
    })

    it('needs no rollout', async () => {
      const result = await run(declare, { deployments: [{ deviceId: 'edge-3', deploymentId: 'd-3' }] })
      expect(result).toMatchObject({
        __typename: 'DeclareDeploymentsSuccess',
        rollout: null,
        deployments: [{ deploymentId: 'd-3' }],
      })
    })

    it('refuses device IDs that no path of a report may have', async () => {
      for (const deviceId of ['edge-1 ', '\ufeffedge-1', 'edge\u001b[2J']) {
        const result = await run(declare, { deployments: [{ deviceId, deploymentId: 'd-4' }] })
        expect(result).toMatchObject({ __typename: 'InvalidInput', path: ['deployments', '0', 'deviceId'] })
      }
    })

    it('reports every problem with its path', async () => {
      const bad = { deviceId: 'x'.repeat(257), deploymentId: '', application: '', components: ['a', 'a', ''] }
      const result = await run(declare, { rollout: { name: '' }, deployments: [bad, bad] })
      expect(result.problems.map(({ path }: { path: string[] }) => path.join('.'))).toEqual([
        'rollout.name',
        ...[0, 1].flatMap((i) =>
          ['deviceId', 'deploymentId', 'application', 'components.2', 'components.1'].map(
            (field) => `deployments.${i}.${field}`,
          ),
        ),
        'deployments.1',
      ])
      expect(await run(declare, { deployments: [] })).toMatchObject({
        __typename: 'InvalidInput',
        path: ['deployments'],
      })
    })
  })

  describe('forgetDeployments', () => {
    it('removes deployments from lists and counts; their IDs still resolve', async () => {
      await api.report({ deploymentId: 'gone', reporter: 'edge-9' })
      const { deployment } = await api.ask('{ deployment(deploymentId: "gone") { id } }')
      const result = await run(forget, { ids: [deployment.id] })
      expect(result).toMatchObject({
        __typename: 'ForgetDeploymentsSuccess',
        deployments: [{ id: deployment.id, forgottenAt: expect.any(String) }],
      })
      expect(
        await api.ask(
          `query ($id: ID!) {
          node(id: $id) { ... on Deployment { deploymentId } }
          deployment(deploymentId: "gone") { id }
          deployments(filter: { reporters: ["edge-9"] }) { totalCount }
          changes(filter: { deploymentIds: ["gone"] }, last: 1) { nodes { __typename ... on DeploymentForgotten { deployment { id forgottenAt } } } }
        }`,
          { id: deployment.id },
        ),
      ).toEqual({
        node: { deploymentId: 'gone' },
        deployment: null,
        deployments: { totalCount: 0 },
        changes: {
          nodes: [
            {
              __typename: 'DeploymentForgotten',
              deployment: { id: deployment.id, forgottenAt: result.deployments[0].forgottenAt },
            },
          ],
        },
      })
    })

    it('forgets none if an ID is not a deployment, and reports which', async () => {
      await api.report({ deploymentId: 'kept', reporter: 'edge-9' })
      const { deployment, device } = await api.ask(
        '{ deployment(deploymentId: "kept") { id } device(deviceId: "edge-9") { id } }',
      )
      for (const bad of ['garbage', device.id])
        expect(await run(forget, { ids: [deployment.id, bad] })).toMatchObject({
          __typename: 'NotFound',
          path: ['ids', '1'],
        })
      expect((await api.ask('{ deployment(deploymentId: "kept") { forgottenAt } }')).deployment.forgottenAt).toBeNull()
    })
  })

  it('see the writes of earlier mutations in the same operation', async () => {
    const answer = await api.ask(`mutation {
      a: declareDeployments(input: { rollout: { name: "steps" }, deployments: [{ deviceId: "s", deploymentId: "s-1" }] }) { ... on DeclareDeploymentsSuccess { rollout { deploymentCounts { total } } } }
      b: declareDeployments(input: { rollout: { name: "steps" }, deployments: [{ deviceId: "s", deploymentId: "s-2" }] }) { ... on DeclareDeploymentsSuccess { rollout { deploymentCounts { total } } } }
    }`)
    expect(answer).toEqual({
      a: { rollout: { deploymentCounts: { total: 1 } } },
      b: { rollout: { deploymentCounts: { total: 2 } } },
    })
  })

  it('leave no snapshot open', () => {
    expect(api.openSnapshots()).toBe(0)
  })
})
