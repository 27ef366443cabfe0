import type { DeviationKind } from './deviation.ts'
import type { FieldProblem } from './errors.ts'
import type { SaidDetails } from './nouns/deployment.ts'
import type { DeploymentState, Digits, Millis, StatusError } from './values.ts'

export const verdicts = ['APPLIED', 'UNCHANGED', 'STALE'] as const
export type Verdict = (typeof verdicts)[number]

/** The wire names of the ordering keys, strongest first. `staleBy` has one of them. */
const orderKeys = ['adoptedManifestVersion', 'seq', 'observedAt'] as const
export type OrderKey = (typeof orderKeys)[number]

export interface ComponentReport {
  readonly name: string
  readonly state: DeploymentState
  readonly error: StatusError | null
  /** Of a component that is kept as it was: what the report says about it, which was not understood. */
  readonly unread?: string
}

/** A component in a report that was not understood. It costs itself only: the rest of the report is taken. */
export interface UnreadComponent {
  /** Null: it has no name that identifies it, so any component that the report omits may be the one. */
  readonly name: string | null
  /** What the report says, of at most 200 characters. */
  readonly said: string
}

/** Of one report, also of a deployment with those that a report did not make clear. */
export const mostComponents = 1000

/**
 * Bytes of all errors of one report. Its changes are read from the log as a whole, so without this limit a reader would hold a body's
 * megabyte of messages for each report. The longest error fits in any script (270,336 bytes with its source), or 327 bytes for each of a
 * thousand components.
 */
export const mostErrorBytes = 320 << 10

/** A field of a report that was taken otherwise than sent: a text that was altered, or a part that was left out. */
export interface Warning extends FieldProblem {
  readonly kind: Extract<DeviationKind, 'TEXT_ALTERED' | 'PART_NOT_UNDERSTOOD'>
}

/** One status report of any dialect: parsed, validated and normalised, but not decided yet. */
/** The reporter if neither the request nor the body names one. */
export const anonymous = 'anonymous'

export interface StatusReport extends SaidDetails {
  /** The device or client that the path or the credential names. */
  readonly reporter: string
  readonly deploymentId: string
  /** The device that the deployment runs on. Null: the reporter itself. */
  readonly deviceId: string | null
  readonly state: DeploymentState
  readonly error: StatusError | null
  /** Non-empty: the complete list. Empty: the report says nothing about components. */
  readonly components: readonly ComponentReport[]
  /** Those of its components that were not understood. */
  readonly unread?: readonly UnreadComponent[]
  /** What was taken otherwise than sent. With STRICT_REPORTS, the report is refused for it. */
  readonly warnings?: readonly Warning[]
  readonly adoptedManifestVersion: Digits | null
  /** The reporter's own counter, comparable only within one `boot`. */
  readonly seq: Digits | null
  readonly boot: string | null
  /** The reporter's clock. */
  readonly observedAt: Millis | null
  /** The wire format of the report, for example `margo/2024-09`. */
  readonly dialect: string
}

/** The outcome, for the answer. */
export type RecordedReport = ReportOutcome & { readonly warnings?: readonly Warning[] }

export type ReportOutcome =
  | { readonly verdict: 'APPLIED'; readonly revision: number }
  | { readonly verdict: 'UNCHANGED'; readonly revision: number }
  | { readonly verdict: 'STALE'; readonly revision: number; readonly staleBy: OrderKey }
