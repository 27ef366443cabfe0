/** The reads of resources and instances of one snapshot (reader.ts). */
import type { Revision } from '../../../../domain/values.ts'
import type { Snapshot } from '../../../../store/database.ts'
import type { ResourceFilter } from '../../../../store/read/filters/resource-filter.ts'
import { actionsOf, instancesByKey, instancesOf } from '../../../../store/read/orchestration/instances.ts'
import {
  countResources,
  detailsOf,
  pageResources,
  resourcesByKey,
  sumOfReadiness,
} from '../../../../store/read/orchestration/resources.ts'
import type { ResourceOrder } from '../../../../store/read/orders/resource-order.ts'
import type { PageRequest } from '../../../../store/sql/order.ts'
import { batched } from './batching.ts'
import { perResourceParent } from './parents.ts'

export function resourceLoaders(s: Snapshot) {
  return {
    resource: batched((keys: readonly number[], asOf: Revision | null) => resourcesByKey(s, keys, asOf)),
    resourceDetail: batched((keys: readonly number[]) => detailsOf(s, keys)),
    resources: perResourceParent(
      (scope, filter: ResourceFilter, page: PageRequest, asOf: Revision | null, order: ResourceOrder) =>
        pageResources(s, scope, filter, page, asOf, order),
    ),
    resourceCounts: perResourceParent((scope, filter: ResourceFilter, asOf: Revision | null) =>
      countResources(s, scope, filter, asOf),
    ),
    readinessSum: perResourceParent((scope, asOf: Revision | null) => sumOfReadiness(s, scope, asOf)),
    instance: batched((keys: readonly number[], asOf: Revision | null) => instancesByKey(s, keys, asOf)),
    instancesOf: batched((keys: readonly number[], asOf: Revision | null) => instancesOf(s, keys, asOf)),
    actionsOf: batched((keys: readonly number[], asOf: Revision | null) => actionsOf(s, keys, asOf)),
  }
}
