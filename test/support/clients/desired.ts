/** An orchestrator that says what devices should run. */
import type { RunningApp } from '../servers/app.ts'

/** An ApplicationDeployment of one component. */
export const documentOf = (deploymentId: string, revision = '1.0.0', component = 'web') => `id: ${deploymentId}
metadata: { name: ${deploymentId}, namespace: test }
spec:
  applicationId: test
  deploymentProfile:
    type: compose
    components: [{ name: ${component}, properties: { packageLocation: https://packages.example/${revision}.tar.gz } }]
  parameters: {}
`

export interface Desired {
  readonly deviceId: string
  readonly deploymentId: string
  readonly document?: string
}

const declaration = `mutation ($input: DeclareDeploymentsInput!) { declareDeployments(input: $input) {
  ... on DeclareDeploymentsSuccess { deployments { id } } ... on UserError { message } } }`
const removal = `mutation ($input: RemoveDeploymentsInput!) { removeDeployments(input: $input) {
  ... on RemoveDeploymentsSuccess { revision } ... on UserError { message } } }`

/** Their ids, in their order. */
export async function declare(app: RunningApp, deployments: readonly Desired[], reason?: string): Promise<string[]> {
  const input = { deployments, ...(reason !== undefined && { reason }) }
  const { declareDeployments } = await app.query(declaration, { input })
  if (declareDeployments.message) throw new Error(declareDeployments.message)
  return declareDeployments.deployments.map(({ id }: { id: string }) => id)
}

export async function remove(app: RunningApp, ids: readonly string[], reason?: string): Promise<void> {
  const { removeDeployments } = await app.query(removal, { input: { ids, ...(reason !== undefined && { reason }) } })
  if (removeDeployments.message) throw new Error(removeDeployments.message)
}
