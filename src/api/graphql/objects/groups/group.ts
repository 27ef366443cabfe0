import { DomainError } from '../../../../domain/errors.ts'
import type { Revision } from '../../../../domain/values.ts'
import type { DeploymentFilter } from '../../../../store/read/filters/deployment-filter.ts'
import type { GroupedBy } from '../../../../store/read/groups/grouping.ts'
import type { DeploymentGroup as GroupRow, GroupSpan } from '../../../../store/read/groups/groups.ts'
import type { Page, PageRequest } from '../../../../store/sql/order.ts'
import { builder } from '../../builder.ts'
import type { Context } from '../../execution/context.ts'
import type { Parent } from '../../execution/loaders/parents.ts'
import { required } from '../../execution/required.ts'
import { type Connection, connect, implementConnection, mapPage, type PageArguments, pageArgs } from '../connection.ts'
import { type CountsAt, DeploymentCounts } from '../counts.ts'
import { targetTypes } from '../interfaces.ts'
import { encodeNodeId } from '../node.ts'
import { pastArgs, resolvePastArgs } from '../past.ts'
import { Deployment, Rollout, Target } from '../refs.ts'
import { type DeploymentFilterInput, DeploymentFilterRef, toDeploymentFilter } from '../selectors/deployment-filter.ts'
import { type GroupOrderArguments, groupOrderArgs, toGroupOrder } from './group-order.ts'
import { GroupingEnum, groupDescriptions, toGroupedBy } from './grouping.ts'

/** A group, and the question that it answers. */
export interface GroupNode extends GroupRow {
  readonly of: Parent
  readonly filter: DeploymentFilter
  readonly asOf: Revision | null
}

const maxNewest = 10

export const DeploymentGroup = builder.objectRef<GroupNode>('DeploymentGroup').implement({
  access: 'viewer',
  description: 'Deployments that have something in common.',
  fields: (t) => ({
    key: t.string({
      nullable: true,
      description: groupDescriptions.key,
      resolve: async ({ name: { by, value }, asOf }, _, { reader }) => {
        if (value === null || (by !== 'ROLLOUT' && by !== 'TARGET')) return value
        if (by === 'ROLLOUT') return encodeNodeId('Rollout', Number(value), asOf)
        const target = await (await reader()).target(Number(value), asOf)
        return target ? encodeNodeId(targetTypes[target.kind], target.key, asOf) : null
      },
    }),
    detail: t.string({
      nullable: true,
      description: groupDescriptions.detail,
      resolve: ({ name }) => name.detail,
    }),
    rollout: t.field({
      type: Rollout,
      nullable: true,
      description: 'The rollout, for ROLLOUT. Null for the other groupings.',
      resolve: async ({ name: { by, value }, asOf }, _, { reader }) =>
        by === 'ROLLOUT' ? ((await (await reader()).rollout(Number(value), asOf)) ?? null) : null,
    }),
    target: t.field({
      type: Target,
      nullable: true,
      description: 'The device or cluster, for TARGET. Null for the other groupings.',
      resolve: async ({ name: { by, value }, asOf }, _, { reader }) =>
        by === 'TARGET' ? ((await (await reader()).target(Number(value), asOf)) ?? null) : null,
    }),
    counts: t.field({
      type: DeploymentCounts,
      description:
        'Its deployments, counted by state. For COMPONENT and BLOCKING_COMPONENT: its components, counted by their own state.',
      resolve: ({ counts, convergence, asOf }): CountsAt => ({
        ...{ ...counts, asOf, convergence: async () => convergence, of: null },
      }),
    }),
    components: t.stringList({
      description: 'For ERROR: up to 10 names of components that have the error. Empty for the other groupings.',
      resolve: ({ components }) => components,
    }),
    since: t.field({
      type: 'DateTime',
      description: 'The earliest of the times at which its deployments last changed.',
      resolve: async (group, _, { reader }) => (await spanOf(group, reader)).since,
    }),
    changedAt: t.field({
      type: 'DateTime',
      description: 'The latest of the times at which its deployments last changed.',
      resolve: async (group, _, { reader }) => (await spanOf(group, reader)).changedAt,
    }),
    revision: t.field({
      type: 'Revision',
      description: 'The latest revision of its deployments.',
      resolve: async (group, _, { reader }) => (await spanOf(group, reader)).revision,
    }),
    deployments: t.field({
      type: [Deployment],
      description: `Its deployments that changed last. \`deployments\` with \`filter: {group: …}\` pages through all of them.`,
      args: {
        first: t.arg.int({
          required: true,
          defaultValue: 3,
          description: `Number of deployments: 0 to ${maxNewest}.`,
        }),
      },
      resolve: async (group, { first }, { reader }) =>
        (await (await reader()).newestOfGroup(group, group.of.of, group.filter, requireSize(first), group.asOf)) ?? [],
    }),
  }),
})

