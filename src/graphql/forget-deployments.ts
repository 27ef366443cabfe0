import type { Revision } from '../domain/deployment.ts'
import { forgetDeployments } from '../ingest/commands/declare.ts'
import type { DeploymentRow } from '../store/deployments.ts'
import { builder } from './builder.ts'
import { Deployment } from './deployment.ts'
import { checkInput } from './input-check.ts'
import { keysOf } from './node.ts'
import { required } from './required.ts'
import { attempt, Forbidden, InvalidInput, NotFound } from './user-error.ts'

const ForgetDeploymentsInput = builder.inputType('ForgetDeploymentsInput', {
  description: 'What forgetDeployments takes.',
  fields: (t) => ({
    ids: t.idList({ required: true, description: 'Node ids of deployments; at most 10,000.' }),
  }),
})

interface ForgottenRow {
  readonly type: 'ForgetDeploymentsSuccess'
  readonly revision: Revision
  readonly deployments: readonly DeploymentRow[]
}

const Success = builder.objectRef<ForgottenRow>('ForgetDeploymentsSuccess').implement({
  access: 'operator',
  description: 'All of them are forgotten.',
  fields: (t) => ({
    revision: t.expose('revision', { type: 'Revision', description: 'The newest revision when it was done.' }),
    deployments: t.expose('deployments', { type: [Deployment], description: 'The deployments, in their order.' }),
  }),
})

const Result = builder.unionType('ForgetDeploymentsResult', {
  description: 'What became of forgetDeployments.',
  types: [Success, InvalidInput, NotFound, Forbidden],
  resolveType: (result) => result.type,
})

builder.mutationField('forgetDeployments', (t) =>
  t.field({
    access: 'operator of all',
    type: Result,
    description:
      'Takes deployments out of all lists and counts, all or none, and clears their ordering marks. Their history stays; a new report brings one back.',
    args: { input: t.arg({ type: ForgetDeploymentsInput, required: true, description: 'The deployments.' }) },
    resolve: (_, { input: { ids } }, context) => {
      const check = checkInput()
      check.list(['ids'], ids)
      return attempt(['NotFound', 'Forbidden', 'InvalidInput'], check.problems, async () => {
        // No key is negative: an id of something else is found missing in its place.
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
