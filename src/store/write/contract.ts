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
import type { Rollout, RolloutLabels } from '../../domain/rollout.ts'
import type { StoredSite } from '../../domain/sites/stored-site.ts'
import type { Target } from '../../domain/target.ts'
import type { Millis, Readiness, Revision } from '../../domain/values.ts'
import type { LoadedAlerts, StoredRule } from '../alerts/rows.ts'
import type { Proof } from '../signature-claims.ts'

export interface LoadedMaintenance {
  /** Windows that have not ended. */
  readonly count: number
  readonly windows: readonly MaintenanceWindow[]
}

/** The key here of what the server of a site calls `theirs`. */
interface SiteKey {
  readonly site: number
  readonly theirs: number
  readonly key: number
}

export interface LoadedSites {
  /** Deployments that the server of the site has not mentioned. */
  readonly missing: readonly number[]
  readonly sites: readonly StoredSite[]
  readonly targets: readonly SiteKey[]
  readonly deployments: readonly (SiteKey & { readonly since: Revision })[]
}

export interface SiteEffects extends Omit<LoadedSites, 'missing'> {
  /** Sites of which a snapshot begins: their former keys no longer count. */
  readonly begun: readonly number[]
}

export interface AlertEffects {
  readonly rules: ReadonlyMap<number, { readonly row: StoredRule; readonly isNew: boolean }>
  readonly alerts: ReadonlyMap<number, { readonly row: Alert; readonly isNew: boolean }>
}

/** A deployment without its texts. */
export interface Place {
  readonly key: number
  readonly targetKey: number
  readonly reporter: string
}

/** A device without its texts. */
export interface BranchDevice {
  readonly key: number
  readonly name: string
  readonly parentKey: number | null
  readonly isRetired: boolean
}

export interface LoadedBranches {
  readonly devices: readonly BranchDevice[]
  readonly places: readonly Place[]
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

export const noSubject: Subject = {
  deploymentKey: null,
  deploymentId: null,
  target: null,
  fromTarget: null,
  rolloutKey: null,
  fromRolloutKey: null,
  instanceKey: null,
  instanceId: null,
  resourceKey: null,
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
  readonly branches?: LoadedBranches
  /** Of `reporters`: the numbers of their deployments. */
  readonly reported?: ReadonlyMap<string, number>
  /** Those that were never set are absent. */
  readonly rolloutLabels?: readonly RolloutLabels[]
  /** Targets by their identities. */
  readonly identities?: ReadonlyMap<string, number>
  readonly orchestration?: LoadedOrchestration
  readonly desired?: LoadedDesired
  readonly alerts?: LoadedAlerts
  readonly maintenance?: LoadedMaintenance
  readonly sites?: LoadedSites
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
  /** Reporters whose next report is the newest. Their deployments were not loaded. */
  readonly clearedMarks: ReadonlySet<string>
  readonly targets: ReadonlyMap<number, { readonly row: Target; readonly touch: Touch }>
  readonly rollouts: ReadonlyMap<number, { readonly row: Rollout; readonly isNew: boolean }>
  readonly rolloutLabels: readonly RolloutLabels[]
  readonly orchestration: OrchestrationEffects
  readonly desired: DesiredEffects
  readonly alerts: AlertEffects
  readonly sites: SiteEffects
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
