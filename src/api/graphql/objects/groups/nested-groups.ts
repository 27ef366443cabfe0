/** Groups within groups: of each cause of failures, the sites where it occurs. One statement reads those of all groups of a list. */
import { DomainError } from '../../../../domain/errors.ts'
import type { GroupedBy } from '../../../../store/read/groups/grouping.ts'
import type { Page } from '../../../../store/sql/order.ts'
import { builder } from '../../builder.ts'
import type { Context } from '../../execution/context.ts'
import { defaultPageSize, maxPageSize } from '../../guards/page-size.ts'
import { type Connection, connect, mapPage } from '../connection.ts'
import { DeploymentGroup, DeploymentGroupConnection, type GroupNode } from './group.ts'
import { type GroupOrderArguments, groupOrderArgs, toGroupOrder } from './group-order.ts'
import { GroupingEnum, toGroupedBy } from './grouping.ts'

/** Each level is a statement that reads the deployments of all groups again. */
const mostLevels = 3

interface NestedArguments extends GroupOrderArguments {
  readonly by: GroupedBy['by']
  readonly labelKey?: string | null | undefined
  readonly first: number
}

builder.objectField(DeploymentGroup, 'deploymentGroups', (t) =>
  t.field({
    type: DeploymentGroupConnection,
    description: `Its deployments, in groups, as \`deploymentGroups\` with \`filter: {group: …}\` has them, and at the same revision. There, in the same order, the list continues after the \`endCursor\`. Except for COMPONENT and BLOCKING_COMPONENT the counts add up to the number of its deployments. Groups nest ${mostLevels} levels deep.`,
    args: {
      by: t.arg({ type: GroupingEnum, required: true, description: 'What the deployments of a group have in common.' }),
      labelKey: t.arg.string({ description: 'The key of the label. Required for LABEL, and only there.' }),
      ...groupOrderArgs(),
      first: t.arg.int({
        required: true,
        defaultValue: defaultPageSize,
        description: `Number of groups: 0 to ${maxPageSize}.`,
      }),
    },
    resolve: (group, args, context) => groupsWithin(context, group, args),
  }),
)

function groupsWithin(
  context: Pick<Context, 'reader'>,
  group: GroupNode,
  args: NestedArguments,
): Connection<GroupNode> {
  const { of, filter, asOf, within = [] } = group
  if (within.length + 1 >= mostLevels) throw new DomainError('BAD_USER_INPUT', `groups nest ${mostLevels} levels deep`)
  const by = toGroupedBy(args)
  const order = toGroupOrder(args)
  const load = async (size: number): Promise<Page<GroupNode> | undefined> => {
    const groups = await (await context.reader()).nestedGroups(group, of.of, by, filter, order, size, asOf)
    return mapPage(groups, (one) => ({ ...one, of, filter, asOf }))
  }
  let size = 1
  return connect(
    args,
    (request) => {
      size = request.size
      return load(size)
    },
    async () => {
      // The other fields of the list are resolved in the same turn, and each of its groups has the number.
      await null
      return (await load(size))?.edges[0]?.node.groupCount
    },
  )
}
