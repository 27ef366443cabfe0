/**
 * Planned downtime. A window selects devices, and lasts from a time to another, once or repeatedly. Each device that enters or leaves a window is a
 * fact of the log of its own: what a device was in, and when, is read as its connectivity is, by callers who see the device.
 */
import type { Millis, Revision } from './values.ts'

export interface MaintenancePlan {
  readonly reason: string
  /** The first occurrence. */
  readonly beginsAt: Millis
  readonly endsAt: Millis
  /** An RRULE (platform/timing/recurrence.ts). Null: it occurs once. */
  readonly repeat: string | null
  /** In which it is repeated. */
  readonly timeZone: string
  readonly selector: MaintenanceSelector
}

/** Which devices, which clusters, or both. `given`, `givenClusters`: the inputs, for showing. `filter`, `clusters`: a DeviceFilter and a ClusterFilter of store/read. */
export interface MaintenanceSelector {
  readonly given?: Readonly<Record<string, unknown>>
  readonly filter?: Readonly<Record<string, unknown>>
  readonly givenClusters?: Readonly<Record<string, unknown>>
  readonly clusters?: Readonly<Record<string, unknown>>
}

export interface MaintenanceWindow extends MaintenancePlan {
  readonly key: number
  /** The present or next occurrence. Null: there is none any more. */
  readonly nextAt: Millis | null
  readonly nextEnd: Millis | null
  /** Whether devices have entered that occurrence. */
  readonly begun: boolean
  readonly plannedRevision: Revision
  readonly plannedAt: Millis
  readonly plannedBy: string
  /** An operator has ended it. Null: no. */
  readonly endedRevision: Revision | null
  readonly endedAt: Millis | null
  readonly endedBy: string | null
}

/** The window that a device or a cluster is in. All null: none. */
export interface InMaintenance {
  readonly maintenanceKey: number | null
  readonly maintenanceReason: string | null
  readonly maintenanceSince: Millis | null
  /** As planned. */
  readonly maintenanceUntil: Millis | null
}

export const notInMaintenance: InMaintenance = {
  maintenanceKey: null,
  maintenanceReason: null,
  maintenanceSince: null,
  maintenanceUntil: null,
}

/** Windows that have not ended. Each is looked at while it lasts, so their number is bounded. */
export const mostWindows = 1_000
