import type { Revision } from '../domain/deployment.ts'
import type { DeploymentFilter } from '../store/deployment-filter.ts'
import type { StateCounts } from '../store/deployments.ts'
import { builder } from './builder.ts'
import { DeploymentFilterRef, toDeploymentFilter } from './deployment-filter.ts'
import type { Parent, Reader } from './loaders.ts'
import { pastArgs, resolvePastArgs } from './past.ts'

export type CountsAt = StateCounts & { readonly revision: Revision }

export const DeploymentCounts = builder.objectRef<CountsAt>('DeploymentCounts').implement({
  access: 'viewer',
  description: 'How many deployments there are in each state. States that none is in are 0.',
  fields: (t) => ({
    total: t.int({
      description: 'All of them.',
      resolve: (c) => c.pending + c.installing + c.installed + c.failed + c.removing + c.removed,
    }),
    pending: t.exposeInt('pending', { description: 'How many are PENDING.' }),
    installing: t.exposeInt('installing', { description: 'How many are INSTALLING.' }),
    installed: t.exposeInt('installed', { description: 'How many are INSTALLED.' }),
    failed: t.exposeInt('failed', { description: 'How many are FAILED.' }),
    removing: t.exposeInt('removing', { description: 'How many are REMOVING.' }),
    removed: t.exposeInt('removed', { description: 'How many are REMOVED.' }),
    revision: t.expose('revision', { type: 'Revision', description: 'As of which revision they hold.' }),
  }),
})

export async function loadCounts(
  reader: Reader,
  parent: Parent,
  filter: DeploymentFilter,
  asOf: Revision | null,
): Promise<CountsAt> {
  const counts = (await reader.deploymentCounts(parent, filter, asOf)) ?? noCounts
  return { ...counts, revision: asOf ?? reader.head.revision }
}

export function total(counts: StateCounts | undefined): number {
  const { pending, installing, installed, failed, removing, removed } = counts ?? noCounts
  return pending + installing + installed + failed + removing + removed
}

const noCounts: StateCounts = { pending: 0, installing: 0, installed: 0, failed: 0, removing: 0, removed: 0 }

builder.queryField('deploymentCounts', (t) =>
  t.field({
    access: 'viewer',
    type: DeploymentCounts,
    description: 'The deployments of the whole fleet, or of what the filter leaves of it, counted by state.',
    args: { filter: t.arg({ type: DeploymentFilterRef, description: 'Which deployments to count.' }), ...pastArgs() },
    resolve: async (_, args, context) => {
      const reader = await context.reader()
      const asOf = await resolvePastArgs(reader, args)
      return loadCounts(reader, { of: 'fleet' }, toDeploymentFilter(args.filter), asOf)
    },
  }),
)
