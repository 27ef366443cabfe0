import type { Revision } from '../domain/deployment.ts'
import { removeDeployments } from '../ingest/commands/declare.ts'
import type { DeploymentRow } from '../store/deployments.ts'
import { builder } from './builder.ts'
import { Deployment } from './deployment.ts'
import { desireOf } from './desire.ts'
import { checkInput } from './input-check.ts'
import { keysOf } from './node.ts'
import { required } from './required.ts'
import { attempt, Forbidden, InvalidInput, NotFound } from './user-error.ts'

const RemoveDeploymentsInput = builder.inputType('RemoveDeploymentsInput', {
  description: 'What removeDeployments takes.',
  fields: (t) => ({
    ids: t.idList({ required: true, description: 'Node ids of deployments; at most 10,000.' }),
    reason: t.string({ description: "Why: stands beside the new versions of the devices' manifests." }),
  }),
})

interface RemovedRow {
  readonly type: 'RemoveDeploymentsSuccess'
  readonly revision: Revision
  readonly deployments: readonly DeploymentRow[]
}

const Success = builder.objectRef<RemovedRow>('RemoveDeploymentsSuccess').implement({
  access: 'operator',
  description: 'None of them should run any more.',
  fields: (t) => ({
    revision: t.expose('revision', { type: 'Revision', description: 'The newest revision when it was done.' }),
    deployments: t.expose('deployments', { type: [Deployment], description: 'The deployments, in their order.' }),
  }),
})

const Result = builder.unionType('RemoveDeploymentsResult', {
  description: 'What became of removeDeployments.',
  types: [Success, InvalidInput, NotFound, Forbidden],
  resolveType: (result) => result.type,
})

builder.mutationField('removeDeployments', (t) =>
  t.field({
    access: 'operator of all',
    type: Result,
    description:
      'Says that deployments which were declared with a document should not run any more, all or none: their documents leave the manifests of their devices. They are CONVERGED when they are reported as REMOVED.',
    args: { input: t.arg({ type: RemoveDeploymentsInput, required: true, description: 'The deployments.' }) },
    resolve: (_, { input: { ids, reason } }, context) => {
      const check = checkInput()
      check.list(['ids'], ids)
      check.text(['reason'], reason)
      return attempt(['NotFound', 'Forbidden', 'InvalidInput'], check.problems, async () => {
        // No key is negative: an id of something else is found missing in its place.
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
