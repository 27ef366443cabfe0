import { afterAll, beforeAll, expect } from 'vitest'
import type { Store } from '../../support/databases/stores.ts'
import { type Api, startApi } from '../harness.ts'

export const problem = '... on UserError { message path } ... on InvalidInput { problems { path message } }'
export const shown = `id deploymentId state convergence targetManifestVersion adoptedManifestVersion application components { name state }
  desired { digest content sizeBytes fromManifestVersion declaredBy reason }`
export const declare = `mutation ($input: DeclareDeploymentsInput!) { result: declareDeployments(input: $input) {
  __typename ${problem} ... on DeclareDeploymentsSuccess { revision deployments { ${shown} } }
} }`
export const remove = `mutation ($input: RemoveDeploymentsInput!) { result: removeDeployments(input: $input) {
  __typename ${problem} ... on RemoveDeploymentsSuccess { revision deployments { ${shown} } }
} }`
export const forget = `mutation ($input: ForgetDeploymentsInput!) { result: forgetDeployments(input: $input) { __typename ${problem} } }`

/** An ApplicationDeployment of these components. */
export function documentOf(revision: string, ...components: string[]): string {
  const list = components.map((name) => `      - name: ${name}\n        properties: { revision: ${revision} }\n`)
  return `spec:\n  applicationId: pumps\n  deploymentProfile:\n    type: helm\n    components:\n${list.join('')}`
}

export function useDesired(store: Store) {
  let api: Api
  beforeAll(async () => {
    api = await startApi({ store })
  })
  afterAll(() => api.close())

  const run = async (mutation: string, input: object) => (await api.ask(mutation, { input })).result
  const put = async (deviceId: string, deploymentId: string, document: string, reason?: string) => {
    const result = await run(declare, { deployments: [{ deviceId, deploymentId, document }], reason })
    expect(result.__typename).toBe('DeclareDeploymentsSuccess')
    return result.deployments[0]
  }
  const find = async (deploymentId: string) =>
    (await api.ask(`query ($id: String!) { deployment(deploymentId: $id) { ${shown} } }`, { id: deploymentId }))
      .deployment
  const say = (reporter: string, deploymentId: string, state: string, adoptedManifestVersion: string | null) =>
    api.report({ reporter, deploymentId, state: state as 'INSTALLED', adoptedManifestVersion })
  return { api: () => api, run, put, find, say }
}
