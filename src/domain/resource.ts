/** A Kubernetes object of a component on a target: what the orchestrator did with it, and what the cluster shows of it. */
import type { Millis, Readiness, Revision } from './values.ts'

export const syncStatuses = ['PENDING', 'APPLIED', 'FAILED', 'RETRYING', 'DELETED'] as const
export type SyncStatus = (typeof syncStatuses)[number]

export const presences = ['UNKNOWN', 'NOT_PRESENT', 'PRESENT'] as const
export type Presence = (typeof presences)[number]

/** What the log can unwind. */
export interface ResourceImage {
  readonly version: string
  /** Null: cluster-wide, or not told yet (the one object of that name that the cluster shows tells it). */
  readonly namespace: string | null
  /** The orchestrator's word; null for an object that only the cluster has. */
  readonly sync: SyncStatus | null
  readonly presence: Presence
  readonly readiness: Readiness
  readonly reason: string | null
  readonly message: string | null
  /** Whether the source that watches the cluster can show objects of this kind at all. */
  readonly showable: boolean
  readonly changedAt: Millis
  readonly revision: Revision
  /** Since when an object that only the cluster had is no longer there: it has left lists, counts and sums. */
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
  /** Digests of the details, so that what has not changed is not written again; null: there is none. */
  readonly detailHash: string | null
  readonly appliedDetailHash: string | null
}

/** A Kubernetes object as JSON text, fit to be stored: no secrets, not too large. */
export interface ResourceDetail {
  readonly text: string
  readonly hash: string
  /** Something was left out because it was too large. */
  readonly isCut: boolean
}
