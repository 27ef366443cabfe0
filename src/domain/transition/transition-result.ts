/** What every transition needs and returns, and how its outcome is completed. */

import type { ChangeBody } from '../change.ts'
import { type Deployment, initialImage, movedTo } from '../deployment.ts'
import { convergenceOf, type Desired, nothingDesired } from '../desired.ts'
import type { OrderKey, Verdict } from '../report.ts'
import { deriveState, isConsistent } from '../rollup.ts'
import { ownSite } from '../target.ts'
import type { DeploymentState, Millis, Revision } from '../values.ts'
import { noMarks } from './order.ts'

export interface Moment {
  /** The server's clock when the report arrived. */
  readonly now: Millis
  /** The log's time of the changes: `now`, but never earlier than the previous `at`. */
  readonly at: Millis
  /** The revision of the first change. */
  readonly revision: Revision
}

export interface Transition {
  readonly verdict: Verdict
  readonly staleBy: OrderKey | null
  readonly deployment: Deployment
  readonly changes: readonly ChangeBody[]
}

/** The target of a report, and the keys that its deployment gets if it does not exist yet. */
export interface Placement {
  readonly key: number
  readonly targetKey: number
  readonly rolloutKey: number
}

/** `was`: what was desired before, if this transition changes that too. */
export function finish(made: readonly ChangeBody[], moment: Moment, next: Deployment, was: Desired = next): Transition {
  const resumes = next.stalled && made.some(isProgress)
  const convergence = convergenceOf(next)
  const changes: readonly ChangeBody[] = [
    ...made,
    ...convergenceChanges(was, { ...next, convergence }),
    ...(resumes ? [{ kind: 'DEPLOYMENT_STALLED', stalled: false } as const] : []),
  ]
  if (changes.length === 0) return { verdict: 'UNCHANGED', staleBy: null, deployment: next, changes }
  const deployment = {
    ...next,
    convergence,
    stalled: next.stalled && !resumes,
    derivedState: deriveState(next.components),
    consistent: isConsistent(next.state, next.components, next.failureStage),
    changedAt: moment.at,
    revision: moment.revision + changes.length - 1,
  }
  return { verdict: 'APPLIED', staleBy: null, deployment, changes }
}

export function nextAttempt(known: Deployment | null, to: DeploymentState): number {
  if (!known) return 1
  const wasTerminal = known.state === 'INSTALLED' || known.state === 'FAILED' || known.state === 'REMOVED'
  return wasTerminal && (to === 'PENDING' || to === 'INSTALLING') ? known.attempt + 1 : known.attempt
}

export function newDeployment(place: Placement, deploymentId: string, reporter: string): Deployment {
  return {
    ...place,
    ...initialImage,
    deploymentId,
    reporter,
    siteKey: ownSite,
    declaredComponents: [],
    claimed: false,
    receivedAt: 0,
    changedAt: 0,
    revision: 0,
    marks: noMarks,
  }
}

export function atPlacement(known: Deployment, { targetKey }: Placement): Deployment {
  return known.targetKey === targetKey ? known : movedTo(known, targetKey)
}

/** For the origin of a revision. */
export function productOf({ application, applicationVersion }: Pick<Deployment, 'application' | 'applicationVersion'>) {
  return { application, applicationVersion }
}

/** A forgotten deployment comes back with nothing desired of it. */
export function desiredOf(present: Deployment | null): Desired {
  if (!present) return nothingDesired
  const { targetManifestVersion, documentDigest, convergence } = present
  return { targetManifestVersion, documentDigest, convergence }
}

function isProgress({ kind }: ChangeBody): boolean {
  return kind === 'DEPLOYMENT_STATE_CHANGED' || kind === 'COMPONENT_STATE_CHANGED' || kind === 'COMPONENT_REMOVED'
}

function convergenceChanges(was: Desired, now: Desired): ChangeBody[] {
  const { targetManifestVersion, documentDigest, convergence: to } = now
  const isSame =
    was.convergence === to &&
    was.targetManifestVersion === targetManifestVersion &&
    was.documentDigest === documentDigest
  return isSame
    ? []
    : [{ kind: 'CONVERGENCE_CHANGED', from: was.convergence, to, targetManifestVersion, documentDigest }]
}
