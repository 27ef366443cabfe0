/** The reads of lists of devices and clusters of one snapshot (loaders.ts). */
import type { Snapshot } from '../../store/database.ts'
import { type ClusterFilter, countClusters, pageClusters } from '../../store/read/clusters.ts'
import type { TargetOrder } from '../../store/read/orders/target-order.ts'
import {
  countByConnectivity,
  countDevices,
  type DeviceFilter,
  type DeviceScope,
  pageDevices,
} from '../../store/read/targets.ts'
import type { PageRequest } from '../../store/sql/order.ts'
import { batched, remembered } from './batching.ts'
import { deviceScopeOf } from './parents.ts'

export function deviceLoaders(s: Snapshot) {
  const devices = batched(
    (keys: readonly number[], of: DeviceScope['of'], filter: DeviceFilter, page: PageRequest, order: TargetOrder) =>
      pageDevices(s, deviceScopeOf(of, keys), filter, page, order),
  )
  const deviceCount = batched((keys: readonly number[], of: DeviceScope['of'], filter: DeviceFilter) =>
    countDevices(s, deviceScopeOf(of, keys), filter),
  )
  return {
    devices: (parentKey: number | null, filter: DeviceFilter, page: PageRequest, order: TargetOrder) =>
      devices(parentKey ?? 0, parentKey === null ? 'fleet' : 'parent', filter, page, order),
    deviceCount: (parentKey: number | null, filter: DeviceFilter) =>
      deviceCount(parentKey ?? 0, parentKey === null ? 'fleet' : 'parent', filter),
    deviceCounts: remembered((filter: DeviceFilter) => countByConnectivity(s, filter)),
    clusters: remembered((filter: ClusterFilter, page: PageRequest, order: TargetOrder) =>
      pageClusters(s, filter, page, order),
    ),
    clusterCount: remembered((filter: ClusterFilter) => countClusters(s, filter)),
  }
}
