/** The nouns of a deployment. States are Margo's ("Deployment Status", State field), in severity order nowhere: see rollup.ts. */
import { type Desired, nothingDesired } from './desired.ts'
import type { OrderMarks } from './order.ts'
import type { DeploymentState, Digits, FailureStage, Millis, Readiness, Revision, StatusError } from './values.ts'

export interface Component {
  readonly name: string
  readonly state: DeploymentState
  readonly error: StatusError | null
  /** The sum of its resources; absent: it has none that anybody shows. */
  readonly readiness?: Readiness
  readonly changedAt: Millis
  readonly revision: Revision
}

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
  /** Of what has FAILED; null: nothing says where. */
  readonly failureStage: FailureStage | null
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

/** What reports say of the target that it runs on, while there are none. */
export const unreported = {
  state: 'PENDING',
  derivedState: null,
  consistent: true,
  error: null,
  failureStage: null,
  readiness: 'UNKNOWN',
  components: [],
  attempt: 1,
  convergence: 'UNKNOWN',
  stalled: false,
  reportedAt: null,
} as const satisfies Partial<DeploymentImage>

/** Before the first declaration and the first report. */
export const newborn = {
  ...nothingDesired,
  ...unreported,
  instanceKey: null,
  isCurrent: true,
  application: null,
  applicationVersion: null,
  adoptedManifestVersion: null,
  forgottenAt: null,
} as const satisfies Partial<DeploymentImage>

/**
 * What a move to another target keeps: what the deployment is (its key, id and reporter), what was declared (rollout, application,
 * components' names), what is desired of it, and which manifest its reporter has adopted. What was reported described the former
 * target, which may belong to another tenant: all of it ends there. Both the transition and the replay of the log ask here, so that
 * no reader needs a rule of its own.
 */
export function movedTo<Of extends DeploymentImage>(deployment: Of, targetKey: number): Of {
  return { ...deployment, ...unreported, targetKey }
}

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
