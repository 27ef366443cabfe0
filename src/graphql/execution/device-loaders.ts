/** The reads of lists of devices and clusters of one snapshot (loaders.ts). */
import type { Revision } from '../../domain/values.ts'
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

type Of = DeviceScope['of']

export function deviceLoaders(s: Snapshot) {
  const devices = batched(
    (
      keys: readonly number[],
      of: Of,
      filter: DeviceFilter,
      page: PageRequest,
      order: TargetOrder,
      asOf: Revision | null,
    ) => pageDevices(s, deviceScopeOf(of, keys), filter, page, order, asOf),
  )
  const deviceCount = batched((keys: readonly number[], of: Of, filter: DeviceFilter, asOf: Revision | null) =>
    countDevices(s, deviceScopeOf(of, keys), filter, asOf),
  )
  const deviceCounts = batched((keys: readonly number[], of: Of, filter: DeviceFilter, asOf: Revision | null) =>
    countByConnectivity(s, deviceScopeOf(of, keys), filter, asOf),
  )
  const scopeOf = (parentKey: number | null): Of => (parentKey === null ? 'fleet' : 'parent')
  return {
    devices: (
      parentKey: number | null,
      filter: DeviceFilter,
      page: PageRequest,
      order: TargetOrder,
      asOf: Revision | null,
    ) => devices(parentKey ?? 0, scopeOf(parentKey), filter, page, order, asOf),
    deviceCount: (parentKey: number | null, filter: DeviceFilter, asOf: Revision | null) =>
      deviceCount(parentKey ?? 0, scopeOf(parentKey), filter, asOf),
    /** Of a rollout, or of the fleet. */
    deviceCounts: (rolloutKey: number | null, filter: DeviceFilter, asOf: Revision | null) =>
      deviceCounts(rolloutKey ?? 0, rolloutKey === null ? 'fleet' : 'rollout', filter, asOf),
    clusters: remembered((filter: ClusterFilter, page: PageRequest, order: TargetOrder, asOf: Revision | null) =>
      pageClusters(s, filter, page, order, asOf),
    ),
    clusterCount: remembered((filter: ClusterFilter, asOf: Revision | null) => countClusters(s, filter, asOf)),
  }
}
