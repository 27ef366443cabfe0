import type { Revision } from '../../domain/values.ts'
import { removeDeployments } from '../../ingest/commands/declare.ts'
import type { DeploymentRow } from '../../store/read/deployments.ts'
import { builder } from '../builder.ts'
import { required } from '../execution/required.ts'
import { keysOf } from '../objects/node.ts'
import { Deployment } from '../objects/refs.ts'
import { desireOf } from './authorship.ts'
import { checkInput } from './input-check.ts'
import { attempt, Forbidden, InvalidInput, NotFound } from './user-error.ts'

const RemoveDeploymentsInput = builder.inputType('RemoveDeploymentsInput', {
  description: 'Input of `removeDeployments`.',
  fields: (t) => ({
    ids: t.idList({ required: true, description: 'Node IDs of deployments. At most 10,000.' }),
    reason: t.string({ description: 'The reason, shown with the new manifest versions.' }),
  }),
})

interface RemovedRow {
  readonly type: 'RemoveDeploymentsSuccess'
  readonly revision: Revision
  readonly deployments: readonly DeploymentRow[]
}

const Success = builder.objectRef<RemovedRow>('RemoveDeploymentsSuccess').implement({
  access: 'operator',
  description: 'The documents of all deployments were removed.',
  fields: (t) => ({
    revision: t.expose('revision', { type: 'Revision', description: 'The newest revision after the commit.' }),
    deployments: t.expose('deployments', {
      type: [Deployment],
      description: 'The deployments, in the order of the input.',
    }),
  }),
})

const Result = builder.unionType('RemoveDeploymentsResult', {
  description: 'Result of `removeDeployments`.',
  types: [Success, InvalidInput, NotFound, Forbidden],
  resolveType: (result) => result.type,
})

builder.mutationField('removeDeployments', (t) =>
  t.field({
    access: 'operator of all',
    type: Result,
    description:
      'Removes the documents of deployments from the manifests of their devices, all or none, so that the devices remove the deployments. A deployment is CONVERGED when it is reported as REMOVED.',
    args: { input: t.arg({ type: RemoveDeploymentsInput, required: true, description: 'The deployments to remove.' }) },
    resolve: (_, { input: { ids, reason } }, context) => {
      const check = checkInput()
      check.list(['ids'], ids)
      check.text(['reason'], reason)
      return attempt(['NotFound', 'Forbidden', 'InvalidInput'], check.problems, async () => {
        // -1 is never a key, so the command reports an ID of another type as missing at its index.
        const keys = ids.map((id) => keysOf('Deployment', [id])?.[0] ?? -1)
        const { revision } = await context.write(removeDeployments(keys, desireOf(context, reason ?? null)))
        const reader = await context.reader()
        const found = await Promise.all(keys.map((key) => reader.deployment(key, null)))
        const deployments = found.map((deployment) => required(deployment, 'deployment'))
        return { type: 'RemoveDeploymentsSuccess' as const, revision, deployments }
      })
    },
  }),
)
