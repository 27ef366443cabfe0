/**
 * What one report, declaration or removal makes of a deployment. Pure: no clock, no I/O; the outcome is data.
 *
 *   report is …                                        verdict     changes, in this order, a revision each
 *   older by a key both carry (order.ts)               STALE       none; only `reports` keeps it
 *   the same target, state, error, version, components UNCHANGED   none; last-heard and the marks move
 *   anything else                                      APPLIED     DEPLOYMENT_MOVED · DEPLOYMENT_STATE_CHANGED (state, error,
 *                                                                  attempt or version) · one for each component that differs ·
 *                                                                  CONVERGENCE_CHANGED
 *
 *   components: a non-empty list is the whole picture, an absent one goes (declared: back to PENDING); an empty list says nothing
 *   attempt:    + 1 when a terminal state (INSTALLED FAILED REMOVED) is followed by PENDING or INSTALLING
 *   stalled:    ends, as the last of the changes, with the next change of the state or of a component
 *   forgotten:  a new report brings it back as if it were the first, under the same key
 *   moved:      what was reported of the former target stays there (movedTo): DEPLOYMENT_MOVED is followed by a first state and first
 *               components, `from` null, attempt 1 and a convergence that was UNKNOWN. A list of components that is empty leaves only the declared ones, PENDING. The
 *               ordering marks stay: they are the reporter's, and a report from before the move must not undo it
 */
import type { ChangeBody } from './change.ts'
import { type Component, type Deployment, movedTo, newborn } from './deployment.ts'
import { convergenceOf, type Desired, type Digest, nothingDesired } from './desired.ts'
import { failureStage } from './failure-stage.ts'
import { noMarks, orderReport } from './order.ts'
import type { ComponentReport, OrderKey, StatusReport, Verdict } from './report.ts'
import { deriveState, isConsistent } from './rollup.ts'
import type { DeploymentState, Digits, Millis, Revision, StatusError } from './values.ts'

/** What the outside gives a transition. */
export interface Moment {
  /** Our clock when the report was heard. */
  readonly now: Millis
  /** The log's time for the changes: `now`, but never smaller than the `at` before it. */
  readonly at: Millis
  /** The revision that the first change will have. */
  readonly revision: Revision
}

export interface Transition {
  readonly verdict: Verdict
  readonly staleBy: OrderKey | null
  readonly deployment: Deployment
  readonly changes: readonly ChangeBody[]
}

/** The keys a deployment gets when it does not exist yet, and the target of this report. */
export interface Placement {
  readonly key: number
  readonly targetKey: number
  readonly rolloutKey: number
}

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
  const base = known && onTarget(known, place)
  /** What was reported of this target. */
  const before = isMove ? null : present

  const attempt = nextAttempt(base, report.state)
  const adoptedManifestVersion = report.adoptedManifestVersion ?? present?.adoptedManifestVersion ?? null
  const declaredComponents = known?.declaredComponents ?? []
  const shown = before?.components ?? []
  const saysNothing = report.components.length === 0 && shown.length > 0
  const after = saysNothing ? shown : [...report.components, ...absentAsPending(report.components, declaredComponents)]
  const stage = failureStage(report.state, report.failureStage ?? null, after, before)
  if (
    !before ||
    before.state !== report.state ||
    !sameError(before.error, report.error) ||
    before.failureStage !== stage ||
    before.attempt !== attempt ||
    before.adoptedManifestVersion !== adoptedManifestVersion
  )
    changes.push({
      kind: 'DEPLOYMENT_STATE_CHANGED',
      from: before?.state ?? null,
      to: report.state,
      error: report.error,
      ...(stage && { failureStage: stage }),
      attempt,
      adoptedManifestVersion,
    })

  const components = saysNothing
    ? shown
    : mergeComponents(shown, report.components, declaredComponents, changes, moment)
  return finish(changes, moment, {
    ...(base ?? blank(place, report.deploymentId, report.reporter)),
    ...desiredOf(present && base),
    reporter: report.reporter,
    state: report.state,
    error: report.error,
    failureStage: stage,
    components,
    declaredComponents,
    claimed: true,
    attempt,
    adoptedManifestVersion,
    reportedAt: report.observedAt ?? base?.reportedAt ?? null,
    receivedAt: moment.now,
    forgottenAt: null,
    marks,
  })
}

export interface Declaration {
  readonly deploymentId: string
  readonly reporter: string
  /** Null: says nothing. */
  readonly application: string | null
  readonly applicationVersion: string | null
  readonly components: readonly string[] | null
  /** Null: stays where it is. */
  readonly rolloutKey: number | null
}

/** A declared deployment is PENDING until its first report; declaring it again revises what was declared. */
export function applyDeclaration(
  known: Deployment | null,
  declared: Declaration,
  place: Placement,
  moment: Moment,
): Transition {
  const present = known !== null && known.forgottenAt === null ? known : null
  // What is there stays where it runs; what was forgotten comes back where it is declared.
  const there = present ?? (known && onTarget(known, place))
  const base = there ?? blank(place, declared.deploymentId, declared.reporter)
  const changes: ChangeBody[] = []
  const attempt = present ? present.attempt : nextAttempt(there, 'PENDING')
  if (!present)
    changes.push({
      kind: 'DEPLOYMENT_STATE_CHANGED',
      from: null,
      to: 'PENDING',
      error: null,
      attempt,
      adoptedManifestVersion: null,
    })

  const application = declared.application ?? base.application
  const applicationVersion = declared.applicationVersion ?? base.applicationVersion
  const rolloutKey = declared.rolloutKey ?? base.rolloutKey
  if (
    base.application !== application ||
    base.applicationVersion !== applicationVersion ||
    base.rolloutKey !== rolloutKey
  )
    changes.push({ kind: 'DEPLOYMENT_REVISED', application, applicationVersion, rolloutKey })

  const declaredComponents = declared.components ?? base.declaredComponents
  const kept = present?.claimed ? present.components.map(asReport) : []
  const wanted = [...kept, ...absentAsPending(kept, declaredComponents)]
  const components = mergeComponents(present?.components ?? [], wanted, [], changes, moment)
  const fresh = {
    state: 'PENDING',
    error: null,
    failureStage: null,
    adoptedManifestVersion: null,
    claimed: false,
  } as const
  return finish(changes, moment, {
    ...base,
    ...desiredOf(present),
    ...(present ? {} : { ...fresh, marks: noMarks, receivedAt: moment.now }),
    application,
    applicationVersion,
    rolloutKey,
    components,
    declaredComponents,
    attempt,
    forgottenAt: null,
  })
}

