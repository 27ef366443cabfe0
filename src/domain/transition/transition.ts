/**
 * What one report or removal makes of a deployment. Pure: no clock, no I/O; the outcome is data. declaration.ts does the same
 * for a declaration, transition-result.ts completes the outcome of all of them.
 *
 *   the report                                         verdict     changes, in this order, one revision each
 *   is older by a key that both carry (order.ts)       STALE       none; only `reports` keeps it
 *   repeats target, state, error, version, components  UNCHANGED   none; lastHeardAt and the marks change
 *   differs                                            APPLIED     DEPLOYMENT_MOVED · DEPLOYMENT_STATE_CHANGED (state, error,
 *                                                                  attempt or version) · one for each component that differs ·
 *                                                                  CONVERGENCE_CHANGED
 *
 *   components: a non-empty list is complete. A component that it omits is removed, or is PENDING again if it is declared.
 *               An empty list says nothing about components. One that was not understood stays as it was (withUnread).
 *   attempt:    + 1 when a terminal state (INSTALLED FAILED REMOVED) is followed by PENDING or INSTALLING.
 *   stalled:    ends with the next change of the state or of a component, and is then the last of the changes.
 *   forgotten:  a new report brings the deployment back under the same key. It counts as the first report.
 *   moved:      what was reported about the former target stays there (movedTo). DEPLOYMENT_MOVED is followed by a first state and
 *               first components: `from` is null, the attempt is 1, and the convergence starts at UNKNOWN. An empty list of
 *               components leaves only the declared ones, PENDING. The ordering marks stay: they belong to the reporter, and a
 *               report from before the move must not undo it.
 */
import type { ChangeBody } from '../change.ts'
import type { Deployment } from '../deployment.ts'
import type { Digest } from '../desired.ts'
import { failureStage } from '../failure-stage.ts'
import { type Details, detailNames, detailsOf, saidDetails } from '../nouns/deployment.ts'
import type { StatusReport } from '../report.ts'
import type { Digits } from '../values.ts'
import { absentAsPending, mergeComponents, sameError, withUnread } from './component-changes.ts'
import { noMarks, orderReport } from './order.ts'
import {
  atPlacement,
  desiredOf,
  finish,
  type Moment,
  newDeployment,
  nextAttempt,
  type Placement,
  type Transition,
} from './transition-result.ts'

export function applyReport(
  known: Deployment | null,
  report: StatusReport,
  place: Placement,
  moment: Moment,
): Transition {
  const present = known !== null && known.forgottenAt === null ? known : null
  const { staleBy, marks } = orderReport(present?.marks ?? noMarks, report, moment.now)
  if (present && staleBy) return { verdict: 'STALE', staleBy, deployment: present, changes: [] }

  const changes: ChangeBody[] = []
  const isMove = present !== null && present.targetKey !== place.targetKey
  if (isMove) changes.push({ kind: 'DEPLOYMENT_MOVED', fromTargetKey: present.targetKey, toTargetKey: place.targetKey })
  const base = known && atPlacement(known, place)
  /** The deployment as reported on this target. */
  const before = isMove ? null : present

  const attempt = nextAttempt(base, report.state)
  const adoptedManifestVersion = report.adoptedManifestVersion ?? present?.adoptedManifestVersion ?? null
  const declaredComponents = known?.declaredComponents ?? []
  const shown = before?.components ?? []
  const reported = withUnread(shown, report)
  const saysNothing = reported.length === 0 && shown.length > 0
  const after = saysNothing ? shown : [...reported, ...absentAsPending(reported, declaredComponents)]
  const stage = failureStage(report.state, report.failureStage ?? null, after, before)
  const details = { ...detailsOf(report), failureStage: stage }
  const standing = { state: report.state, error: report.error, ...details, attempt, adoptedManifestVersion }
  if (!before || !hasStanding(before, standing))
    changes.push({
      kind: 'DEPLOYMENT_STATE_CHANGED',
      from: before?.state ?? null,
      to: report.state,
      error: report.error,
      ...saidDetails(details),
      attempt,
      adoptedManifestVersion,
    })

  const components = saysNothing ? shown : mergeComponents(shown, reported, declaredComponents, changes, moment)
  return finish(changes, moment, {
    ...(base ?? newDeployment(place, report.deploymentId, report.reporter)),
    ...desiredOf(present && base),
    reporter: report.reporter,
    ...standing,
    components,
    declaredComponents,
    claimed: true,
    reportedAt: report.observedAt ?? base?.reportedAt ?? null,
    receivedAt: moment.now,
    forgottenAt: null,
    marks,
  })
}

type Standing = Pick<Deployment, 'state' | 'error' | 'attempt' | 'adoptedManifestVersion' | keyof Details>

function hasStanding(deployment: Deployment, standing: Standing): boolean {
  const { state, error, attempt, adoptedManifestVersion } = standing
  return (
    deployment.state === state &&
    sameError(deployment.error, error) &&
    detailNames.every((name) => deployment[name] === standing[name]) &&
    deployment.attempt === attempt &&
    deployment.adoptedManifestVersion === adoptedManifestVersion
  )
}

/** Sets the document that the deployment should run from `targetManifestVersion` on. Null withdraws it. */
export function desireDocument(
  known: Deployment,
  targetManifestVersion: Digits,
  documentDigest: Digest | null,
  moment: Moment,
): Transition {
  return finish([], moment, { ...known, targetManifestVersion, documentDigest }, known)
}

export function forgetDeployment(known: Deployment, moment: Moment): Transition {
  if (known.forgottenAt !== null) return { verdict: 'UNCHANGED', staleBy: null, deployment: known, changes: [] }
  return finish([{ kind: 'DEPLOYMENT_FORGOTTEN' }], moment, { ...known, forgottenAt: moment.at, marks: noMarks })
}

/** Only a deployment in progress can stall. One that is PENDING with an error gives a reason for waiting, so it does not. */
export function stallDeployment(known: Deployment, moment: Moment): Transition {
  const { state, error, claimed, stalled, forgottenAt } = known
  const isInProgress = state === 'INSTALLING' || state === 'REMOVING' || (state === 'PENDING' && error === null)
  const stalls = isInProgress && claimed && !stalled && forgottenAt === null
  return finish(stalls ? [{ kind: 'DEPLOYMENT_STALLED', stalled: true }] : [], moment, {
    ...known,
    stalled: stalled || stalls,
  })
}
