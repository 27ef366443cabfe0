/** Which changes concern the deployments that a filter selects. */
import { mentions } from '../../../domain/selectors/selector.ts'
import type { Topic } from '../../../feed/hub.ts'
import type { DeploymentCondition, DeploymentFilter } from '../../../store/read/filters/deployment-filter.ts'

/** The narrowest field of the filter decides. */
export function deploymentTopics(filter: DeploymentFilter): readonly Topic[] {
  // It may be registered again as the reporter of deployments of other devices.
  if (filter.retired) return ['all']
  if (filter.deviceIds) return filter.deviceIds.map((id): Topic => `device:${id}`)
  // Changes of a target's connectivity, maintenance or retirement carry no deployment or rollout topic.
  if (dependsOnTargets(filter)) return ['all']
  if (filter.deploymentIds) return filter.deploymentIds.map((id): Topic => `deployment:${id}`)
  if (filter.rolloutKeys) return filter.rolloutKeys.map((key): Topic => `rollout:${key}`)
  return ['all']
}

/** Whether a change of a target alone may change what matches. */
export function dependsOnTargets(filter: DeploymentFilter): boolean {
  return filter.retired !== undefined || mentions<DeploymentCondition>(filter, ['connectivity', 'inMaintenance'])
}

/** Fields whose values have no history: the log does not have their changes. */
const withoutHistory = [
  'labels',
  'label',
  'connectivity',
  'lastHeardBefore',
  'lastHeardAfter',
  'vendors',
  'models',
  'text',
] as const satisfies readonly (keyof DeploymentCondition)[]

export function hasHistory(filter: DeploymentFilter): boolean {
  return (
    filter.retired === undefined &&
    filter.group?.by !== 'LABEL' &&
    !mentions<DeploymentCondition>(filter, withoutHistory)
  )
}
