/** A forgotten deployment comes back in a rollout of another project: what a reader of that project has of it, also after it has left again. */
import { afterAll, beforeAll, expect, it } from 'vitest'
import { declareDeployments } from '../../../src/ingest/commands/declare.ts'
import { forgetDeployments } from '../../../src/ingest/commands/remove.ts'
import { type Api, startApi } from '../harness.ts'
import { namedAuth } from '../principals.ts'

const reader = 'viewer/project:beta'
const list = '{ deployments { nodes { deploymentId rollout { project } } } }'
let api: Api

beforeAll(async () => {
  api = await startApi({ graphql: { auth: namedAuth } })
  await declare('alpha')
  const [row] = await api.road.database.session.run<{ readonly key: number }>('select key from deployments')
  await api.road.writer.submit(forgetDeployments([row?.key ?? 0]))
  await declare('beta')
  await declare('alpha')
})
afterAll(() => api.close())

function declare(project: string) {
  const more = { application: null, applicationVersion: null, components: ['web'] }
  const rollout = { name: project, project }
  return api.road.writer.submit(declareDeployments(rollout, [{ deviceId: 'edge', deploymentId: 'fan', ...more }]))
}

it('has each change with the deployment as of that change, and lists it there', async () => {
  const { deployments, changes } = await api.ask(
    `{ deployments { nodes { deploymentId } }
      changes { nodes { revision kind ... on DeploymentChange { deployment { deploymentId rollout { project } } } } } }`,
    {},
    reader,
  )
  expect(deployments.nodes).toEqual([])
  const seen = { deploymentId: 'fan', rollout: { project: 'beta' } }
  expect(changes.nodes).toEqual(
    ['DEPLOYMENT_STATE_CHANGED', 'DEPLOYMENT_REVISED', 'COMPONENT_STATE_CHANGED'].map((kind) => ({
      revision: expect.any(String),
      kind,
      deployment: seen,
    })),
  )
  for (const { revision } of changes.nodes) {
    const past = await api.ask(list.replace('deployments', `deployments(atRevision: "${revision}")`), {}, reader)
    expect(past.deployments.nodes).toEqual([seen])
  }
})
