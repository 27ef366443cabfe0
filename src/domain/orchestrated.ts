/**
 * A deployment that an orchestrator runs: nobody reports its state, it follows from its resources (docs/wire.md §2.2). Pure.
 *
 *   changes, in this order: DEPLOYMENT_STATE_CHANGED · one for each component that differs · DEPLOYMENT_REVISED (readiness, application,
 *   or whether its instance is the current one)
 */
import type { ChangeBody } from './change.ts'
import type { Component, Deployment } from './deployment.ts'
import { noMarks } from './order.ts'
import type { Rollout } from './rollout.ts'
import { blank, finish, type Moment, nextAttempt, type Placement, type Transition } from './transition.ts'
import type { DeploymentState, Readiness } from './values.ts'

export interface ComponentStanding {
  readonly name: string
  readonly state: DeploymentState
  readonly readiness: Readiness
}

/** What the resources of a deployment say together. */
export interface DeploymentStanding {
  readonly state: DeploymentState
  readonly readiness: Readiness
  /** All of them, in the order first seen where they are new. */
  readonly components: readonly ComponentStanding[]
  readonly isCurrent: boolean
}

/** Whose deployment it is, for when it does not exist yet. */
export interface OrchestratedPlace extends Placement {
  readonly instanceKey: number
  readonly deploymentId: string
  readonly reporter: string
  readonly application: string | null
  readonly applicationVersion: string | null
}

export function applyStanding(
  known: Deployment | null,
  standing: DeploymentStanding,
  place: OrchestratedPlace,
  moment: Moment,
): Transition {
  const present = known !== null && known.forgottenAt === null ? known : null
  const base = known ?? { ...blank(place, place.deploymentId, place.reporter), instanceKey: place.instanceKey }
  const { state, readiness, isCurrent } = standing
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

  const merged = mergeStandings(present?.components ?? [], standing.components, changes, moment)
  const moved = standing.components.filter(
    ({ name, readiness: now }) => (merged.find((c) => c.name === name)?.readiness ?? 'UNKNOWN') !== now,
  )
  const { application, applicationVersion } = known ?? place
  const isNew = !known && (application !== null || applicationVersion !== null)
  if (isNew || moved.length > 0 || base.readiness !== readiness || base.isCurrent !== isCurrent)
    changes.push({
      kind: 'DEPLOYMENT_REVISED',
      application,
      applicationVersion,
      rolloutKey: base.rolloutKey,
      ...(base.readiness === readiness ? {} : { readiness }),
      ...(moved.length === 0
        ? {}
        : { componentReadiness: Object.fromEntries(moved.map(({ name, readiness: now }) => [name, now])) }),
      ...(base.isCurrent === isCurrent ? {} : { isCurrent }),
    })
  const revision = moment.revision + changes.length - 1
  const components = merged.map((component) => {
    const to = moved.find(({ name }) => name === component.name)
    return to ? { ...component, readiness: to.readiness, changedAt: moment.at, revision } : component
  })
  return finish(changes, moment, {
    ...base,
    state,
    error: null,
    failureStage: null,
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

/** A deployment's instance became its rollout's current one, or is it no longer. */
export function applyCurrency(known: Deployment, isCurrent: boolean, moment: Moment): Transition {
  const { application, applicationVersion, rolloutKey } = known
  const changes: ChangeBody[] =
    known.isCurrent === isCurrent
      ? []
      : [{ kind: 'DEPLOYMENT_REVISED', application, applicationVersion, rolloutKey, isCurrent }]
  return finish(changes, moment, { ...known, isCurrent })
}

/** A k8splugin's instance was upgraded: it is of another version of its bundle now. */
export function applyMoveToRollout(known: Deployment, rollout: Rollout, moment: Moment): Transition {
  const { key: rolloutKey, compositeApp: application, compositeAppVersion: applicationVersion } = rollout
  const next = { rolloutKey, application, applicationVersion }
  return finish([{ kind: 'DEPLOYMENT_REVISED', ...next }], moment, { ...known, ...next })
}

function mergeStandings(
  present: readonly Component[],
  standings: readonly ComponentStanding[],
  changes: ChangeBody[],
  moment: Moment,
): readonly Component[] {
  const wanted = new Map(standings.map((standing) => [standing.name, standing]))
  const merged: Component[] = []
  const change = ({ name, state }: ComponentStanding, known: Component | null): Component => {
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
    const standing = wanted.get(known.name)
    wanted.delete(known.name)
    if (!standing) changes.push({ kind: 'COMPONENT_REMOVED', component: known.name, from: known.state })
    else merged.push(standing.state === known.state ? known : change(standing, known))
  }
  for (const standing of wanted.values()) merged.push(change(standing, null))
  return merged
}
