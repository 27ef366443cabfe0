import type { Revision } from '../../domain/values.ts'
import { forgetDeployments } from '../../ingest/commands/declare.ts'
import type { DeploymentRow } from '../../store/read/deployments.ts'
import { builder } from '../builder.ts'
import { required } from '../execution/required.ts'
import { keysOf } from '../objects/node.ts'
import { Deployment } from '../objects/refs.ts'
import { checkInput } from './input-check.ts'
import { attempt, Forbidden, InvalidInput, NotFound } from './user-error.ts'

const ForgetDeploymentsInput = builder.inputType('ForgetDeploymentsInput', {
  description: 'Input of `forgetDeployments`.',
  fields: (t) => ({
    ids: t.idList({ required: true, description: 'Node IDs of deployments. At most 10,000.' }),
  }),
})

interface ForgottenRow {
  readonly type: 'ForgetDeploymentsSuccess'
  readonly revision: Revision
  readonly deployments: readonly DeploymentRow[]
}

const Success = builder.objectRef<ForgottenRow>('ForgetDeploymentsSuccess').implement({
  access: 'operator',
  description: 'All deployments were forgotten.',
  fields: (t) => ({
    revision: t.expose('revision', { type: 'Revision', description: 'The newest revision after the commit.' }),
    deployments: t.expose('deployments', {
      type: [Deployment],
      description: 'The deployments, in the order of the input.',
    }),
  }),
})

const Result = builder.unionType('ForgetDeploymentsResult', {
  description: 'Result of `forgetDeployments`.',
  types: [Success, InvalidInput, NotFound, Forbidden],
  resolveType: (result) => result.type,
})

builder.mutationField('forgetDeployments', (t) =>
  t.field({
    access: 'operator of all',
    type: Result,
    description:
      'Removes deployments from all lists and counts, all or none, and clears the order of their reports. Their history is retained. A new report restores a deployment.',
    args: { input: t.arg({ type: ForgetDeploymentsInput, required: true, description: 'The deployments to forget.' }) },
    resolve: (_, { input: { ids } }, context) => {
      const check = checkInput()
      check.list(['ids'], ids)
      return attempt(['NotFound', 'Forbidden', 'InvalidInput'], check.problems, async () => {
        // -1 is never a key, so the command reports an ID of another type as missing at its index.
        const keys = ids.map((id) => keysOf('Deployment', [id])?.[0] ?? -1)
        const { revision } = await context.write(forgetDeployments(keys))
        const reader = await context.reader()
        const found = await Promise.all(keys.map((key) => reader.deployment(key, null)))
        const deployments = found.map((deployment) => required(deployment, 'deployment'))
        return { type: 'ForgetDeploymentsSuccess' as const, revision, deployments }
      })
    },
  }),
)
