import type { AlertSeverity, Resolution } from './alerts/alert.ts'
import type { Convergence, Digest } from './desired.ts'
import type { SaidDetails } from './nouns/deployment.ts'
import type { InstanceStatus } from './orchestration/instance.ts'
import type { LifecycleState } from './orchestration/lifecycle.ts'
import type { Presence, SyncStatus } from './orchestration/resource.ts'
import type { Connectivity, ConnectivitySource, Label, TargetKind } from './target.ts'
import type { DeploymentState, Digits, Millis, Readiness, Revision, StatusError } from './values.ts'

/** The content of a change, as the log stores it. `from` is null for the first state. */
export type ChangeBody =
  | (SaidDetails & {
      readonly kind: 'DEPLOYMENT_STATE_CHANGED'
      readonly from: DeploymentState | null
      readonly to: DeploymentState
      readonly error: StatusError | null
      readonly attempt: number
      readonly adoptedManifestVersion: Digits | null
    })
  | {
      readonly kind: 'COMPONENT_STATE_CHANGED'
      readonly component: string
      readonly from: DeploymentState | null
      readonly to: DeploymentState
      readonly error: StatusError | null
      /** What the report says about it, if that was not understood: the component stays as it was. */
      readonly unread?: string
    }
  | { readonly kind: 'COMPONENT_REMOVED'; readonly component: string; readonly from: DeploymentState | null }
  | { readonly kind: 'DEPLOYMENT_MOVED'; readonly fromTargetKey: number; readonly toTargetKey: number }
  | {
      readonly kind: 'DEPLOYMENT_REVISED'
      /** Absent: the reader does not see the origin. */
      readonly from?: { readonly application: string | null; readonly applicationVersion: string | null }
      readonly application: string | null
      readonly applicationVersion: string | null
      readonly rolloutKey: number
      /** For orchestrated deployments only: the readiness of their resources, and whether their instance is the rollout's current one. */
      readonly readiness?: Readiness
      readonly componentReadiness?: Readonly<Record<string, Readiness>>
      readonly isCurrent?: boolean
    }
  | { readonly kind: 'DEPLOYMENT_FORGOTTEN' }
  | { readonly kind: 'DEPLOYMENT_STALLED'; readonly stalled: boolean }
  | {
      readonly kind: 'CONVERGENCE_CHANGED'
      readonly from: Convergence
      readonly to: Convergence
      readonly targetManifestVersion: Digits | null
      readonly documentDigest: Digest | null
    }
  | {
      readonly kind: 'CONNECTIVITY_CHANGED'
      readonly from: Connectivity | null
      readonly to: Connectivity
      readonly source: ConnectivitySource
    }
  | { readonly kind: 'DEVICE_RETIRED'; readonly reason: string; readonly replacedByKey: number | null }
  | { readonly kind: 'DEVICE_REINSTATED' }
  | {
      readonly kind: 'MAINTENANCE_PLANNED'
      readonly maintenanceKey: number
      readonly reason: string
      /** The first occurrence. */
      readonly from: Millis
      readonly until: Millis
      readonly repeat: string | null
      readonly timeZone: string
      readonly by: string
    }
  | {
      readonly kind: 'MAINTENANCE_CANCELLED'
      readonly maintenanceKey: number
      readonly reason: string
      readonly by: string
    }
  | (MaintenanceFacts & { readonly kind: 'MAINTENANCE_STARTED' })
  | (MaintenanceFacts & { readonly kind: 'MAINTENANCE_ENDED' })
  | {
      readonly kind: 'RESOURCE_STATUS_CHANGED'
      readonly component: string
      readonly fromSync: SyncStatus | null
      readonly toSync: SyncStatus | null
      readonly fromPresence: Presence | null
      readonly toPresence: Presence
      readonly fromReadiness: Readiness | null
      readonly toReadiness: Readiness
      readonly reason: string | null
    }
  | {
      readonly kind: 'INSTANCE_STATUS_CHANGED'
      readonly fromStatus: InstanceStatus | null
      readonly toStatus: InstanceStatus
    }
  | {
      readonly kind: 'LIFECYCLE_ACTION_RECORDED'
      readonly state: LifecycleState
      readonly actionInstanceId: string | null
      readonly instanceRevision: number
      /** When the user did it, by the user's clock. */
      readonly doneAt: Millis
      /** The name of the caller that recorded it. */
      readonly actor: string
    }
  | {
      readonly kind: 'ROLLOUT_LABELS_CHANGED'
      readonly fromLabels: readonly Label[]
      readonly toLabels: readonly Label[]
    }
  | {
      readonly kind: 'ALERT_RAISED'
      readonly alertKey: number
      readonly rule: string
      readonly severity: AlertSeverity
      readonly value: number
      /** The revision that the value reflects. */
      readonly evaluatedRevision: Revision
    }
  | {
      readonly kind: 'ALERT_RESOLVED'
      readonly alertKey: number
      readonly rule: string
      readonly severity: AlertSeverity
      /** Null: there is nothing left to compare. */
      readonly value: number | null
      readonly resolution: Resolution
    }
  | {
      readonly kind: 'ALERT_ACKNOWLEDGED'
      readonly alertKey: number
      readonly rule: string
      readonly severity: AlertSeverity
      readonly by: string
      readonly comment: string
    }

/** The window that a device enters or leaves. */
interface MaintenanceFacts {
  readonly maintenanceKey: number
  readonly reason: string
  readonly since: Millis
  /** As planned. */
  readonly until: Millis
}

export type ChangeKind = ChangeBody['kind']

/** What a change concerns. Filters and the feed's index use it. */
export interface ChangeSubject {
  readonly deploymentKey: number | null
  readonly deploymentId: string | null
  readonly resourceKey: number | null
  readonly targetKey: number | null
  readonly targetKind: TargetKind | null
  readonly targetName: string | null
  /** The former target, on every change of an entry that moved the deployment. */
  readonly fromTargetKey: number | null
  readonly fromTargetName: string | null
  readonly labels: readonly Label[]
  readonly rolloutKey: number | null
  /** The former rollout, on every change of an entry that moved the deployment to another one. */
  readonly fromRolloutKey: number | null
  readonly instanceKey: number | null
  readonly instanceId: string | null
}

/** One change of the log, with a revision of its own. `at` is the server's clock and never decreases; `observedAt` is the reporter's. */
export type Change = ChangeBody &
  ChangeSubject & {
    readonly revision: Revision
    readonly at: Millis
    readonly observedAt: Millis | null
    /** The W3C trace context of the request that made it. */
    readonly traceparent: string | null
  }

/**
 * The changes of an entry that moved a deployment which describe its former target, too. The others happened on the new target only: a
 * subscriber of the former one must not take a failure of the new one for its own.
 */
export const kindsOfBothTargets: readonly ChangeKind[] = ['DEPLOYMENT_MOVED', 'COMPONENT_REMOVED']

/** The same for its former rollout, which must also know that the deployment has left. */
export const kindsOfBothRollouts: readonly ChangeKind[] = [...kindsOfBothTargets, 'DEPLOYMENT_REVISED']

/** The rollout that the change describes besides its own. */
export function formerRolloutOf({ kind, fromRolloutKey }: Change): number | null {
  return kindsOfBothRollouts.includes(kind) ? fromRolloutKey : null
}

/** Of the last change that describes the rollout which a deployment left. `revision`: of the last change of all, with which it joined another. */
export function leftAt(changes: readonly ChangeBody[], revision: Revision): Revision {
  const last = changes.findLastIndex(({ kind }) => kindsOfBothRollouts.includes(kind))
  return revision - (changes.length - 1 - last)
}
