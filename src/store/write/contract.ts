/**
 * What the writer and the store say to each other: what a batch needs, what was loaded, and what must be written.
 */

import type { ChangeBody } from '../../domain/change.ts'
import type { Counters } from '../../domain/counters.ts'
import type { Deployment } from '../../domain/deployment.ts'
import type { Digest, Manifest, ManifestEntry } from '../../domain/desired.ts'
import type { DeviationKind } from '../../domain/deviation.ts'
import type { Instance } from '../../domain/instance.ts'
import type { LifecycleAction } from '../../domain/lifecycle.ts'
import type { OrderKey, StatusReport, Verdict } from '../../domain/report.ts'
import type { Presence, Resource, ResourceDetail, SyncStatus } from '../../domain/resource.ts'
import type { Rollout, RolloutName } from '../../domain/rollout.ts'
import type { Target, TargetName } from '../../domain/target.ts'
import type { Millis, Readiness, Revision } from '../../domain/values.ts'
import type { Proof } from '../signature-claims.ts'

/** Everything a command may look at: loaded for the whole batch in one query a table. */
export interface Needs {
  /** By deploymentId and reporter, and the one of that deploymentId that runs on that device. */
  readonly deployments?: readonly DeploymentNeed[]
  readonly deploymentKeys?: readonly number[]
  /** Every deployment of these reporters. */
  readonly reporters?: readonly string[]
  readonly devices?: readonly string[]
  /** Also what lies above those devices. */
  readonly ancestors?: boolean
  /** These devices and all that is below them, with every deployment that runs on one of them or that one reports, and their manifests. */
  readonly branches?: readonly string[]
  /** Who holds these: ids of public keys, SPIFFE ids. */
  readonly identities?: readonly string[]
  readonly rollouts?: readonly RolloutName[]
  readonly targets?: readonly TargetName[]
  readonly orchestrated?: readonly OrchestratedNeed[]
  /** What these devices should run. */
  readonly manifests?: readonly string[]
  /** What the devices should run that these deployments are desired of. */
  readonly manifestsOf?: readonly number[]
}

/** A rollout (one of `rollouts`, too) with its instances, and what of them a command is about. Without one: those of the contexts. */
export interface OrchestratedNeed {
  readonly rollout?: RolloutName
  /** The instances meant: by their own id, or by the context that labels their resources. */
  readonly contexts: readonly string[]
  /** Also what users did with the rollout, and every deployment of those instances and of the current one. */
  readonly actions?: boolean
  /** Also all that is theirs: deployments and resources. */
  readonly whole?: boolean
  /** The deployments of its instances on these targets, and of them these components' resources: all, or those of these names. */
  readonly components?: readonly {
    readonly target: TargetName
    readonly component: string
    readonly names: readonly string[] | 'all'
  }[]
}

export interface DeploymentNeed {
  readonly deploymentId: string
  readonly reporter: string
  readonly device: string
  /** Of any reporter: for declarations. */
  readonly anyReporter?: boolean
  /** Wanted only when the deployment is not there. */
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

/** A batch of another server that this one writes: what its commands are to be told. */
export interface HandedAnswer {
  readonly name: BatchName
  readonly outcomes: readonly unknown[]
}

export interface LoadedDesired {
  /** The newest version of each device that has had another than the first. */
  readonly versions: ReadonlyMap<number, number>
  /** Of those versions, with their documents. */
  readonly entries: readonly (ManifestEntry & { readonly content: string })[]
}

export interface DesiredEffects {
  readonly documents: ReadonlyMap<Digest, string>
  readonly manifests: readonly Omit<Manifest, 'at'>[]
  /** New ones, and those that have ended. */
  readonly entries: Iterable<ManifestEntry>
}

/** Resources of a component that are alike: what sums and counts need to know. */
export interface Tally {
  readonly ownerKey: number
  readonly component: string
  readonly sync: SyncStatus | null
  readonly presence: Presence
  readonly readiness: Readiness
  readonly showable: boolean
  readonly n: number
}

/** The newest picture of a component that a cluster sent. */
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

/** Whom an entry of the log is about, in its terms. */
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

/** One row of change_log, with what the feed needs to know about its subject. `before` is for what the log unwinds. */
export interface Entry {
  readonly firstRevision: Revision
  readonly observedAt: Millis | null
  readonly subject: Subject
  readonly before: { readonly deployment: Deployment } | { readonly resource: Resource } | null
  readonly changes: readonly ChangeBody[]
}

export interface KeptReport {
  readonly key: number
  readonly deploymentKey: number
  readonly verdict: Verdict
  readonly staleBy: OrderKey | null
  /** Where a STALE one says that it runs; null: as the log says. */
  readonly place: { readonly targetKey: number; readonly rolloutKey: number } | null
  readonly receivedAt: Millis
  readonly revision: Revision | null
  readonly report: StatusReport
}

/** What a batch adds to a device's deviations of a kind. */
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
  /** Targets by what else they are known by. */
  readonly identities?: ReadonlyMap<string, number>
  readonly orchestration?: LoadedOrchestration
  readonly desired?: LoadedDesired
}

/** How much of a row moved: nothing but "heard again" leaves its indexes alone. */
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
  readonly orchestration: OrchestrationEffects
  readonly desired: DesiredEffects
  /** One a device and kind. */
  readonly deviations: readonly DeviationDelta[]
  readonly rolloutDeltas: ReadonlyMap<number, Counters>
  readonly fleetDelta: Counters
  readonly revision: Revision
  readonly at: Millis
  readonly nextKey: number
}

/** What a batch decided. */
export interface DecidedBatch {
  readonly effects: Effects
  /** Each once. */
  readonly spent: readonly Proof[]
  readonly answers: readonly HandedAnswer[]
  readonly also: readonly Statement[]
}
