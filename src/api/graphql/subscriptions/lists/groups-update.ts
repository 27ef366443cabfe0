import { DomainError } from '../../../../domain/errors.ts'
import type { Revision } from '../../../../domain/values.ts'
import { builder } from '../../builder.ts'
import type { Reader } from '../../execution/loaders/reader.ts'
import { defaultPageSize, maxPageSize } from '../../guards/page-size.ts'
import { DeploymentGroup, type GroupNode, groupArgs, groupsOf, spanOf } from '../../objects/groups/group.ts'
import { toGroupOrder } from '../../objects/groups/group-order.ts'
import { toGroupedBy } from '../../objects/groups/grouping.ts'
import { toDeploymentFilter } from '../../objects/selectors/deployment-filter.ts'
import { deploymentTopics } from '../deployment-topics.ts'
import { type React, streamState } from '../state-stream.ts'
import { difference, type ListedRow, type RowChange } from './difference.ts'
import { ListChangeEnum } from './list-change.ts'

interface Update {
  readonly cursor: Revision
  readonly coalesced: number
  readonly isSnapshot: boolean
  readonly rows: readonly (RowChange<string> & { readonly group: GroupNode })[]
  readonly removed: readonly number[]
  readonly hasNextPage: boolean
  /** As in ListUpdate. */
  readonly difference: string
}

/** The groups that were sent, by name, and what was sent of each. */
interface Shown {
  readonly groups: readonly ListedRow<string, string>[]
  readonly hasNextPage: boolean
}

const DeploymentGroupsRow = builder.objectRef<Update['rows'][number]>('DeploymentGroupsRow').implement({
  access: 'viewer',
  description: 'A group that is new or has changed.',
  fields: (t) => ({
    change: t.expose('change', { type: ListChangeEnum, description: 'What happened to it.' }),
    from: t.exposeInt('from', {
      nullable: true,
      description: 'Number of groups before it in the list before the update. Null: it was not in the list.',
    }),
    position: t.exposeInt('position', { description: 'Number of groups before it in the list after the update.' }),
    group: t.expose('group', { type: DeploymentGroup, description: 'The group as of the cursor.' }),
  }),
})

const DeploymentGroupsUpdate = builder.objectRef<Update>('DeploymentGroupsUpdate').implement({
  access: 'viewer',
  description:
    'What changed in a live list of groups. To apply it, take the groups out of the list whose positions are in `removed`, or `from` of a row, then insert each of `rows` at its position, in their order.',
  fields: (t) => ({
    cursor: t.expose('cursor', {
      type: 'Revision',
      description: 'The revision that the list reflects after this update.',
    }),
    coalesced: t.exposeInt('coalesced', {
      description:
        'Number of further commits that were merged into this update. It grows with the number of deployments that are grouped.',
    }),
    isSnapshot: t.exposeBoolean('isSnapshot', { description: 'True: `rows` is the whole list.' }),
    rows: t.expose('rows', {
      type: [DeploymentGroupsRow],
      description: 'The groups that are new or have changed, by position.',
    }),
    removed: t.intList({
      description:
        'For each group that is no longer in the list, the number of groups before it in the list before the update.',
      resolve: ({ removed }) => removed,
    }),
    hasNextPage: t.exposeBoolean('hasNextPage', { description: 'Whether there are groups after the last one.' }),
  }),
})

builder.subscriptionField('deploymentGroups', (t) =>
  t.field({
    access: 'viewer',
    type: DeploymentGroupsUpdate,
    description:
      'The first groups of `deploymentGroups`, live: all of them first, then what changes. Each subscription spends at most a fifth of the time on reading them again; subscriptions of equal arguments and rights read together.',
    args: {
      ...groupArgs(),
      first: t.arg.int({
        required: true,
        defaultValue: defaultPageSize,
        description: `Number of groups: 1 to ${maxPageSize}.`,
      }),
    },
    subscribe: (_, args, context) => {
      const { first } = args
      if (first < 1 || first > maxPageSize)
        throw new DomainError('BAD_USER_INPUT', `first must be from 1 to ${maxPageSize}, but is ${first}`)
      const filter = toDeploymentFilter(args.filter)
      const react: React<Update, Shown> = async (reader, { cursor, coalesced }, { memory }) => {
        const groups = groupsOf({ reader: async () => reader }, { of: 'fleet' }, args, null)
        const { edges, hasNextPage } = await groups.page()
        const next: Shown = { groups: await Promise.all(edges.map(({ node }) => shownOf(node, reader))), hasNextPage }
        const changed = difference(memory?.groups ?? [], next.groups, () => false)
        const isSame = changed.rows.length + changed.removed.length === 0 && memory?.hasNextPage === hasNextPage
        if (memory && isSame) return { skip: true, memory: next }
        const removed = changed.removed.map((key) => memory?.groups.findIndex((group) => group.key === key) ?? -1)
        const rows = changed.rows.flatMap((row) => {
          const group = edges[row.position]?.node
          return group ? [{ ...row, group }] : []
        })
        const name = JSON.stringify([memory === null, changed])
        const isSnapshot = memory === null
        return { send: { cursor, coalesced, isSnapshot, rows, removed, hasNextPage, difference: name }, memory: next }
      }
      const key = `deploymentGroups ${JSON.stringify([toGroupedBy(args), filter, toGroupOrder(args), first])}`
      return streamState(context, key, { topics: deploymentTopics(filter), isPaced: true }, react)
    },
    resolve: (event) => event.payload,
  }),
)

/** Its deployments changed if any of these did. */
async function shownOf(group: GroupNode, reader: Reader): Promise<ListedRow<string, string>> {
  const { name, size, counts, convergence, components } = group
  const { revision, since } = await spanOf(group, async () => reader)
  return {
    key: JSON.stringify([name.value, name.detail]),
    revision: JSON.stringify([
      revision,
      size,
      since,
      ...Object.values(counts),
      ...Object.values(convergence),
      components,
    ]),
  }
}
