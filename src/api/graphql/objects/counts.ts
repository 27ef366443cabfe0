import type { Counters } from '../../../domain/counters.ts'
import type { Revision } from '../../../domain/values.ts'
import {
  type ConvergenceCounts,
  convergenceCountsOf,
  type StateCounts,
  stateCountsOf,
} from '../../../store/read/counts/deployment-counts.ts'
import type { DeploymentCondition, DeploymentFilter } from '../../../store/read/filters/deployment-filter.ts'
import { presentFields } from '../../../store/sql/conditions.ts'
import { builder } from '../builder.ts'
import type { Parent } from '../execution/loaders/parents.ts'
import type { Reader } from '../execution/loaders/reader.ts'
import { pastArgs, resolvePastArgs } from './past.ts'
import { DeploymentFilterRef, toDeploymentFilter } from './selectors/deployment-filter.ts'

/** `convergence` is counted only if it is selected. */
export type CountsAt = StateCounts & {
  /** Null: the present. */
  readonly asOf: Revision | null
  readonly convergence: () => Promise<ConvergenceCounts>
  /** What is counted. Null: a group. For groups, each of the `facts` would cost a statement. */
  readonly of: { readonly parent: Parent; readonly filter: DeploymentFilter } | null
}

/** Numbers that no counter has: each is counted only if it is selected. */
const facts = {
  stalled: { stalled: true },
  waiting: { states: ['PENDING'], hasError: true },
  inconsistent: { consistent: false },
  withError: { hasError: true },
} as const satisfies Readonly<Record<string, DeploymentCondition>>

export type Fact = keyof typeof facts

export function selectedFacts(fields: ReadonlySet<string>): readonly Fact[] {
  return (Object.keys(facts) as Fact[]).filter((fact) => fields.has(fact))
}

/** All that a subscriber sees of counts. They differ if one of them does. */
export async function numbersOf(reader: Reader, counts: CountsAt, selected: readonly Fact[]): Promise<unknown> {
  const { asOf: _, of: __, convergence, ...states } = counts
  const found = await Promise.all(selected.map((fact) => countFact(counts, fact, { reader: async () => reader })))
  return [states, await convergence(), found]
}

async function countFact(
  { of, asOf }: CountsAt,
  fact: Fact,
  { reader }: { readonly reader: () => Promise<Reader> },
): Promise<number | null> {
  if (!of) return null
  const { where, ...filter } = of.filter
  const narrow = { ...filter, where: where ? { and: [where, facts[fact]] } : facts[fact] }
  return total(await (await reader()).deploymentCounts(of.parent, narrow, asOf))
}

const ofGroups =
  'Null in a group: ask `deploymentCounts` with the filter `group`. Exact, also in the past. In a series, it costs a count for each moment.'

const ConvergenceCountsRef = builder.objectRef<ConvergenceCounts>('ConvergenceCounts').implement({
  access: 'viewer',
  description: 'Number of deployments by convergence.',
  fields: (t) => ({
    converged: t.exposeInt('converged', { description: 'Number of CONVERGED deployments.' }),
    applying: t.exposeInt('applying', { description: 'Number of APPLYING deployments.' }),
    failed: t.exposeInt('failed', { description: 'Number of FAILED deployments.' }),
    stale: t.exposeInt('stale', { description: 'Number of STALE deployments.' }),
    unknown: t.exposeInt('unknown', { description: 'Number of UNKNOWN deployments.' }),
  }),
})

