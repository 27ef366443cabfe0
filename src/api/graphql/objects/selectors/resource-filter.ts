import type { ResourceCondition, ResourceFilter } from '../../../../store/read/filters/resource-filter.ts'
import { builder } from '../../builder.ts'
import { toFilter } from '../../mutations/input.ts'
import { LabelInput } from '../label.ts'
import { keysOf } from '../node.ts'
import { ConnectivityEnum, PresenceEnum, ReadinessEnum, SyncStatusEnum } from '../vocabulary.ts'
import {
  type Given,
  type InputFields,
  LabelConditionInput,
  toLabelCondition,
  toSelector,
  whereInput,
} from './selector.ts'

const resourceConditions = (t: InputFields) => ({
  ids: t.idList({ description: 'Node IDs of resources.' }),
  rolloutIds: t.idList({ description: 'Node IDs of rollouts.' }),
  deploymentIds: t.stringList({ description: 'Deployment IDs.' }),
  apps: t.stringList({ description: 'Component names.' }),
  clusters: t.stringList({
    description: 'Clusters as `provider+name`, or `+name` for any provider. Cloud regions as `name`.',
  }),
  labels: t.field({ type: [LabelInput], description: 'Labels. The cluster has at least one of them.' }),
  label: t.field({ type: LabelConditionInput, description: 'A condition on a label of the cluster.' }),
  connectivity: t.field({ type: [ConnectivityEnum], description: 'Connectivity of the cluster.' }),
  names: t.stringList({ description: 'Names.' }),
  groups: t.stringList({ description: 'API groups. The core group is the empty text.' }),
  kinds: t.stringList({ description: 'Kinds.' }),
  namespaces: t.stringList({ description: 'Namespaces.' }),
  sync: t.field({ type: [SyncStatusEnum], description: 'Sync statuses.' }),
  presence: t.field({ type: [PresenceEnum], description: 'Presence in the cluster.' }),
  readiness: t.field({ type: [ReadinessEnum], description: 'Readiness.' }),
  reasons: t.stringList({ description: 'Reasons why they are not ready, such as `CrashLoopBackOff`.' }),
  text: t.string({
    description:
      'A substring of the name, namespace, kind, component, reason or message, or of the name of the cluster. Case-insensitive.',
  }),
  changedAfter: t.field({ type: 'DateTime', description: 'Last changed after this time.' }),
  changedBefore: t.field({ type: 'DateTime', description: 'Last changed before this time.' }),
})

const ResourceWhereRef = whereInput('ResourceWhere', 'resources', resourceConditions)

export const ResourceFilterRef = builder.inputType('ResourceFilter', {
  description:
    'Selects resources. A resource matches a field if it has any of its values; it must match all fields given. An empty list matches nothing.',
  fields: (t) => ({
    ...resourceConditions(t),
    instanceIds: t.stringList({ description: 'Instance IDs of rollouts. Absent: only current instances.' }),
    where: t.field({ type: ResourceWhereRef, description: 'Conditions that are combined by `and`, `or` and `not`.' }),
  }),
})

export type ResourceFilterInput = typeof ResourceFilterRef.$inferInput

function toResourceCondition({ ids, rolloutIds, label, ...rest }: Given<typeof resourceConditions>): ResourceCondition {
  return toFilter({
    ...rest,
    keys: keysOf('Resource', ids),
    label: toLabelCondition(label),
    rolloutKeys: keysOf('Rollout', rolloutIds),
  })
}

export function toResourceFilter(input: ResourceFilterInput | null | undefined): ResourceFilter {
  const { where, instanceIds, ...conditions } = input ?? {}
  return toFilter({ ...toResourceCondition(conditions), instanceIds, where: toSelector(where, toResourceCondition) })
}
