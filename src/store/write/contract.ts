/**
 * The contract between the writer and the store: the needs of a batch, the loaded rows, and the rows to write.
 */
import type { Alert } from '../../domain/alerts/alert.ts'
import type { ChangeBody } from '../../domain/change.ts'
import type { Counters } from '../../domain/counters.ts'
import type { Deployment } from '../../domain/deployment.ts'
import type { Declaration, Digest, Manifest, ManifestEntry } from '../../domain/desired.ts'
import type { DeviationKind } from '../../domain/deviation.ts'
import type { MaintenanceWindow } from '../../domain/maintenance.ts'
import type { Instance } from '../../domain/orchestration/instance.ts'
import type { LifecycleAction } from '../../domain/orchestration/lifecycle.ts'
import type { Presence, Resource, ResourceDetail, SyncStatus } from '../../domain/orchestration/resource.ts'
import type { OrderKey, StatusReport, Verdict } from '../../domain/report.ts'
import type { Rollout, RolloutLabels, RolloutName } from '../../domain/rollout.ts'
import type { Target, TargetName } from '../../domain/target.ts'
import type { Millis, Readiness, Revision } from '../../domain/values.ts'
import type { LoadedAlerts, StoredRule } from '../alerts/rows.ts'
import type { Proof } from '../signature-claims.ts'

/** Everything that commands may read. It is loaded for the whole batch, in one query a table. */
export interface Needs {
  /** Deployments by deploymentId and reporter, and the deployment with that deploymentId on that device. */
  readonly deployments?: readonly DeploymentNeed[]
  readonly deploymentKeys?: readonly number[]
  /** Every deployment of these reporters. */
  readonly reporters?: readonly string[]
  readonly devices?: readonly string[]
  /** Devices, with the devices above them. */
  readonly ancestors?: boolean
  /** These devices and all devices below them, with their manifests and every deployment that runs on one of them or that one reports. */
  readonly branches?: readonly string[]
  /** The holders of these identities: ids of public keys, and SPIFFE ids. */
  readonly identities?: readonly string[]
  readonly rollouts?: readonly RolloutName[]
  readonly rolloutKeys?: readonly number[]
  /** Also the labels of `rollouts` and `rolloutKeys`. */
  readonly rolloutLabels?: boolean
  readonly targets?: readonly TargetName[]
  readonly orchestrated?: readonly OrchestratedNeed[]
  /** The desired state of these devices. */
  readonly manifests?: readonly string[]
  /** The desired state of the devices whose manifests list these deployments. */
  readonly manifestsOf?: readonly number[]
  readonly alerts?: AlertNeed
  /** Maintenance windows, and how many have not ended. */
  readonly maintenance?: readonly number[]
}

export interface AlertNeed {
  /** Rules of these names or keys, with their firing alerts. */
  readonly rules?: readonly string[]
  readonly ruleKeys?: readonly number[]
  /** Also every other rule that is defined in the file. */
  readonly isOfFile?: boolean
  /** Also the cursor of the evaluation, locked until the batch is written. */
  readonly cursor?: boolean
  readonly alertKeys?: readonly number[]
}

export interface LoadedMaintenance {
  /** Windows that have not ended. */
  readonly count: number
  readonly windows: readonly MaintenanceWindow[]
}

export interface AlertEffects {
  readonly rules: ReadonlyMap<number, { readonly row: StoredRule; readonly isNew: boolean }>
  readonly alerts: ReadonlyMap<number, { readonly row: Alert; readonly isNew: boolean }>
}

