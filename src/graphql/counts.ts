import type { Counters } from '../domain/counters.ts'
import type { Revision } from '../domain/deployment.ts'
import { type DeploymentFilter, presentFields } from '../store/deployment-filter.ts'
import { type ConvergenceCounts, convergenceCountsOf, type StateCounts, stateCountsOf } from '../store/deployments.ts'
import { builder } from './builder.ts'
import { DeploymentFilterRef, toDeploymentFilter } from './deployment-filter.ts'
import type { Parent, Reader } from './loaders.ts'
import { pastArgs, resolvePastArgs } from './past.ts'

/** `convergence` is counted when somebody asks for it. */
export type CountsAt = StateCounts & {
  /** Null: as of now. */
  readonly asOf: Revision | null
  readonly convergence: () => Promise<ConvergenceCounts>
}

const ConvergenceCountsRef = builder.objectRef<ConvergenceCounts>('ConvergenceCounts').implement({
  access: 'viewer',
  description: 'How many deployments there are in each relation to what their devices should run.',
  fields: (t) => ({
    converged: t.exposeInt('converged', { description: 'How many are CONVERGED.' }),
    applying: t.exposeInt('applying', { description: 'How many are APPLYING.' }),
    failed: t.exposeInt('failed', { description: 'How many FAILED on the version meant.' }),
    stale: t.exposeInt('stale', { description: 'How many are STALE.' }),
    unknown: t.exposeInt('unknown', { description: 'How many are UNKNOWN.' }),
  }),
})

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
    convergence: t.field({
      type: ConvergenceCountsRef,
      description: 'The same deployments by how they compare with what their devices should run.',
      resolve: (counts) => counts.convergence(),
    }),
    revision: t.field({
      type: 'Revision',
      description: 'As of which revision they hold.',
      resolve: async ({ asOf }, _, { reader }) => asOf ?? (await (await reader()).head).revision,
    }),
  }),
})

/** All of a parent's, as its counters say. */
export function countsOf(counters: Counters, asOf: Revision | null): CountsAt {
  return { ...stateCountsOf(counters), asOf, convergence: async () => convergenceCountsOf(counters) }
}

/** `counters`: those of the parent, which say the same when nothing is filtered, and need not be read. */
export async function loadCounts(
  reader: Reader,
  parent: Parent,
  filter: DeploymentFilter,
  asOf: Revision | null,
  counters: Counters | null = null,
): Promise<CountsAt> {
  if (counters && presentFields(filter).length === 0) return countsOf(counters, asOf)
  const counts = (await reader.deploymentCounts(parent, filter, asOf)) ?? noCounts
  return {
    ...counts,
    asOf,
    convergence: async () => (await reader.convergenceCounts(parent, filter, asOf)) ?? noConvergence,
  }
}

export function total(counts: StateCounts | undefined): number {
  const { pending, installing, installed, failed, removing, removed } = counts ?? noCounts
  return pending + installing + installed + failed + removing + removed
}

const noConvergence: ConvergenceCounts = { converged: 0, applying: 0, failed: 0, stale: 0, unknown: 0 }
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
