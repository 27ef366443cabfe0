import type { AlertSeverity, Resolution } from './alerts/alert.ts'
import type { Convergence, Digest } from './desired.ts'
import type { InstanceStatus } from './orchestration/instance.ts'
import type { LifecycleState } from './orchestration/lifecycle.ts'
import type { Presence, SyncStatus } from './orchestration/resource.ts'
import { type LabelCondition, matchesLabel } from './selectors/label-condition.ts'
import { leavesOf, matchesSelector, type Selector } from './selectors/selector.ts'
import type { Connectivity, ConnectivitySource, Label, TargetKind } from './target.ts'
import type { DeploymentState, Digits, FailureStage, Millis, Readiness, Revision, StatusError } from './values.ts'

/** The content of a change, as the log stores it. `from` is null for the first state. */
export type ChangeBody =
  | {
      readonly kind: 'DEPLOYMENT_STATE_CHANGED'
      readonly from: DeploymentState | null
      readonly to: DeploymentState
      readonly error: StatusError | null
      /** Absent: there is no stage. */
      readonly failureStage?: FailureStage
      readonly attempt: number
      readonly adoptedManifestVersion: Digits | null
    }
  | {
      readonly kind: 'COMPONENT_STATE_CHANGED'
      readonly component: string
      readonly from: DeploymentState | null
      readonly to: DeploymentState
      readonly error: StatusError | null
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

/** The values of a field are alternatives; all fields must match. An absent field matches everything, an empty list nothing. */
export interface ChangeFilter extends ChangeCondition {
  readonly where?: ChangeSelector
}

export type ChangeSelector = Selector<ChangeCondition>

export interface ChangeCondition {
  readonly kinds?: readonly ChangeKind[]
  readonly deploymentIds?: readonly string[]
  readonly deviceIds?: readonly string[]
  readonly rolloutKeys?: readonly number[]
  readonly instanceIds?: readonly string[]
  readonly components?: readonly string[]
  readonly to?: readonly DeploymentState[]
  readonly labels?: readonly Label[]
  /** Of the registered labels of its target. */
  readonly label?: LabelCondition
  /** Error codes that a deployment or a component changed to. */
  readonly errorCodes?: readonly string[]
  /** Recorded at this time or later. */
  readonly since?: Millis
  /** Recorded before this time. */
  readonly before?: Millis
}

/** The narrowest first. */
const subjectFields = ['deploymentIds', 'deviceIds', 'instanceIds', 'rolloutKeys'] as const

/** The condition that names the fewest subjects, of those that each match meets: the filter's own, and parts of its selector that must hold. */
export function subjectsOf(filter: ChangeFilter): ChangeCondition | null {
  const leaves = leavesOf<ChangeCondition>(filter)
  const [narrowest] = subjectFields.flatMap((field) => leaves.find((leaf) => leaf[field]) ?? [])
  return narrowest ?? null
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

/** What a change must meet for each field of a filter. */
const conditions: {
  readonly [Field in keyof ChangeFilter]-?: (wanted: NonNullable<ChangeFilter[Field]>, change: Change) => boolean
} = {
  kinds: (kinds, { kind }) => includes(kinds, kind),
  deploymentIds: (ids, { deploymentId }) => includes(ids, deploymentId),
  deviceIds: (ids, change) => includes(ids, deviceOf(change)) || includes(ids, formerDeviceOf(change)),
  rolloutKeys: (keys, change) => includes(keys, change.rolloutKey) || includes(keys, formerRolloutOf(change)),
  instanceIds: (ids, { instanceId }) => includes(ids, instanceId),
  components: (names, change) => 'component' in change && includes(names, change.component),
  to: (states, change) => includes(states, toState(change)),
  labels: (labels, change) => labels.some((wanted) => hasLabel(change.labels, wanted)),
  label: (label, change) => matchesLabel(label, valuesOf(change.labels, label.key)),
  errorCodes: (codes, change) => includes(codes, errorCodeOf(change)),
  since: (time, { at }) => at >= time,
  before: (time, { at }) => at < time,
  where: (selector, change) => matchesSelector(selector, (leaf) => matchesChange(leaf, change)),
}

export function matchesChange(filter: ChangeFilter, change: Change): boolean {
  for (const field in filter) {
    const wanted = filter[field as keyof ChangeFilter]
    if (!Object.hasOwn(conditions, field)) throw new TypeError(`${field} has no condition`)
    const isMet = conditions[field as keyof ChangeFilter] as (wanted: unknown, change: Change) => boolean
    if (wanted !== undefined && !isMet(wanted, change)) return false
  }
  return true
}

function deviceOf({ targetKind, targetName }: Change): string | null {
  return targetKind === 'DEVICE' ? targetName : null
}

function formerDeviceOf({ kind, fromTargetName }: Change): string | null {
  return kindsOfBothTargets.includes(kind) ? fromTargetName : null
}

function errorCodeOf(change: Change): string | null {
  return 'error' in change ? (change.error?.code ?? null) : null
}

function valuesOf(labels: readonly Label[], key: string): string[] {
  return labels.filter((label) => label.key === key).map(({ value }) => value)
}

function toState(change: Change): DeploymentState | null {
  return change.kind === 'DEPLOYMENT_STATE_CHANGED' || change.kind === 'COMPONENT_STATE_CHANGED' ? change.to : null
}

function hasLabel(labels: readonly Label[], wanted: Label): boolean {
  return labels.some((label) => label.key === wanted.key && label.value === wanted.value)
}

function includes<T>(list: readonly T[], value: T | null): boolean {
  return value !== null && list.includes(value)
}