/** A rollout (also one of `rollouts`) with its instances and the parts that a command needs. Without a rollout: the instances of the contexts. */
export interface OrchestratedNeed {
  readonly rollout?: RolloutName
  /** The wanted instances, by their id or by the context in the labels of their resources. */
  readonly contexts: readonly string[]
  /** Also the actions on the rollout, and every deployment of those instances and of the current one. */
  readonly actions?: boolean
  /** Also all deployments of the instances, with or without their resources. */
  readonly whole?: 'with resources' | 'without resources'
  /** The deployments of its instances on these targets, with the resources of these components: all, or those with these names. */
  readonly components?: readonly {
    readonly target: TargetName
    readonly component: string
    readonly names: readonly string[] | 'all'
  }[]
  /** Resources of deployments by key. A part of a command needs them of a deployment that an earlier part has named but not yet written. */
  readonly resources?: readonly ResourceNeed[]
}

/** Those with these names, gone ones too, or the next `limit` by key that are not gone. */
export type ResourceNeed = { readonly deploymentKey: number } & (
  | { readonly component: string; readonly wanted: { readonly names: readonly string[] } }
  /** Component null: of all components. */
  | { readonly component: string | null; readonly wanted: { readonly after: number; readonly limit: number } }
)

export interface DeploymentNeed {
  readonly deploymentId: string
  readonly reporter: string
  readonly device: string
  /** Deployments of any reporter, for declarations. */
  readonly anyReporter?: boolean
  /** Needed only if the deployment is missing. */
  readonly otherwise?: RolloutName
}

export interface Statement {
  readonly text: string
  readonly parameters: readonly unknown[]
}

/** A writer's batches have growing numbers. */
export interface BatchName {
  readonly writer: string
  readonly batch: number
}

/** A batch of another server that this one writes, with the outcomes of its commands. */
export interface HandedAnswer {
  readonly name: BatchName
  readonly outcomes: readonly unknown[]
}

export interface LoadedDesired {
  /** The newest version of each device that has more than the first version. */
  readonly versions: ReadonlyMap<number, number>
  /** The entries of those versions, with their documents. */
  readonly entries: readonly (ManifestEntry & { readonly content: string })[]
}

export interface DesiredEffects {
  readonly documents: ReadonlyMap<Digest, string>
  readonly manifests: readonly Omit<Manifest, 'at'>[]
  readonly declarations: readonly Omit<Declaration, 'at'>[]
  /** New entries, and entries that have ended. */
  readonly entries: Iterable<ManifestEntry>
}

/** A group of equal resources of a component, for sums and counts. */
export interface Tally {
  readonly ownerKey: number
  readonly component: string
  readonly sync: SyncStatus | null
  readonly presence: Presence
  readonly readiness: Readiness
  readonly showable: boolean
  readonly n: number
}

/** The newest snapshot of a component from a cluster. */
export interface Bundle {
  readonly instanceKey: number
  readonly targetKey: number
  readonly component: string
  readonly uid: string | null
  readonly resourceVersion: string | null
  readonly receivedAt: number
}

export interface DetailWrite {
  readonly key: number
  readonly detail?: ResourceDetail | null
  readonly appliedDetail?: ResourceDetail | null
}

export interface LoadedOrchestration {
  readonly instances: readonly Instance[]
  readonly actions: readonly LifecycleAction[]
  readonly resources: readonly Resource[]
  readonly tallies: readonly Tally[]
  readonly bundles: readonly Bundle[]
}

export interface OrchestrationEffects {
  readonly instances: ReadonlyMap<number, { readonly row: Instance; readonly isNew: boolean }>
  readonly actions: readonly LifecycleAction[]
  readonly resources: ReadonlyMap<number, { readonly row: Resource; readonly isNew: boolean }>
  readonly details: readonly DetailWrite[]
  readonly tallyDeltas: readonly Tally[]
  readonly bundles: readonly Bundle[]
}

/** The subject of an entry of the log. */
export interface Subject {
  readonly deploymentKey: number | null
  readonly deploymentId: string | null
  readonly target: Target | null
  readonly fromTarget: Target | null
  readonly rolloutKey: number | null
  readonly fromRolloutKey: number | null
  readonly instanceKey: number | null
  readonly instanceId: string | null
  readonly resourceKey: number | null
}

