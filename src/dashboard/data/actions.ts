/** What operators do with many rows at once. Each function returns what went wrong; null: nothing. */
import { ask } from './api.ts'
import { graphql } from './graphql.ts'

const removeDocument = graphql(`
  mutation Remove($input: RemoveDeploymentsInput!) { removeDeployments(input: $input) { __typename ... on UserError { message } } }
`)
const forgetDocument = graphql(`
  mutation Forget($input: ForgetDeploymentsInput!) { forgetDeployments(input: $input) { __typename ... on UserError { message } } }
`)
const retireDocument = graphql(`
  mutation Retire($input: RetireDevicesInput!) { retireDevices(input: $input) { __typename ... on UserError { message } } }
`)
const acknowledgeDocument = graphql(`
  mutation Acknowledge($input: AcknowledgeAlertInput!) { acknowledgeAlert(input: $input) { __typename ... on UserError { message } } }
`)

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

export const acknowledgeAlert = async (id: string, comment: string): Promise<string | null> =>
  problemOf((await ask(acknowledgeDocument, { input: { id, comment } })).acknowledgeAlert)
