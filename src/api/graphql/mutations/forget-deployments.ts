/** `forgetDeployments` and `removeDeployments`, which name their deployments by node IDs. */
import { forgetDeployments, removeDeployments } from '../../../ingest/commands/remove.ts'
import type { DeploymentRow } from '../../../store/read/deployments.ts'
import type { Context } from '../execution/context.ts'
import { required } from '../execution/required.ts'
import { keysOf } from '../objects/node.ts'
import { Deployment } from '../objects/refs.ts'
import { manifestUpdateOf } from './manifest-update.ts'
import { addMutation, type SuccessFields } from './mutation.ts'

const idsDescription = 'Node IDs of deployments. At most 10,000.'

interface Changed {
  readonly revision: number
  readonly deployments: readonly DeploymentRow[]
}

const fields: SuccessFields<Changed> = (t) => ({
  revision: t.expose('revision', { type: 'Revision', description: 'The newest revision after the commit.' }),
  deployments: t.expose('deployments', {
    type: [Deployment],
    description: 'The deployments, in the order of the input.',
  }),
})

addMutation('forgetDeployments', {
  access: 'operator of all',
  description:
    'Removes deployments from all lists and counts, all or none, and clears the order of their reports. Their history is retained. A new report restores a deployment.',
  input: {
    description: 'The deployments to forget.',
    fields: (t) => ({ ids: t.idList({ required: true, description: idsDescription }) }),
  },
  errors: ['NotFound'],
  check: ({ ids }, check) => check.list(['ids'], ids),
  act: async ({ ids }, context) => {
    const keys = ids.map(keyOf)
    const { revision } = await context.write(forgetDeployments(keys))
    return { revision, deployments: await deploymentsNow(context, keys) }
  },
  success: { access: 'operator', description: 'All deployments were forgotten.', fields },
})

addMutation('removeDeployments', {
  access: 'operator of all',
  description:
    'Removes the documents of deployments from the manifests of their devices, all or none, so that the devices remove the deployments. A deployment is CONVERGED when it is reported as REMOVED.',
  input: {
    description: 'The deployments to remove.',
    fields: (t) => ({
      ids: t.idList({ required: true, description: idsDescription }),
      reason: t.string({ description: 'The reason, shown with the new manifest versions.' }),
    }),
  },
  errors: ['NotFound'],
  check: ({ ids, reason }, check) => {
    check.list(['ids'], ids)
    check.text(['reason'], reason)
  },
  act: async ({ ids, reason }, context) => {
    const keys = ids.map(keyOf)
    const { revision } = await context.write(removeDeployments(keys, manifestUpdateOf(context, reason ?? null)))
    return { revision, deployments: await deploymentsNow(context, keys) }
  },
  success: { access: 'operator', description: 'The documents of all deployments were removed.', fields },
})

/** -1 is never a key, so the command reports an ID of another type as missing at its index. */
function keyOf(id: string): number {
  return keysOf('Deployment', [id])?.[0] ?? -1
}

async function deploymentsNow(context: Context, keys: readonly number[]): Promise<DeploymentRow[]> {
  const reader = await context.reader()
  const found = await Promise.all(keys.map((key) => reader.deployment(key, null)))
  return found.map((deployment) => required(deployment, 'deployment'))
}