/** One row of change_log, with the facts about its subject that the feed needs. `before`: for readers of the past. */
export interface Entry {
  readonly firstRevision: Revision
  readonly observedAt: Millis | null
  readonly traceparent: string | null
  readonly subject: Subject
  readonly before: { readonly deployment: Deployment } | { readonly resource: Resource } | null
  /** The deployment, if it is the subject. */
  readonly after: Deployment | null
  readonly changes: readonly ChangeBody[]
}

export interface KeptReport {
  readonly key: number
  readonly deploymentKey: number
  readonly verdict: Verdict
  readonly staleBy: OrderKey | null
  /** The place in a STALE report. Null: the place is in the log. */
  readonly place: { readonly targetKey: number; readonly rolloutKey: number } | null
  readonly receivedAt: Millis
  readonly revision: Revision | null
  readonly report: StatusReport
}

/** The deviations of a kind that a batch adds to a device. */
export interface DeviationDelta {
  readonly targetKey: number
  readonly kind: DeviationKind
  readonly count: number
  readonly lastAt: Millis
  readonly example: string
}

export interface Head {
  readonly revision: Revision
  readonly at: Millis
  readonly nextKey: number
}

export interface Loaded {
  readonly deployments: readonly Deployment[]
  readonly targets: readonly Target[]
  readonly rollouts: readonly Rollout[]
  /** Those that were never set are absent. */
  readonly rolloutLabels?: readonly RolloutLabels[]
  /** Targets by their identities. */
  readonly identities?: ReadonlyMap<string, number>
  readonly orchestration?: LoadedOrchestration
  readonly desired?: LoadedDesired
  readonly alerts?: LoadedAlerts
  readonly maintenance?: LoadedMaintenance
}

/** How much of a row changed. An update that is only "heard" does not touch its indexes. */
export type Touch = 'created' | 'changed' | 'heard'

const strength: readonly Touch[] = ['heard', 'changed', 'created']

export function stronger(known: Touch | undefined, touch: Touch): Touch {
  return known && strength.indexOf(known) > strength.indexOf(touch) ? known : touch
}

export interface Effects {
  readonly entries: readonly Entry[]
  readonly reports: readonly KeptReport[]
  readonly deployments: ReadonlyMap<
    number,
    { readonly row: Deployment; readonly touch: Touch; readonly repeats: number }
  >
  readonly targets: ReadonlyMap<number, { readonly row: Target; readonly touch: Touch }>
  readonly rollouts: ReadonlyMap<number, { readonly row: Rollout; readonly isNew: boolean }>
  readonly rolloutLabels: readonly RolloutLabels[]
  readonly orchestration: OrchestrationEffects
  readonly desired: DesiredEffects
  readonly alerts: AlertEffects
  /** One row for each device and kind. */
  readonly deviations: readonly DeviationDelta[]
  readonly rolloutDeltas: ReadonlyMap<number, Counters>
  /** Of every rollout with a change, so also of those in `rolloutDeltas`. */
  readonly rolloutLives: ReadonlyMap<number, RolloutLife>
  readonly fleetDelta: Counters
  readonly revision: Revision
  readonly at: Millis
  readonly nextKey: number
}

/** What a batch makes of the life of a rollout. Null: it does not change that. */
export interface RolloutLife {
  /** When a deployment of it first was not PENDING, if none had been before the batch. */
  readonly startedRevision: Revision | null
  /** When the number of its deployments in progress last changed. */
  readonly activityRevision: Revision | null
  readonly changedRevision: Revision
}

/** The decisions of a batch. */
export interface DecidedBatch {
  readonly effects: Effects
  /** Without duplicates. */
  readonly spent: readonly Proof[]
  readonly answers: readonly HandedAnswer[]
  /** Those of the commands, for rows outside the unit of work. */
  readonly statements: readonly Statement[]
}
