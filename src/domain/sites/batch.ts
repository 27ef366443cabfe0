/**
 * What a server of a site (a cell, a plant) sends to the server above it, in JSON: the entries of its log, and what they refer to. Keys are those of the
 * sender; the receiver translates them (ingest/commands/sites/). docs/layers.md describes the protocol.
 *
 *   GET  /sites/v1/batches ──▶ Standing: where the receiver is
 *   POST /sites/v1/batches     Batch, begins where the receiver is ──▶ 200 Taken, after COMMIT │ 409 Standing, nothing was taken
 *
 * A batch is compressed with gzip, or with zstd if the receiver's answers have it in `Accept-Encoding` (RFC 7694).
 */
import type { ChangeBody } from '../change.ts'
import type { DeploymentImage } from '../deployment.ts'
import type { OrderKey, Verdict } from '../report.ts'
import type { RolloutName } from '../rollout.ts'
import type { Connectivity, Label, TargetKind } from '../target.ts'
import type { Digits, Millis, Revision } from '../values.ts'

/** The newest version of the protocol that this build speaks. A sender uses the newest that both have. */
export const siteProtocol = 1

/** How far a receiver has the log of a site. */
export interface SitePosition {
  /** The base of the sender's epoch when it sent this. Another epoch: the sender was restored from a copy. */
  readonly epoch: Revision
  /** The newest revision that it has. It ends an entry of the sender's log, perhaps of an earlier epoch. */
  readonly revision: Revision
  /** Devices and clusters that were registered or changed up to this number of the sender's batches (`log_head.writes`). Of another epoch, it may be less than before. */
  readonly writes: number
}

/** The answer to a GET, and to a batch that does not begin where the receiver is. */
export interface Standing {
  /** The versions of the protocol that the receiver speaks. */
  readonly protocols: readonly number[]
  /** The path of the site, as it was registered with the receiver. */
  readonly site: string
  /** Null: nothing was received yet. A snapshot begins. */
  readonly position: SitePosition | null
  /** The snapshot that is being received: it continues after this key, the `to` of its newest part. */
  readonly snapshot: { readonly upTo: SitePosition; readonly after: number } | null
  /** Of a 409: keys that the batch uses, which the receiver does not know. The sender names them and sends the batch again. */
  readonly unknown?: { readonly deployments: readonly number[]; readonly targets: readonly number[] }
}

export interface Taken {
  readonly position: SitePosition | null
}

export interface Batch {
  readonly protocol: number
  /** The version of the sender, for people. */
  readonly version: string
  /** The sender's clock. */
  readonly sentAt: Millis
  /** Where the receiver must be. Null: in the snapshot. */
  readonly after: SitePosition | null
  /** Where it is then. */
  readonly upTo: SitePosition
  /** Changes of the log that are left after this batch. */
  readonly backlog: number
  /** Devices and clusters, as they are now. Before the facts: those refer to them. */
  readonly targets?: readonly SiteTarget[]
  readonly facts?: readonly SiteFact[]
  /** A part of the present of all deployments, instead of facts: the receiver has nothing that the log continues. */
  readonly snapshot?: SnapshotPart
}

export interface SnapshotPart {
  /** The key after which the part begins. 0: the snapshot begins. What its deployments and targets were before, by key, no longer counts. */
  readonly after: number
  /**
   * Where the next part begins. Targets and deployments have keys of one sequence: the part has those of both up to this key, and the other targets that these refer
   * to. It may have targets only.
   */
  readonly to: number
  readonly states: readonly SiteState[]
  /** Facts follow from `upTo` on. What it did not mention no longer exists. */
  readonly isLast: boolean
}

export interface SiteTarget {
  readonly key: number
  /** The site below the sender that it belongs to, as `cell-3` or `hall/cell-3`. Absent: the sender's own. */
  readonly site?: string
  readonly kind: TargetKind
  readonly provider?: string
  readonly name: string
  readonly displayName?: string
  readonly labels?: readonly Label[]
  readonly registered?: boolean
  /** Seconds. */
  readonly expectedInterval?: number
  /** The key of its parent, which is sent before it or with it. */
  readonly parent?: number
  readonly revokedAt?: Millis
  /** Only in a snapshot: in the log, facts say it. */
  readonly present?: PresentTarget
}

export interface PresentTarget {
  readonly connectivity: Connectivity
  readonly retiredAt: Millis | null
  readonly retiredReason: string | null
  readonly maintenanceReason: string | null
  readonly maintenanceSince: Millis | null
  readonly maintenanceUntil: Millis | null
}

interface Named {
  readonly deploymentId: string
  readonly reporter: string
}

/** One entry of the log: what happened to a deployment, or, without `deployment`, to a target. */
export interface SiteFact {
  /** Of its first change; those after it have the next ones. */
  readonly revision: Revision
  /** The sender's clock. */
  readonly at: Millis
  /** The reporter's clock. */
  readonly observedAt?: Millis
  readonly traceparent?: string
  readonly deployment?: number
  /** Where it happened. Of a deployment: with `named`, and when it moved. */
  readonly target?: number
  /** With `named`, and when it joined another. */
  readonly rollout?: RolloutName
  /** With the first fact about a deployment. */
  readonly named?: Named
  /** The report that made it. Absent: something else did. */
  readonly report?: SiteReport
  /** With the sender's keys of targets. Kinds that the receiver does not know are left out. */
  readonly changes: readonly ChangeBody[]
}

/** A report, but for what the changes say. */
export interface SiteReport {
  readonly verdict: Verdict
  readonly staleBy?: OrderKey
  readonly receivedAt: Millis
  readonly adoptedManifestVersion?: Digits
  readonly seq?: Digits
  readonly boot?: string
  /** The wire format in which it came, for example `margo/2024-09`. */
  readonly dialect: string
}

/** A deployment as it is now. */
export interface SiteState {
  readonly key: number
  readonly named: Named
  readonly target: number
  readonly rollout: RolloutName
  /** `revision` is the sender's: facts up to it are in the state already. */
  readonly image: Omit<DeploymentImage, 'targetKey' | 'rolloutKey' | 'instanceKey'>
}
