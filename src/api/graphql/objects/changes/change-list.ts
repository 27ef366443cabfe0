import type { ChangeCondition, ChangeFilter, Change as ChangeRow } from '../../../../domain/change.ts'
import type { Revision } from '../../../../domain/values.ts'
import { parseRevision } from '../../../../store/sql/cursor.ts'
import { builder } from '../../builder.ts'
import type { Context } from '../../execution/context.ts'
import type { ChangeParent } from '../../execution/loaders/parents.ts'
import { withoutIndex } from '../../guards/unindexed.ts'
import { toFilter } from '../../mutations/input.ts'
import { type Connection, connect, implementConnection, type PageArguments, revisionPageArgs } from '../connection.ts'
import { LabelInput } from '../label.ts'
import { keysOf } from '../node.ts'
import { Change } from '../refs.ts'
import {
  type Given,
  type InputFields,
  LabelConditionInput,
  toLabelCondition,
  toSelector,
  whereInput,
} from '../selectors/selector.ts'
import { ChangeKindEnum, DeploymentStateEnum } from '../vocabulary.ts'
import { isKnownKind } from './change.ts'

export const ChangeConnection = implementConnection('Change', () => Change, 'changes, ascending by revision')

const changeConditions = (t: InputFields) => ({
  kinds: t.field({ type: [ChangeKindEnum], description: 'Kinds of changes.' }),
  deploymentIds: t.stringList({ description: 'Deployment IDs, as their reporters assigned them.' }),
  deviceIds: t.stringList({
    description: 'IDs of the devices where the changes happened. A move matches both devices.',
  }),
  rolloutIds: t.idList({
    description:
      'Node IDs of the rollouts that the deployments belong to. Where a deployment joins another rollout, DEPLOYMENT_REVISED and COMPONENT_REMOVED match both.',
  }),
  instanceIds: t.stringList({ description: 'Instance IDs of rollouts.' }),
  components: t.stringList({ description: 'Component names.' }),
  to: t.field({ type: [DeploymentStateEnum], description: 'States that a deployment or a component changed to.' }),
  errorCodes: t.stringList({ description: 'Error codes that a deployment or a component changed to.' }),
  labels: t.field({
    type: [LabelInput],
    description:
      'Labels. The target has at least one of them from its registration. Unlike the filters of `devices` and `deployments`, this one ignores labels that the device reported itself.',
  }),
  label: t.field({
    type: LabelConditionInput,
    ...withoutIndex('A condition on a label of the target from its registration.'),
  }),
  since: t.field({ type: 'DateTime', description: 'Recorded at this time or later (server time).' }),
  before: t.field({ type: 'DateTime', description: 'Recorded before this time (server time).' }),
})

const ChangeWhereRef = whereInput('ChangeWhere', 'changes', changeConditions)

export const ChangeFilterRef = builder.inputType('ChangeFilter', {
  description:
    'Selects changes. A change matches a field if it has any of its values; it must match all fields given. An empty list matches nothing. A filter that names no deployments, devices or rollouts reads the log for about 0.1 s, without the parts that have none of its kinds, states, components or error codes. The error then names the revision to continue from, in `extensions.continueAfter` or `continueBefore`. A count that would read more than 60,000 entries is refused.',
  fields: (t) => ({
    ...changeConditions(t),
    where: t.field({ type: ChangeWhereRef, description: 'Conditions that are combined by `and`, `or` and `not`.' }),
  }),
})

function toChangeCondition({ rolloutIds, kinds, label, ...rest }: Given<typeof changeConditions>): ChangeCondition {
  // Kinds that this version does not write match nothing.
  const known = kinds?.filter(isKnownKind)
  return toFilter({
    ...rest,
    kinds: known,
    label: toLabelCondition(label),
    rolloutKeys: keysOf('Rollout', rolloutIds),
  })
}

export function toChangeFilter(input: typeof ChangeFilterRef.$inferInput | null | undefined): ChangeFilter {
  const { where, ...conditions } = input ?? {}
  const selector = toSelector(where, toChangeCondition)
  return { ...toChangeCondition(conditions), ...(selector ? { where: selector } : {}) }
}

/** `until`: the last revision to return. */
export function changesOf(
  context: Pick<Context, 'reader'>,
  parent: ChangeParent,
  filter: ChangeFilter,
  args: PageArguments,
  until: Revision | null,
): Connection<ChangeRow> {
  return connect(
    args,
    async (page) => {
      const reader = await context.reader()
      // Otherwise the changes between an expired cursor and the oldest retained change would be skipped silently.
      if (page.after !== null) await reader.retained(parseRevision(page.after, 'after'))
      return reader.changes(parent, filter, page, until)
    },
    async () => (await context.reader()).changeCount(parent, filter, until),
  )
}

builder.queryField('changes', (t) =>
  t.field({
    access: 'viewer',
    type: ChangeConnection,
    description: 'The change log of the whole fleet. Without `after`, it starts with the oldest retained change.',
    args: { filter: t.arg({ type: ChangeFilterRef, description: 'Selects changes.' }), ...revisionPageArgs() },
    resolve: (_, args, context) => changesOf(context, { of: 'fleet' }, toChangeFilter(args.filter), args, null),
  }),
)