/** Groups that come from counters have none, so it is read for those of which it is selected. */
export async function spanOf(group: GroupNode, reader: Context['reader']): Promise<GroupSpan> {
  const { span, name, filter, asOf } = group
  return span ?? required(await (await reader()).spanOfGroup(name, filter, asOf), 'span')
}

function requireSize(first: number): number {
  if (first >= 0 && first <= maxNewest) return first
  throw new DomainError('BAD_USER_INPUT', `first must be from 0 to ${maxNewest}, but is ${first}`)
}

export const DeploymentGroupConnection = implementConnection(
  'DeploymentGroup',
  () => DeploymentGroup,
  'groups of deployments',
)

export const groupArgs = () =>
  builder.args((t) => ({
    by: t.field({ type: GroupingEnum, required: true, description: 'What the deployments of a group have in common.' }),
    labelKey: t.string({ description: 'The key of the label. Required for LABEL, and only there.' }),
    filter: t.field({ type: DeploymentFilterRef, description: 'Selects the deployments to group.' }),
    ...groupOrderArgs(),
  }))

interface GroupArguments extends PageArguments, GroupOrderArguments {
  readonly by: GroupedBy['by']
  readonly labelKey?: string | null | undefined
  readonly filter?: DeploymentFilterInput | null | undefined
}

export function groupsOf(
  context: Pick<Context, 'reader'>,
  of: Parent,
  args: GroupArguments,
  asOf: Revision | null,
): Connection<GroupNode> {
  const by = toGroupedBy(args)
  const filter = toDeploymentFilter(args.filter)
  const order = toGroupOrder(args)
  let page: Promise<Page<GroupNode> | undefined> | null = null
  const load = async (request: PageRequest): Promise<Page<GroupNode> | undefined> => {
    const groups = await (await context.reader()).groups(of, by, filter, order, request, asOf)
    return mapPage(groups, (group) => ({ ...group, of, filter, asOf }))
  }
  return connect(
    args,
    (request) => {
      page ??= load(request)
      return page
    },
    async () => {
      // The other fields of the list are resolved in the same turn. Each group of a page has the count, so it is not counted again.
      await null
      const [first] = (await page)?.edges ?? []
      return first?.node.groupCount ?? (await context.reader()).groupCount(of, by, filter, asOf)
    },
  )
}

builder.queryFields((t) => ({
  deploymentGroups: t.field({
    access: 'viewer',
    type: DeploymentGroupConnection,
    description:
      'The deployments that match the filter, in groups. Except for COMPONENT and BLOCKING_COMPONENT the counts of the groups add up to `deploymentCounts`.',
    args: { ...groupArgs(), ...pastArgs(), ...pageArgs() },
    resolve: async (_, args, context) => {
      const reader = await context.reader()
      return groupsOf(context, { of: 'fleet' }, args, await resolvePastArgs(reader, args))
    },
  }),
}))
