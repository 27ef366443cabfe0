import type { Millis } from './values.ts'

export const targetKinds = ['DEVICE', 'CLUSTER', 'CLOUD_REGION'] as const
export type TargetKind = (typeof targetKinds)[number]

export const connectivities = ['UNKNOWN', 'ONLINE', 'OFFLINE', 'RETRYING'] as const
export type Connectivity = (typeof connectivities)[number]

export interface Label {
  readonly key: string
  readonly value: string
}

/** Where a deployment runs: a device, a cluster or a cloud region. A device's `name` is its deviceId. */
export interface Target {
  readonly key: number
  readonly kind: TargetKind
  /** Clusters only; empty for the others. */
  readonly provider: string
  readonly name: string
  /** What people call it; null: its name. */
  readonly displayName: string | null
  readonly labels: readonly Label[]
  readonly registered: boolean
  /** Seconds between two signs of life that its owner promised; null: silence proves nothing. */
  readonly expectedInterval: number | null
  readonly parentKey: number | null
  readonly connectivity: Connectivity
  readonly lastHeardAt: Millis | null
  readonly revokedAt: Millis | null
  /** Since when it is out of service for good (ingest/commands/retire.ts); null: it is in service. */
  readonly retiredAt: Millis | null
  readonly retiredReason: string | null
  /** The device that took its place. */
  readonly replacedByKey: number | null
}

export const inService = { retiredAt: null, retiredReason: null, replacedByKey: null } as const

/** What a retired device is answered. The status code alone, 410, tells it never to come again. */
export function retiredMessage(device: string): string {
  return `device ${device} has been retired, and nothing it sends is accepted any more: an operator can register it again (registerDevices)`
}

/** Who speaks for all that is behind it: the first part of a hierarchical id, "gateway/child" (Margo). A plain device speaks for itself. */
export function gatewayOf(deviceId: string): string {
  const cut = deviceId.indexOf('/', 1)
  return cut < 0 ? deviceId : deviceId.slice(0, cut)
}

export interface TargetName {
  readonly kind: TargetKind
  readonly provider: string
  readonly name: string
}
