import type { InMaintenance } from './maintenance.ts'
import type { Millis, Revision } from './values.ts'

export const targetKinds = ['DEVICE', 'CLUSTER', 'CLOUD_REGION', 'SITE'] as const
export type TargetKind = (typeof targetKinds)[number]

export const connectivities = ['UNKNOWN', 'ONLINE', 'OFFLINE', 'RETRYING'] as const
export type Connectivity = (typeof connectivities)[number]

/** What a connectivity follows from: a report of the device, its gateway's error 102, its silence, its MQTT broker, its orchestrator. */
const connectivitySources = ['REPORT', 'GATEWAY', 'SILENCE', 'BROKER', 'ORCHESTRATOR'] as const
export type ConnectivitySource = (typeof connectivitySources)[number]

export interface Label {
  readonly key: string
  readonly value: string
}

/** The `siteKey` of what devices and orchestrators report to this server itself. */
export const ownSite = 0

/**
 * Where a deployment runs: a device, a cluster or a cloud region. A device's `name` is its deviceId. Or a site: a server that sends what its devices and
 * clusters report. A site's `name` is its path, as `eu/berlin`.
 */
export interface Target extends InMaintenance {
  readonly key: number
  readonly kind: TargetKind
  /** Clusters only; empty for the others. */
  readonly provider: string
  readonly name: string
  /** The site that it belongs to. A name identifies one within its site. Sites themselves have none. */
  readonly siteKey: number
  /** Of a device, the form that all IDs have that look the same (look-alike.ts). Null: it is the name. */
  readonly foldedName: string | null
  /** The name for display. Null: `name`. */
  readonly displayName: string | null
  readonly labels: readonly Label[]
  readonly registered: boolean
  /** The longest time between two messages, in seconds, as registered. Null: silence does not mean that the device is offline. */
  readonly expectedInterval: number | null
  readonly parentKey: number | null
  readonly connectivity: Connectivity
  readonly lastHeardAt: Millis | null
  /** Orders births and last wills of its connections to a broker (transition/order.ts). Null: none had a time. */
  readonly connectionOrder: number | null
  readonly revokedAt: Millis | null
  /** When the target was retired (ingest/commands/devices/retire.ts). Null: it is in service. */
  readonly retiredAt: Millis | null
  readonly retiredReason: string | null
  /** The device that replaced it. */
  readonly replacedByKey: number | null
  /** When it last left a maintenance window: its silence counts from then. */
  readonly maintenanceEndedAt: Millis | null
  /** The revision from which it is shown in the past. */
  readonly createdRevision: Revision
}

export const inService = { retiredAt: null, retiredReason: null, replacedByKey: null } as const

/** The error for a retired device. Its status code, 410, means: do not retry. */
export function retiredMessage(device: string): string {
  return `device ${device} is retired and may not send anything. An operator can register it again with registerDevices`
}

/** The gateway of a device: the first part of a hierarchical id, "gateway/child" (Margo). Any other device is its own gateway. */
export function gatewayOf(deviceId: string): string {
  const cut = deviceId.indexOf('/', 1)
  return cut < 0 ? deviceId : deviceId.slice(0, cut)
}

export interface TargetName {
  readonly kind: TargetKind
  readonly provider: string
  readonly name: string
}

export interface ClusterName extends TargetName {
  readonly kind: 'CLUSTER'
}

/** Null: it is not `provider+name`. */
export function parseCluster(text: string): ClusterName | null {
  const cut = text.indexOf('+')
  if (cut < 1 || cut === text.length - 1) return null
  return { kind: 'CLUSTER', provider: text.slice(0, cut), name: text.slice(cut + 1) }
}
