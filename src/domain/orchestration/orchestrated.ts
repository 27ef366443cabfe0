/**
 * A deployment that an orchestrator runs. No report carries its state: the state follows from its resources (docs/wire.md §2.2). Pure.
 *
 *   changes, in this order: DEPLOYMENT_STATE_CHANGED · one for each component that differs · DEPLOYMENT_REVISED (readiness, application,
 *   or whether its instance is the rollout's current one)
 */
import type { ChangeBody } from '../change.ts'
import type { Component, Deployment } from '../deployment.ts'
import { detailsOf } from '../nouns/deployment.ts'
import type { Rollout } from '../rollout.ts'
import { noMarks } from '../transition/order.ts'
import {
  finish,
  type Moment,
  newDeployment,
  nextAttempt,
  type Placement,
  productOf,
  type Transition,
} from '../transition/transition-result.ts'
import type { DeploymentState, Readiness } from '../values.ts'

interface DerivedComponent {
  readonly name: string
  readonly state: DeploymentState
  readonly readiness: Readiness
}

/** The state and readiness that a deployment's resources imply. */
export interface DerivedDeployment {
  readonly state: DeploymentState
  readonly readiness: Readiness
  /** All of them. New ones are in the order first seen. */
  readonly components: readonly DerivedComponent[]
  readonly isCurrent: boolean
}

/** The names and keys that the deployment gets if it does not exist yet. */
interface OrchestratedPlace extends Placement {
  readonly instanceKey: number
  readonly deploymentId: string
  readonly reporter: string
  readonly application: string | null
  readonly applicationVersion: string | null
}

export function applyDerived(
  known: Deployment | null,
  derived: DerivedDeployment,
  place: OrchestratedPlace,
  moment: Moment,
): Transition {
  const present = known !== null && known.forgottenAt === null ? known : null
  const base = known ?? { ...newDeployment(place, place.deploymentId, place.reporter), instanceKey: place.instanceKey }
  const { state, readiness, isCurrent } = derived
  const changes: ChangeBody[] = []
  const attempt = nextAttempt(known, state)
  if (!present || present.state !== state || present.attempt !== attempt) {
    const from = present?.state ?? null
    changes.push({
      kind: 'DEPLOYMENT_STATE_CHANGED',
      from,
      to: state,
      error: null,
      attempt,
      adoptedManifestVersion: null,
    })
  }

  const merged = mergeDerived(present?.components ?? [], derived.components, changes, moment)
  const changedReadiness = derived.components.filter(
    ({ name, readiness: now }) => (merged.find((c) => c.name === name)?.readiness ?? 'UNKNOWN') !== now,
  )
  const { application, applicationVersion } = known ?? place
  const isNew = !known && (application !== null || applicationVersion !== null)
  if (isNew || changedReadiness.length > 0 || base.readiness !== readiness || base.isCurrent !== isCurrent)
    changes.push({
      kind: 'DEPLOYMENT_REVISED',
      from: productOf(base),
      application,
      applicationVersion,
      rolloutKey: base.rolloutKey,
      ...(base.readiness === readiness ? {} : { readiness }),
      ...(changedReadiness.length === 0
        ? {}
        : { componentReadiness: Object.fromEntries(changedReadiness.map(({ name, readiness: now }) => [name, now])) }),
      ...(base.isCurrent === isCurrent ? {} : { isCurrent }),
    })
  const revision = moment.revision + changes.length - 1
  const components = merged.map((component) => {
    const to = changedReadiness.find(({ name }) => name === component.name)
    return to ? { ...component, readiness: to.readiness, changedAt: moment.at, revision } : component
  })
  return finish(changes, moment, {
    ...base,
    state,
    error: null,
    ...detailsOf({}),
    readiness,
    isCurrent,
    application,
    applicationVersion,
    components,
    claimed: true,
    attempt,
    receivedAt: moment.now,
    forgottenAt: null,
    marks: noMarks,
  })
}

/** The deployment's instance became the rollout's current one, or ceased to be. */
export function applyIsCurrent(known: Deployment, isCurrent: boolean, moment: Moment): Transition {
  const { application, applicationVersion, rolloutKey } = known
  const changes: ChangeBody[] =
    known.isCurrent === isCurrent
      ? []
      : [{ kind: 'DEPLOYMENT_REVISED', from: productOf(known), application, applicationVersion, rolloutKey, isCurrent }]
  return finish(changes, moment, { ...known, isCurrent })
}

/** An instance of a resource bundle was upgraded, so it now belongs to another version of its bundle. */
export function applyMoveToRollout(known: Deployment, rollout: Rollout, moment: Moment): Transition {
  const { key: rolloutKey, compositeApp: application, compositeAppVersion: applicationVersion } = rollout
  const next = { rolloutKey, application, applicationVersion }
  return finish([{ kind: 'DEPLOYMENT_REVISED', from: productOf(known), ...next }], moment, { ...known, ...next })
}

function mergeDerived(
  present: readonly Component[],
  components: readonly DerivedComponent[],
  changes: ChangeBody[],
  moment: Moment,
): readonly Component[] {
  const wanted = new Map(components.map((component) => [component.name, component]))
  const merged: Component[] = []
  const change = ({ name, state }: DerivedComponent, known: Component | null): Component => {
    const revision = moment.revision + changes.length
    changes.push({
      kind: 'COMPONENT_STATE_CHANGED',
      component: name,
      from: known?.state ?? null,
      to: state,
      error: null,
    })
    const readiness = known?.readiness && { readiness: known.readiness }
    return { name, state, error: null, ...readiness, changedAt: moment.at, revision }
  }
  for (const known of present) {
    const component = wanted.get(known.name)
    wanted.delete(known.name)
    if (!component) changes.push({ kind: 'COMPONENT_REMOVED', component: known.name, from: known.state })
    else merged.push(component.state === known.state ? known : change(component, known))
  }
  for (const component of wanted.values()) merged.push(change(component, null))
  return merged
}
