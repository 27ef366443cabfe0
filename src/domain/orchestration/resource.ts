/** A Kubernetes object of a component on a target: what the orchestrator did with it, and what the cluster reports about it. */
import type { Connectivity } from '../target.ts'
import type { Millis, Readiness, Revision } from '../values.ts'

export const syncStatuses = ['PENDING', 'APPLIED', 'FAILED', 'RETRYING', 'DELETED'] as const
export type SyncStatus = (typeof syncStatuses)[number]

export const presences = ['UNKNOWN', 'NOT_PRESENT', 'PRESENT'] as const
export type Presence = (typeof presences)[number]

/** Every field of a resource that a change can alter. The log can restore it at any revision. */
export interface ResourceImage {
  readonly version: string
  /** Null: cluster-wide, or unknown until the cluster shows the one object of that name. */
  readonly namespace: string | null
  /** The status that the orchestrator reports. Null: only the cluster reported the object. */
  readonly sync: SyncStatus | null
  readonly presence: Presence
  readonly readiness: Readiness
  readonly reason: string | null
  readonly message: string | null
  /** Whether the source that watches the cluster can show objects of this kind at all. */
  readonly showable: boolean
  readonly changedAt: Millis
  readonly revision: Revision
  /** When an object that only the cluster reported disappeared. It is then in no list, count or sum. */
  readonly goneAt: Millis | null
}

export interface Resource extends ResourceImage {
  readonly key: number
  readonly rolloutKey: number
  readonly instanceKey: number
  readonly deploymentKey: number
  readonly targetKey: number
  readonly component: string
  readonly group: string
  readonly kind: string
  readonly name: string
  /** Digests of the details, so that unchanged details are not written again. Null: there are none. */
  readonly detailHash: string | null
  readonly appliedDetailHash: string | null
}

/** A Kubernetes object as JSON text for storage: without secrets, limited in size. */
export interface ResourceDetail {
  readonly text: string
  readonly hash: string
  /** Parts were left out because the object is too large. */
  readonly isCut: boolean
}

/** The readiness of one object. `reason` is a CamelCase word for programs, `message` is for people. READY needs neither. */
export type Assessment = Pick<ResourceImage, 'readiness' | 'reason' | 'message'>

/** A resource in an answer that is grouped by component and cluster. */
export interface ListedResource
  extends Pick<
    Resource,
    'key' | 'component' | 'group' | 'version' | 'kind' | 'name' | 'sync' | 'presence' | 'readiness'
  > {
  readonly provider: string
  readonly target: string
  readonly connectivity: Connectivity
  /** Null: not requested. */
  readonly detail: unknown
}

export interface ResourceCounts {
  readonly total: number
  readonly sync: Readonly<Record<SyncStatus, number>>
  readonly presence: Readonly<Record<Presence, number>>
  readonly readiness: Readonly<Record<Readiness, number>>
}
