/** The types of a deployment. States are Margo's ("Deployment Status", State field); rollup.ts has their order of severity. */
import { type Desired, nothingDesired } from './desired.ts'
import { type Details, detailsOf } from './nouns/deployment.ts'
import type { OrderMarks } from './transition/order.ts'
import type { DeploymentState, Digits, Millis, Readiness, Revision, StatusError } from './values.ts'

export interface Component {
  readonly name: string
  readonly state: DeploymentState
  readonly error: StatusError | null
  /** The summed readiness of its resources. Absent: no resource of it is known. */
  readonly readiness?: Readiness
  /** What the latest report says about it, if that was not understood. State and error are those of before. */
  readonly unread?: string
  readonly changedAt: Millis
  readonly revision: Revision
}

/** Every field of a deployment that a change can alter. The log can restore it at any revision. */
export interface DeploymentImage extends Desired, Details {
  readonly targetKey: number
  readonly rolloutKey: number
  readonly instanceKey: number | null
  /** False: its instance is not the rollout's current one. The deployment is then in no list or count of the rollout or the fleet. */
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

/** The reported fields, before the first report on a target. */
const unreported = {
  state: 'PENDING',
  derivedState: null,
  consistent: true,
  error: null,
  ...detailsOf({}),
  readiness: 'UNKNOWN',
  components: [],
  attempt: 1,
  convergence: 'UNKNOWN',
  stalled: false,
  reportedAt: null,
} as const satisfies Partial<DeploymentImage>

/** A deployment before its first declaration and its first report. */
export const initialImage = {
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
 * A move to another target keeps the key, id and reporter, what was declared (rollout, application, names of components), what is
 * desired, and the manifest version that the reporter has adopted. It resets everything that was reported, because that described
 * the former target, which may belong to another tenant. The transition and the replay of the log both use this function.
 */
export function movedTo<Of extends DeploymentImage>(deployment: Of, targetKey: number): Of {
  return { ...deployment, ...unreported, targetKey }
}

/** One deployment as the database holds it now. `key` is internal; `deploymentId` and `reporter` come from outside. */
export interface Deployment extends DeploymentImage {
  readonly key: number
  readonly deploymentId: string
  readonly reporter: string
  /** That of its target. */
  readonly siteKey: number
  readonly declaredComponents: readonly string[]
  /** False while it is only declared. The first report about it claims it, from any reporter. */
  readonly claimed: boolean
  readonly receivedAt: Millis
  readonly marks: OrderMarks
}
