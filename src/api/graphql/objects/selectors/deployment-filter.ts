import type { DeploymentFilter } from '../../../../store/read/filters/deployment-filter.ts'
import { withinGroup } from '../../../../store/read/groups/group-conditions.ts'
import { builder } from '../../builder.ts'
import { toFilter } from '../../mutations/input.ts'
import { DeploymentGroupInput, toGroupName } from '../groups/grouping.ts'
import {
  DeploymentWhereRef,
  deploymentConditions,
  toDeploymentCondition,
  toDeploymentSelector,
} from './deployment-selector.ts'

export const DeploymentFilterRef = builder.inputType('DeploymentFilter', {
  description:
    'Selects deployments. A deployment matches a field if it has any of its values; it must match all fields given. An empty list matches nothing. In a fleet of more than 60,000 deployments, a filter is refused if more than 20,000 lie between the rows of a page, or if more than 60,000 may match a count that is not kept: add a condition that an index serves.',
  fields: (t) => ({
    ...deploymentConditions(t),
    retired: t.boolean({
      description:
        'True: only deployments that were closed when their device was retired. Absent or false: all other deployments.',
    }),
    group: t.field({
      type: DeploymentGroupInput,
      description: 'One group of `deploymentGroups`: the deployments that belong to it.',
    }),
    where: t.field({
      type: DeploymentWhereRef,
      description: 'Conditions that are combined by `and`, `or` and `not`.',
    }),
  }),
})

export type DeploymentFilterInput = typeof DeploymentFilterRef.$inferInput

export function toDeploymentFilter(input: DeploymentFilterInput | null | undefined): DeploymentFilter {
  const { retired, group, where, ...conditions } = input ?? {}
  // `retired: false` is the default. As null it does not count as a filter, so stored counters can answer.
  const filter: DeploymentFilter = toFilter({
    ...toDeploymentCondition(conditions),
    retired: retired || null,
    where: toDeploymentSelector(where),
  })
  return group ? withinGroup(filter, toGroupName(group)) : filter
}
