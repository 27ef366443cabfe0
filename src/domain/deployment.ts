/** The nouns of a deployment. States are Margo's ("Deployment Status", State field), in severity order nowhere: see rollup.ts. */
import { type Desired, nothingDesired } from './desired.ts'

export const deploymentStates = ['PENDING', 'INSTALLING', 'INSTALLED', 'FAILED', 'REMOVING', 'REMOVED'] as const
export type DeploymentState = (typeof deploymentStates)[number]

export const readinesses = ['READY', 'PENDING', 'FAILED', 'UNKNOWN'] as const
export type Readiness = (typeof readinesses)[number]

/** A revision: gap-free within an epoch, at most 2^53-1 (an epoch's base is microseconds of the clock). */
export type Revision = number

/** Milliseconds since 1970-01-01T00:00:00Z. */
export type Millis = number

/** Decimal digits of an unsigned 64-bit integer, without leading zeros: a double cannot hold them all. */
export type Digits = string

export interface StatusError {
  readonly code: string
  readonly message: string
  readonly source?: string
}

export interface Component {
  readonly name: string
  readonly state: DeploymentState
  readonly error: StatusError | null
  /** The sum of its resources; absent: it has none that anybody shows. */
  readonly readiness?: Readiness
  readonly changedAt: Millis
  readonly revision: Revision
}

/** The ordering keys of the newest report heard: what decides whether the next one is STALE (see order.ts). */
export interface OrderMarks {
  readonly adoptedManifestVersion: Digits | null
  readonly boot: string | null
  readonly seq: Digits | null
  readonly observedAt: Millis | null
}

export const noMarks: OrderMarks = { adoptedManifestVersion: null, boot: null, seq: null, observedAt: null }

/** What the log can unwind: every field of a deployment that a change may move. */
export interface DeploymentImage extends Desired {
  readonly targetKey: number
  readonly rolloutKey: number
  readonly instanceKey: number | null
  /** False: its instance is not its rollout's current one, and it is not in the lists and counts of the rollout and the fleet. */
  readonly isCurrent: boolean
  readonly application: string | null
  readonly applicationVersion: string | null
  readonly state: DeploymentState
  readonly derivedState: DeploymentState | null
  readonly consistent: boolean
  readonly error: StatusError | null
  readonly readiness: Readiness
  readonly components: readonly Component[]
  readonly attempt: number
  readonly adoptedManifestVersion: Digits | null
  readonly stalled: boolean
  readonly reportedAt: Millis | null
  readonly changedAt: Millis
  readonly revision: Revision
  readonly forgottenAt: Millis | null
}

/** Before anybody has said anything of it. */
export const newborn = {
  instanceKey: null,
  isCurrent: true,
  application: null,
  applicationVersion: null,
  state: 'PENDING',
  derivedState: null,
  consistent: true,
  error: null,
  readiness: 'UNKNOWN',
  components: [],
  attempt: 1,
  adoptedManifestVersion: null,
  ...nothingDesired,
  stalled: false,
  reportedAt: null,
  forgottenAt: null,
} as const satisfies Partial<DeploymentImage>

/** One deployment as the database holds it now. `key` is ours; `deploymentId` and `reporter` are the world's. */
export interface Deployment extends DeploymentImage {
  readonly key: number
  readonly deploymentId: string
  readonly reporter: string
  readonly declaredComponents: readonly string[]
  /** False while it is only declared: the first report about it, from whichever reporter, claims it. */
  readonly claimed: boolean
  readonly receivedAt: Millis
  readonly marks: OrderMarks
}
