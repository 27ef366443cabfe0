/** What operators do with many rows at once. Each function returns what went wrong; null: nothing. */
import { ask } from './api.ts'
import { graphql, type VariablesOf } from './graphql.ts'

const removeDocument = graphql(`
  mutation Remove($input: RemoveDeploymentsInput!) { removeDeployments(input: $input) { __typename ... on UserError { message } } }
`)
const forgetDocument = graphql(`
  mutation Forget($input: ForgetDeploymentsInput!) { forgetDeployments(input: $input) { __typename ... on UserError { message } } }
`)
const retireDocument = graphql(`
  mutation Retire($input: RetireDevicesInput!) { retireDevices(input: $input) { __typename ... on UserError { message } } }
`)
const retirementDocument = graphql(`
  query Retirement($filter: DeviceFilter!) { retirement(filter: $filter, withChildren: true) { devices children deployments } }
`)
const acknowledgeDocument = graphql(`
  mutation Acknowledge($input: AcknowledgeAlertInput!) { acknowledgeAlert(input: $input) { __typename ... on UserError { message } } }
`)

const reinstateDocument = graphql(`
  mutation Reinstate($input: ReinstateDevicesInput!) { reinstateDevices(input: $input) { __typename ... on UserError { message } } }
`)
const declareDocument = graphql(`
  mutation Redeclare($input: DeclareDeploymentsInput!) { declareDeployments(input: $input) { __typename ... on UserError { message } } }
`)
const declaredDocument = graphql(`
  query Declared($ids: [ID!]) {
    deployments(filter: { ids: $ids }, first: 100) {
      nodes { id deploymentId application applicationVersion device { deviceId } documentHistory(first: 1) { nodes { digest } } }
    }
  }
`)
const contentDocument = graphql(`
  query DeclaredContent($id: ID!, $digest: String!) {
    node(id: $id) { ... on Deployment { desiredDocument(digest: $digest) { content } } }
  }
`)
const labelDocument = graphql(`
  mutation Label($input: SetRolloutLabelsInput!) { setRolloutLabels(input: $input) { __typename ... on UserError { message } } }
`)

type Declaration = VariablesOf<typeof declareDocument>['input']['deployments'][number]

const problemOf = (result: { readonly __typename: string; readonly message?: string }): string | null =>
  result.message ?? null

export const removeDeployments = async (ids: readonly string[], reason: string): Promise<string | null> =>
  problemOf((await ask(removeDocument, { input: { ids: [...ids], reason: reason || null } })).removeDeployments)

export const forgetDeployments = async (ids: readonly string[]): Promise<string | null> =>
  problemOf((await ask(forgetDocument, { input: { ids: [...ids] } })).forgetDeployments)

export const retireDevices = async (deviceIds: readonly string[], reason: string): Promise<string | null> =>
  problemOf(
    (await ask(retireDocument, { input: { devices: deviceIds.map((deviceId) => ({ deviceId })), reason } }))
      .retireDevices,
  )

export type RetiredFilter = NonNullable<VariablesOf<typeof retireDocument>['input']['filter']>

/** What that would change now, with the devices behind. */
export const countRetirement = async (filter: RetiredFilter) => (await ask(retirementDocument, { filter })).retirement

/** With the devices behind them. */
export const retireSelected = async (filter: RetiredFilter, reason: string): Promise<string | null> =>
  problemOf((await ask(retireDocument, { input: { filter, reason, withChildren: true } })).retireDevices)

/** Puts retired devices back in service. */
export const reinstateDevices = async (devices: readonly string[]): Promise<string | null> =>
  problemOf((await ask(reinstateDocument, { input: { devices: [...devices] } })).reinstateDevices)

/** With the retired devices behind them. */
export const reinstateSelected = async (filter: RetiredFilter): Promise<string | null> =>
  problemOf((await ask(reinstateDocument, { input: { filter, withChildren: true } })).reinstateDevices)

/** In one query. */
const mostIds = 100

/** Declares deployments again, all or none, each with its newest document. */
export async function redeclareDeployments(ids: readonly string[], reason: string): Promise<string | null> {
  const deployments: Declaration[] = []
  for (let first = 0; first < ids.length; first += mostIds) {
    const { deployments: found } = await ask(declaredDocument, { ids: ids.slice(first, first + mostIds) })
    for (const { id, deploymentId, application, applicationVersion, device, documentHistory } of found.nodes) {
      if (!device) return `${deploymentId} runs on a cluster. Its orchestrator declares it.`
      const { deviceId } = device
      const [newest] = documentHistory.nodes
      const document = newest ? await readDocument(id, newest.digest) : null
      deployments.push(
        document === null
          ? { deviceId, deploymentId, application, applicationVersion }
          : { deviceId, deploymentId, document },
      )
    }
  }
  if (deployments.length < ids.length) return 'Some of them no longer exist. Load the page again.'
  return problemOf((await ask(declareDocument, { input: { deployments, reason: reason || null } })).declareDeployments)
}

async function readDocument(id: string, digest: string): Promise<string | null> {
  const { node } = await ask(contentDocument, { id, digest })
  return node && 'desiredDocument' in node ? (node.desiredDocument?.content ?? null) : null
}

export const acknowledgeAlert = async (id: string, comment: string): Promise<string | null> =>
  problemOf((await ask(acknowledgeDocument, { input: { id, comment } })).acknowledgeAlert)

/** `ifRevision`: when the labels were read. */
export const setRolloutLabels = async (
  rolloutId: string,
  labels: readonly { readonly key: string; readonly value: string }[],
  ifRevision: string,
): Promise<string | null> =>
  problemOf((await ask(labelDocument, { input: { rolloutId, labels: [...labels], ifRevision } })).setRolloutLabels)