export const DeploymentCounts = builder.objectRef<CountsAt>('DeploymentCounts').implement({
  access: 'viewer',
  description: 'Number of deployments by state. A state without deployments counts 0.',
  fields: (t) => ({
    total: t.int({
      description: 'Number of deployments in all states.',
      resolve: (c) => c.pending + c.installing + c.installed + c.failed + c.removing + c.removed,
    }),
    pending: t.exposeInt('pending', { description: 'Number of PENDING deployments.' }),
    installing: t.exposeInt('installing', { description: 'Number of INSTALLING deployments.' }),
    installed: t.exposeInt('installed', { description: 'Number of INSTALLED deployments.' }),
    failed: t.exposeInt('failed', { description: 'Number of FAILED deployments.' }),
    removing: t.exposeInt('removing', { description: 'Number of REMOVING deployments.' }),
    removed: t.exposeInt('removed', { description: 'Number of REMOVED deployments.' }),
    stalled: t.int({
      nullable: true,
      description: `Number of stalled deployments. ${ofGroups}`,
      resolve: (counts, _, context) => countFact(counts, 'stalled', context),
    }),
    waiting: t.int({
      nullable: true,
      description: `Number of PENDING deployments with an error, which is what they wait for. ${ofGroups}`,
      resolve: (counts, _, context) => countFact(counts, 'waiting', context),
    }),
    inconsistent: t.int({
      nullable: true,
      description: `Number of deployments whose reported state disagrees with their components. ${ofGroups}`,
      resolve: (counts, _, context) => countFact(counts, 'inconsistent', context),
    }),
    withError: t.int({
      nullable: true,
      description: `Number of deployments with an error of their own or of a component. ${ofGroups}`,
      resolve: (counts, _, context) => countFact(counts, 'withError', context),
    }),
    convergence: t.field({
      type: ConvergenceCountsRef,
      description: 'The same deployments, counted by convergence.',
      resolve: (counts) => counts.convergence(),
    }),
    revision: t.field({
      type: 'Revision',
      description: 'The revision that the counts reflect.',
      resolve: async ({ asOf }, _, { reader }) => asOf ?? (await (await reader()).head).revision,
    }),
  }),
})

/** The unfiltered counts of a parent, from its stored counters. */
export function countsOf(parent: Parent, counters: Counters, asOf: Revision | null): CountsAt {
  const convergence = async () => convergenceCountsOf(counters)
  return { ...stateCountsOf(counters), asOf, convergence, of: { parent, filter: {} } }
}

/** `counters`: the parent's stored counters. They answer an unfiltered count without a read. */
export async function loadCounts(
  reader: Reader,
  parent: Parent,
  filter: DeploymentFilter,
  asOf: Revision | null,
  counters: Counters | null = null,
): Promise<CountsAt> {
  if (counters && presentFields(filter).length === 0) return countsOf(parent, counters, asOf)
  const counts = (await reader.deploymentCounts(parent, filter, asOf)) ?? noCounts
  return {
    ...counts,
    asOf,
    convergence: () => loadConvergence(reader, parent, filter, asOf),
    of: { parent, filter },
  }
}

async function loadConvergence(
  reader: Reader,
  parent: Parent,
  filter: DeploymentFilter,
  asOf: Revision | null,
): Promise<ConvergenceCounts> {
  return (await reader.convergenceCounts(parent, filter, asOf)) ?? noConvergence
}

export function total(counts: StateCounts | undefined): number {
  const { pending, installing, installed, failed, removing, removed } = counts ?? noCounts
  return pending + installing + installed + failed + removing + removed
}

export const noConvergence: ConvergenceCounts = { converged: 0, applying: 0, failed: 0, stale: 0, unknown: 0 }
const noCounts: StateCounts = { pending: 0, installing: 0, installed: 0, failed: 0, removing: 0, removed: 0 }

builder.queryField('deploymentCounts', (t) =>
  t.field({
    access: 'viewer',
    type: DeploymentCounts,
    description: 'Deployments of the whole fleet that match the filter, counted by state.',
    args: {
      filter: t.arg({ type: DeploymentFilterRef, description: 'Selects the deployments to count.' }),
      ...pastArgs(),
    },
    resolve: async (_, args, context) => {
      const reader = await context.reader()
      const asOf = await resolvePastArgs(reader, args)
      return loadCounts(reader, { of: 'fleet' }, toDeploymentFilter(args.filter), asOf)
    },
  }),
)
