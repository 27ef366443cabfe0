/** Replays the log: a deployment as it was after some of an entry's changes. State = fold of the log; a test proves it with this. */
import type { ChangeBody } from './change.ts'
import { type Component, type DeploymentImage, initialImage, movedTo } from './deployment.ts'
import { nothingDesired } from './desired.ts'
import { detailsOf } from './nouns/deployment.ts'
import { deriveState, isConsistent } from './rollup.ts'
import type { Millis, Revision } from './values.ts'

export interface FoldableEntry {
  readonly firstRevision: Revision
  readonly at: Millis
  readonly observedAt: Millis | null
  readonly targetKey: number
  /** The rollout after the entry. */
  readonly rolloutKey: number
  readonly instanceKey: number | null
  readonly changes: readonly ChangeBody[]
}

/** The deployment at `revision`, which lies within or after the entry. Null: it did not exist yet. */
export function imageAt(
  before: DeploymentImage | null,
  entry: FoldableEntry,
  revision: Revision,
): DeploymentImage | null {
  let image = before
  entry.changes.forEach((change, index) => {
    if (entry.firstRevision + index <= revision) image = foldChange(image, change, entry, entry.firstRevision + index)
  })
  return image
}

function foldChange(
  image: DeploymentImage | null,
  change: ChangeBody,
  entry: FoldableEntry,
  revision: Revision,
): DeploymentImage {
  const was = restarted(image ?? firstImage(entry), change, entry)
  const components = foldComponents(was.components, change, entry.at, revision)
  const next = { ...was, ...foldFields(was, change, entry), components, changedAt: entry.at, revision }
  return {
    ...next,
    derivedState: deriveState(components),
    consistent: isConsistent(next.state, components, next.failureStage),
    reportedAt: entry.observedAt ?? was.reportedAt,
  }
}

/**
 * Resets what was reported if the change moves the deployment, or brings it back after it was forgotten (see movedTo). It comes back in the place
 * that its entry has, as readers with an access scope see its changes: a declaration may bring it back in another rollout.
 */
function restarted(
  image: DeploymentImage,
  change: ChangeBody,
  { targetKey, rolloutKey }: FoldableEntry,
): DeploymentImage {
  if (change.kind === 'DEPLOYMENT_MOVED') return movedTo(image, change.toTargetKey)
  const isReturn = change.kind === 'DEPLOYMENT_STATE_CHANGED' && change.from === null && image.forgottenAt !== null
  if (!isReturn) return image
  const onTarget = image.targetKey === targetKey ? image : movedTo(image, targetKey)
  return { ...onTarget, ...nothingDesired, rolloutKey, components: [], forgottenAt: null }
}

function foldFields(was: DeploymentImage, change: ChangeBody, entry: FoldableEntry): Partial<DeploymentImage> {
  switch (change.kind) {
    case 'DEPLOYMENT_STATE_CHANGED': {
      const { to: state, error, attempt, adoptedManifestVersion } = change
      return { state, error, ...detailsOf(change), attempt, adoptedManifestVersion }
    }
    case 'DEPLOYMENT_REVISED': {
      const { application, applicationVersion, rolloutKey, readiness, isCurrent } = change
      return {
        application,
        applicationVersion,
        rolloutKey,
        readiness: readiness ?? was.readiness,
        isCurrent: isCurrent ?? was.isCurrent,
      }
    }
    case 'DEPLOYMENT_FORGOTTEN':
      return { forgottenAt: entry.at }
    case 'DEPLOYMENT_STALLED':
      return { stalled: change.stalled }
    case 'CONVERGENCE_CHANGED': {
      const { to: convergence, targetManifestVersion, documentDigest } = change
      return { convergence, targetManifestVersion, documentDigest }
    }
    case 'DEPLOYMENT_MOVED':
    case 'COMPONENT_STATE_CHANGED':
    case 'COMPONENT_REMOVED':
    case 'CONNECTIVITY_CHANGED':
    case 'DEVICE_RETIRED':
    case 'DEVICE_REINSTATED':
    case 'MAINTENANCE_PLANNED':
    case 'MAINTENANCE_CANCELLED':
    case 'MAINTENANCE_STARTED':
    case 'MAINTENANCE_ENDED':
    case 'RESOURCE_STATUS_CHANGED':
    case 'INSTANCE_STATUS_CHANGED':
    case 'LIFECYCLE_ACTION_RECORDED':
    case 'ROLLOUT_LABELS_CHANGED':
    case 'ALERT_RAISED':
    case 'ALERT_RESOLVED':
    case 'ALERT_ACKNOWLEDGED':
      return {}
    default: {
      const unknown: never = change
      throw new Error(`unknown change ${JSON.stringify(unknown)} at ${was.revision}`)
    }
  }
}

function foldComponents(
  components: readonly Component[],
  change: ChangeBody,
  at: Millis,
  revision: Revision,
): readonly Component[] {
  switch (change.kind) {
    case 'COMPONENT_REMOVED':
      return components.filter((component) => component.name !== change.component)
    case 'COMPONENT_STATE_CHANGED': {
      const { component: name, to: state, error, unread } = change
      const known = components.find((component) => component.name === name)
      const readiness = known?.readiness && { readiness: known.readiness }
      const next: Component = { name, state, error, ...readiness, ...(unread && { unread }), changedAt: at, revision }
      return components.some((component) => component.name === name)
        ? components.map((component) => (component.name === name ? next : component))
        : [...components, next]
    }
    case 'DEPLOYMENT_REVISED': {
      const { componentReadiness } = change
      if (!componentReadiness) return components
      return components.map((component) => {
        const readiness = componentReadiness[component.name]
        return readiness ? { ...component, readiness, changedAt: at, revision } : component
      })
    }
    default:
      return components
  }
}

function firstImage({ targetKey, rolloutKey, instanceKey, at, firstRevision }: FoldableEntry): DeploymentImage {
  return { ...initialImage, targetKey, rolloutKey, instanceKey, changedAt: at, revision: firstRevision }
}
