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
  readonly adoptedManifestVersion: Digits | null
  /** The reporter's own counter, comparable only within one `boot`. */
  readonly seq: Digits | null
  readonly boot: string | null
  /** The reporter's clock. */
  readonly observedAt: Millis | null
  /** The wire format of the report, for example `margo/2024-09`. */
  readonly dialect: string
}

export type ReportOutcome =
  | { readonly verdict: 'APPLIED'; readonly revision: number }
  | { readonly verdict: 'UNCHANGED'; readonly revision: number }
  | { readonly verdict: 'STALE'; readonly revision: number; readonly staleBy: OrderKey }
