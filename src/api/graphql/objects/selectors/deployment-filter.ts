import { deploymentFilter } from '../../../../domain/nouns/deployment.ts'
import type { DeploymentFilter } from '../../../../store/read/filters/deployment-filter.ts'
import { withinGroup } from '../../../../store/read/groups/group-conditions.ts'
import { DeploymentGroupInput, toGroupName } from '../groups/grouping.ts'
import { type FilterInput, implementFilter } from './selector.ts'

const { ref, whereRef, read } = implementFilter(deploymentFilter, (t) => ({
  group: t.field({
    type: DeploymentGroupInput,
    description: 'One group of `deploymentGroups`: the deployments that belong to it.',
  }),
}))

export { ref as DeploymentFilterRef, whereRef as DeploymentWhereRef }

export type DeploymentFilterInput = FilterInput<typeof deploymentFilter> & {
  readonly group?: typeof DeploymentGroupInput.$inferInput | null
}

export function toDeploymentFilter(input: DeploymentFilterInput | null | undefined): DeploymentFilter {
  const { retired = false, ...conditions } = read(input)
  // `retired: false` is the default. Absent it does not count as a filter, so stored counters can answer.
  const filter: DeploymentFilter = { ...conditions, ...(retired && { retired }) }
  return input?.group ? withinGroup(filter, toGroupName(input.group)) : filter
}
