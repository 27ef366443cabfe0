/** What one declaration makes of a deployment. Pure, as transition.ts is. */
import type { ChangeBody } from '../change.ts'
import type { Component, Deployment } from '../deployment.ts'
import { detailsOf } from '../nouns/deployment.ts'
import type { ComponentReport } from '../report.ts'
import { absentAsPending, mergeComponents } from './component-changes.ts'
import { noMarks } from './order.ts'
import {
  atPlacement,
  desiredOf,
  finish,
  type Moment,
  newDeployment,
  nextAttempt,
  type Placement,
  productOf,
  type Transition,
} from './transition-result.ts'

/** Null: the declaration does not mention it, and it stays as it is. */
export interface Declaration {
  readonly deploymentId: string
  readonly reporter: string
  readonly application: string | null
  readonly applicationVersion: string | null
  readonly components: readonly string[] | null
  readonly rolloutKey: number | null
}

/** A declared deployment is PENDING until its first report. A second declaration revises the first. */
export function applyDeclaration(
  known: Deployment | null,
  declared: Declaration,
  place: Placement,
  moment: Moment,
): Transition {
  const present = known !== null && known.forgottenAt === null ? known : null
  // A present deployment stays on its target. A forgotten one comes back on the declared target.
  const current = present ?? (known && atPlacement(known, place))
  const base = current ?? newDeployment(place, declared.deploymentId, declared.reporter)
  const changes: ChangeBody[] = []
  const attempt = present ? present.attempt : nextAttempt(current, 'PENDING')
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
    changes.push({ kind: 'DEPLOYMENT_REVISED', from: productOf(base), application, applicationVersion, rolloutKey })

  const declaredComponents = declared.components ?? base.declaredComponents
  const kept = present?.claimed ? present.components.map(asReport) : []
  const wanted = [...kept, ...absentAsPending(kept, declaredComponents)]
  const components = mergeComponents(present?.components ?? [], wanted, [], changes, moment)
  const fresh = {
    state: 'PENDING',
    error: null,
    ...detailsOf({}),
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

function asReport({ name, state, error, unread }: Component): ComponentReport {
  return { name, state, error, ...(unread !== undefined && { unread }) }
}
