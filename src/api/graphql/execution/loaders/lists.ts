/** The reads of live lists and series of one snapshot (reader.ts). */
import type { Millis, Revision } from '../../../../domain/values.ts'
import type { Snapshot } from '../../../../store/database.ts'
import type { DeploymentFilter } from '../../../../store/read/filters/deployment-filter.ts'
import { type Candidates, placesOf, withChangedResources } from '../../../../store/read/filters/listed-places.ts'
import type { ResourceFilter } from '../../../../store/read/filters/resource-filter.ts'
import { resourcePlaces } from '../../../../store/read/orchestration/resources.ts'
import type { DeploymentOrder } from '../../../../store/read/orders/deployment-order.ts'
import type { ResourceOrder } from '../../../../store/read/orders/resource-order.ts'
import { revisionsAt } from '../../../../store/read/past.ts'
import { withChangedDeployments } from '../../../../store/read/targets/targets.ts'

export function listLoaders(s: Snapshot) {
  return {
    /** The labels that restrict what the reader sees, which have no history. */
    isNarrowByLabel: (s.accessScope?.labels ?? null) !== null,
    deploymentPlaces: (
      candidates: Candidates,
      filter: DeploymentFilter,
      order: DeploymentOrder,
      upTo: string | null,
      limit: number,
    ) => placesOf(s, candidates, filter, order, upTo, limit),
    resourcePlaces: (
      keys: readonly number[],
      filter: ResourceFilter,
      order: ResourceOrder,
      upTo: string | null,
      limit: number,
    ) => resourcePlaces(s, keys, filter, order, upTo, limit),
    /** The newest revision at or before each time. Throws HISTORY_EXPIRED for a time before the retained history. */
    revisionsAt: (times: readonly Millis[]) => revisionsAt(s, times),
    withChangedResources: (keys: readonly number[], after: Revision) => withChangedResources(s, keys, after),
    withChangedDeployments: (keys: readonly number[], after: Revision) => withChangedDeployments(s, keys, after),
  }
}
