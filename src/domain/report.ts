import type { DeploymentState, Digits, FailureStage, Millis, StatusError } from './values.ts'

export const verdicts = ['APPLIED', 'UNCHANGED', 'STALE'] as const
export type Verdict = (typeof verdicts)[number]

/** The wire names of the ordering keys, strongest first: what `staleBy` says. */
export const orderKeys = ['adoptedManifestVersion', 'seq', 'observedAt'] as const
export type OrderKey = (typeof orderKeys)[number]

export interface ComponentReport {
  readonly name: string
  readonly state: DeploymentState
  readonly error: StatusError | null
}

/** One status report, whatever dialect carried it: parsed, validated, normalised, and nothing decided yet. */
export interface StatusReport {
  /** The device or client that the path or the credential names. */
  readonly reporter: string
  readonly deploymentId: string
  /** The device the deployment runs on; null means the reporter itself. */
  readonly deviceId: string | null
  readonly state: DeploymentState
  readonly error: StatusError | null
  /** Where it FAILED, as the reporter says; absent: it does not say. */
  readonly failureStage?: FailureStage
  /** Non-empty: the whole picture. Empty: says nothing about components. */
  readonly components: readonly ComponentReport[]
  readonly adoptedManifestVersion: Digits | null
  /** The reporter's own counter, comparable only within one `boot`. */
  readonly seq: Digits | null
  readonly boot: string | null
  /** The reporter's clock. */
  readonly observedAt: Millis | null
  /** Which wire form it came in, e.g. `margo/2024-09`. */
  readonly dialect: string
}

export type ReportOutcome =
  | { readonly verdict: 'APPLIED'; readonly revision: number }
  | { readonly verdict: 'UNCHANGED'; readonly revision: number }
  | { readonly verdict: 'STALE'; readonly revision: number; readonly staleBy: OrderKey }
