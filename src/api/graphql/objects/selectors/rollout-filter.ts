import type { RolloutCondition, RolloutFilter } from '../../../../store/read/rollouts/rollout-filter.ts'
import { builder } from '../../builder.ts'
import { toFilter } from '../../mutations/input.ts'
import { LabelInput } from '../label.ts'
import { keysOf } from '../node.ts'
import { InstanceStatusEnum, LifecycleStateEnum, RolloutKindEnum } from '../vocabulary.ts'
import {
  type Given,
  type InputFields,
  LabelConditionInput,
  toLabelCondition,
  toSelector,
  whereInput,
} from './selector.ts'

const hidden = 'Matches nothing for callers whose access scope has labels.'

const rolloutConditions = (t: InputFields) => ({
  ids: t.idList({ description: 'Node IDs.' }),
  kinds: t.field({ type: [RolloutKindEnum], description: 'Origins.' }),
  projects: t.stringList({ description: 'Projects.' }),
  names: t.stringList({ description: 'Names.' }),
  compositeApps: t.stringList({ description: 'Composite applications.' }),
  states: t.field({ type: [LifecycleStateEnum], description: 'States after the last lifecycle action.' }),
  statuses: t.field({ type: [InstanceStatusEnum], description: 'Statuses of the current instance.' }),
  deviceIds: t.stringList({ description: 'Device IDs. The rollout has a deployment on at least one of them.' }),
  clusters: t.stringList({
    description:
      'Clusters as `provider+name`, or `+name` for any provider. Cloud regions as `name`. The rollout has a deployment on at least one of them.',
  }),
  labels: t.field({
    type: [LabelInput],
    description: 'Labels. The rollout has a deployment on a target with at least one of them.',
  }),
  label: t.field({
    type: LabelConditionInput,
    description: 'A condition on a label. The rollout has a deployment on a target that fulfills it.',
  }),
  rolloutLabel: t.field({
    type: LabelConditionInput,
    description:
      'A condition on a label of the rollout itself (`Rollout.labels`). In the past, a condition on the labels at that time.',
  }),
  failing: t.boolean({ description: 'Whether the rollout has a deployment in the state FAILED.' }),
  createdAfter: t.field({ type: 'DateTime', description: 'Created after this time.' }),
  createdBefore: t.field({ type: 'DateTime', description: 'Created before this time.' }),
  startedAfter: t.field({ type: 'DateTime', description: `Started after this time. ${hidden}` }),
  startedBefore: t.field({ type: 'DateTime', description: `Started before this time. ${hidden}` }),
  changedAfter: t.field({ type: 'DateTime', description: `Last changed after this time. ${hidden}` }),
  changedBefore: t.field({ type: 'DateTime', description: `Last changed before this time. ${hidden}` }),
  finishedAfter: t.field({ type: 'DateTime', description: `Finished after this time. ${hidden}` }),
  finishedBefore: t.field({ type: 'DateTime', description: `Finished before this time. ${hidden}` }),
  text: t.string({ description: 'A substring of the name, project or composite application. Case-insensitive.' }),
})

const RolloutWhereRef = whereInput('RolloutWhere', 'rollouts', rolloutConditions)

export const RolloutFilterRef = builder.inputType('RolloutFilter', {
  description:
    'Selects rollouts. A rollout matches a field if it has any of its values; it must match all fields given. An empty list matches nothing.',
  fields: (t) => ({
    ...rolloutConditions(t),
    where: t.field({ type: RolloutWhereRef, description: 'Conditions that are combined by `and`, `or` and `not`.' }),
  }),
})

function toRolloutCondition({ ids, label, rolloutLabel, ...rest }: Given<typeof rolloutConditions>): RolloutCondition {
  return toFilter({
    ...rest,
    label: toLabelCondition(label),
    rolloutLabel: toLabelCondition(rolloutLabel),
    keys: keysOf('Rollout', ids),
  })
}

export function toRolloutFilter(input: typeof RolloutFilterRef.$inferInput | null | undefined): RolloutFilter {
  const { where, ...conditions } = input ?? {}
  return toFilter({ ...toRolloutCondition(conditions), where: toSelector(where, toRolloutCondition) })
}
