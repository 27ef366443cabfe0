/** Which changes concern the resources that a filter selects. */
import type { Change } from '../../../domain/change.ts'
import { mentions } from '../../../domain/selectors/selector.ts'
import type { Topic } from '../../../feed/hub.ts'
import type { WatchOptions } from '../../../feed/watch-stream.ts'
import type { ResourceCondition, ResourceFilter } from '../../../store/read/filters/resource-filter.ts'

export function resourceWatch(filter: ResourceFilter): WatchOptions {
  const isByConnectivity = mentions<ResourceCondition>(filter, ['connectivity'])
  const keys = filter.keys && new Set(filter.keys)
  return {
    // A change of a cluster's connectivity carries no rollout or instance topic.
    topics: isByConnectivity ? ['all'] : topicsOf(filter),
    matches: ({ kind, resourceKey }) =>
      resourceKey !== null && keys
        ? keys.has(resourceKey)
        : ofResources.has(kind) || (isByConnectivity && kind === 'CONNECTIVITY_CHANGED'),
  }
}

/** The others replace the current instance, or change many resources at once. */
const ofResources: ReadonlySet<Change['kind']> = new Set<Change['kind']>([
  ...(['RESOURCE_STATUS_CHANGED', 'INSTANCE_STATUS_CHANGED', 'LIFECYCLE_ACTION_RECORDED'] as const),
  ...(['DEPLOYMENT_REVISED', 'DEPLOYMENT_FORGOTTEN'] as const),
])

/** The narrowest field of the filter decides. */
function topicsOf({ instanceIds, rolloutKeys }: ResourceFilter): readonly Topic[] {
  // A superseded instance leaves the counts by a change of its successor, so only the filter's own IDs are safe.
  if (instanceIds) return instanceIds.map((id): Topic => `instance:${id}`)
  if (rolloutKeys) return rolloutKeys.map((key): Topic => `rollout:${key}`)
  return ['all']
}
