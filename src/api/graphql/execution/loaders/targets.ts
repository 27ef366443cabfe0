/** The reads of devices and clusters of one snapshot (reader.ts). */
import type { Target, TargetKind } from '../../../../domain/target.ts'
import type { Millis, Revision } from '../../../../domain/values.ts'
import type { Snapshot } from '../../../../store/database.ts'
import type { TargetOrder } from '../../../../store/read/orders/target-order.ts'
import { listSites, receptionsOf } from '../../../../store/read/sites.ts'
import { type ClusterFilter, countClusters, pageClusters } from '../../../../store/read/targets/clusters.ts'
import { countDeviations, deviationsOf } from '../../../../store/read/targets/deviations.ts'
import {
  maintenanceBands,
  maintenanceOfRollouts,
  maintenanceOfSites,
} from '../../../../store/read/targets/in-maintenance.ts'
import { countTargetsIn } from '../../../../store/read/targets/maintenance.ts'
import { profilesOf } from '../../../../store/read/targets/profiles.ts'
import { countRetirement, namesToReinstate, namesToRetire } from '../../../../store/read/targets/retirement.ts'
import {
  countByConnectivity,
  countDevices,
  type DeviceFilter,
  type DeviceScope,
  devicesNamed,
  pageDevices,
  targetByName,
  targetsByKey,
} from '../../../../store/read/targets/targets.ts'
import type { PageRequest } from '../../../../store/sql/order.ts'
import { batched, remembered } from './batching.ts'
import { deviceScopeOf } from './parents.ts'

type Of = DeviceScope['of']

/** `asOf`: the revision that it reflects (store/read/targets/past-targets.ts). Null: the present. */
export type TargetNode = Target & { readonly asOf: Revision | null }

export function targetLoaders(s: Snapshot) {
  const target = batched((keys: readonly number[], asOf: Revision | null) => targetsByKey(s, keys, asOf))
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
  const named = batched(
    (names: readonly string[]) => devicesNamed(s, names),
    (_, index) => index,
  )
  const scopeOf = (parentKey: number | null): Of => (parentKey === null ? 'fleet' : 'parent')
  return {
    target: async (key: number, asOf: Revision | null): Promise<TargetNode | undefined> => {
      const found = await target(key, asOf)
      return found && { ...found, asOf }
    },
    knownTarget(key: number, asOf: Revision | null): TargetNode | undefined {
      const found = target.known(key, asOf)
      return found && { ...found, asOf }
    },
    deviceNamed: async (name: string): Promise<TargetNode | undefined> => {
      const found = await named(name)
      return found && { ...found, asOf: null }
    },
    targetByName: remembered((kind: TargetKind, provider: string, name: string, asOf: Revision | null) =>
      targetByName(s, kind, provider, name, asOf),
    ),
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
    namesToRetire: (filter: DeviceFilter, most: number) => namesToRetire(s, filter, most),
    namesToReinstate: (filter: DeviceFilter, withChildren: boolean, most: number) =>
      namesToReinstate(s, filter, withChildren, most),
    retirement: remembered((filter: DeviceFilter, withChildren: boolean) => countRetirement(s, filter, withChildren)),
    targetsInWindow: batched((keys: readonly number[]) => countTargetsIn(s, keys)),
    maintenanceOfRollout: batched((keys: readonly number[], asOf: Revision | null) =>
      maintenanceOfRollouts(s, keys, asOf),
    ),
    maintenanceOfSites: remembered((labelKey: string, size: number, asOf: Revision | null) =>
      maintenanceOfSites(s, labelKey, size, asOf),
    ),
    maintenanceBands: remembered((rolloutKey: number | null, from: Millis, to: Millis | null) =>
      maintenanceBands(s, rolloutKey, from, to),
    ),
    sites: remembered(() => listSites(s)),
    reception: batched((keys: readonly number[]) => receptionsOf(s, keys)),
    profile: batched((keys: readonly number[]) => profilesOf(s, keys)),
    deviations: batched((keys: readonly number[]) => deviationsOf(s, keys)),
    deviationCounts: remembered(() => countDeviations(s)),
  }
}