/** From that version of its device's manifest on it should run this document; null: it should not run any more. */
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

/** Only what is under way, and does not say itself why it waits, can stand still. */
export function stallDeployment(known: Deployment, moment: Moment): Transition {
  const { state, error, claimed, stalled, forgottenAt } = known
  const isUnderWay = state === 'INSTALLING' || state === 'REMOVING' || (state === 'PENDING' && error === null)
  const stalls = isUnderWay && claimed && !stalled && forgottenAt === null
  return finish(stalls ? [{ kind: 'DEPLOYMENT_STALLED', stalled: true }] : [], moment, {
    ...known,
    stalled: stalled || stalls,
  })
}

/** `was`: what was desired before, where that changes too. */
export function finish(made: readonly ChangeBody[], moment: Moment, next: Deployment, was: Desired = next): Transition {
  const goesOn = next.stalled && made.some(isProgress)
  const convergence = convergenceOf(next)
  const changes: readonly ChangeBody[] = [
    ...made,
    ...convergenceChanges(was, { ...next, convergence }),
    ...(goesOn ? [{ kind: 'DEPLOYMENT_STALLED', stalled: false } as const] : []),
  ]
  if (changes.length === 0) return { verdict: 'UNCHANGED', staleBy: null, deployment: next, changes }
  const deployment = {
    ...next,
    convergence,
    stalled: next.stalled && !goesOn,
    derivedState: deriveState(next.components),
    consistent: isConsistent(next.state, next.components, next.failureStage),
    changedAt: moment.at,
    revision: moment.revision + changes.length - 1,
  }
  return { verdict: 'APPLIED', staleBy: null, deployment, changes }
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

function onTarget(known: Deployment, { targetKey }: Placement): Deployment {
  return known.targetKey === targetKey ? known : movedTo(known, targetKey)
}

/** What is forgotten comes back without it. */
function desiredOf(present: Deployment | null): Desired {
  if (!present) return nothingDesired
  const { targetManifestVersion, documentDigest, convergence } = present
  return { targetManifestVersion, documentDigest, convergence }
}

function isProgress({ kind }: ChangeBody): boolean {
  return kind === 'DEPLOYMENT_STATE_CHANGED' || kind === 'COMPONENT_STATE_CHANGED' || kind === 'COMPONENT_REMOVED'
}

/** Pushes a change for each component that differs, and returns the new list in the order first seen. */
function mergeComponents(
  present: readonly Component[],
  reported: readonly ComponentReport[],
  declared: readonly string[],
  changes: ChangeBody[],
  moment: Moment,
): readonly Component[] {
  const wanted = new Map(reported.map((component) => [component.name, component]))
  for (const component of absentAsPending(reported, declared)) wanted.set(component.name, component)

  const merged: Component[] = []
  for (const old of present) {
    const component = wanted.get(old.name)
    wanted.delete(old.name)
    if (!component) changes.push({ kind: 'COMPONENT_REMOVED', component: old.name, from: old.state })
    else if (component.state === old.state && sameError(component.error, old.error)) merged.push(old)
    else merged.push(changed(component, old.state))
  }
  for (const component of wanted.values()) merged.push(changed(component, null))
  return merged

  function changed(component: ComponentReport, from: DeploymentState | null): Component {
    const revision = moment.revision + changes.length
    const { name, state, error } = component
    changes.push({ kind: 'COMPONENT_STATE_CHANGED', component: name, from, to: state, error })
    return { name, state, error, changedAt: moment.at, revision }
  }
}

function absentAsPending(list: readonly ComponentReport[], declared: readonly string[]): ComponentReport[] {
  return declared
    .filter((name) => !list.some((component) => component.name === name))
    .map((name) => ({ name, state: 'PENDING', error: null }))
}

function asReport({ name, state, error }: Component): ComponentReport {
  return { name, state, error }
}

export function nextAttempt(known: Deployment | null, to: DeploymentState): number {
  if (!known) return 1
  const wasTerminal = known.state === 'INSTALLED' || known.state === 'FAILED' || known.state === 'REMOVED'
  return wasTerminal && (to === 'PENDING' || to === 'INSTALLING') ? known.attempt + 1 : known.attempt
}

function sameError(a: StatusError | null, b: StatusError | null): boolean {
  if (a === null || b === null) return a === b
  return a.code === b.code && a.message === b.message && a.source === b.source
}

export function blank(place: Placement, deploymentId: string, reporter: string): Deployment {
  return {
    ...place,
    ...newborn,
    deploymentId,
    reporter,
    declaredComponents: [],
    claimed: false,
    receivedAt: 0,
    changedAt: 0,
    revision: 0,
    marks: noMarks,
  }
}
