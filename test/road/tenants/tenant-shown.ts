/** What the API and webhooks tell, in the words of the reference model. */
import type { Image } from '../reference/reference-facts.ts'
import type { ToldChange } from './tenant-model.ts'

const ofDeployment = `deploymentId state derivedState consistent attempt failureStage adoptedManifestVersion stalled revision forgottenAt
  error { code message } target { name } components { name state revision error { code message } }`
const ofChange = (deployment: string): string => `__typename revision kind
  ... on DeploymentStateChanged { deploymentId from to error { code message } attempt failureStage adoptedManifestVersion ${deployment} }
  ... on ComponentStateChanged { deploymentId component from to error { code message } ${deployment} }
  ... on ComponentRemoved { deploymentId component from ${deployment} }
  ... on DeploymentMoved { fromTarget { name } toTarget { name } ${deployment} }
  ... on DeploymentRevised { ${deployment} }
  ... on DeploymentForgotten { ${deployment} }
  ... on DeploymentStalled { stalled ${deployment} }
  ... on MaintenanceStarted { maintenance: reason }
  ... on MaintenanceEnded { maintenance: reason }`
const changeFields = ofChange(`deployment { ${ofDeployment} }`)

export const documents = {
  changes: `subscription ($after: Revision, $filter: ChangeFilter) { changes(after: $after, filter: $filter) { change { ${changeFields} } } }`,
  deployment: `subscription { deployment(deploymentId: "d-1", deviceId: "gw") { deployment { ${ofDeployment} } changes { ${changeFields} } } }`,
  rollout: `subscription { rollout(key: { name: "d-1" }) { changes { ${changeFields} } } }`,
  log: `query ($filter: ChangeFilter) { changes(first: 100, filter: $filter) { nodes { ${changeFields} } totalCount } }`,
  state: `query ($at: Revision) { deployments(first: 100, atRevision: $at) { totalCount nodes { ${ofDeployment}
      history(first: 100) { totalCount nodes { ${ofChange('deployment { deploymentId }')} } }
      reports(first: 100) { totalCount nodes { verdict state } } } }
    deploymentCounts(atRevision: $at) { total }
    inside: deploymentCounts(filter: { inMaintenance: true }, atRevision: $at) { total }
    devices(filter: { inMaintenance: true }, atRevision: $at) { nodes { deviceId } } }`,
}

/** An answer of any of these documents. */
// biome-ignore lint/suspicious/noExplicitAny: what a test asked for, it knows.
export type Answered = any

export function showImage(image: Image): object {
  const { id, device, state, derived, consistent, error, stage, attempt, version, stalled, forgotten, revision } = image
  const parts = Object.entries(image.parts).map(([name, part]) => [name, part.state, part.error, String(part.revision)])
  const told = { id, device, state, derived, consistent, error, stage, attempt, stalled, forgotten }
  return { ...told, version: version === null ? null : String(version), revision: String(revision), parts }
}

export function showDeployment(d: Answered): object {
  const parts = d.components.map((part: Answered) => [part.name, part.state, showError(part.error), part.revision])
  return {
    ...{ id: d.deploymentId, device: d.target.name, state: d.state, derived: d.derivedState, parts },
    ...{
      consistent: d.consistent,
      error: showError(d.error),
      stage: d.failureStage,
      attempt: d.attempt,
      version: d.adoptedManifestVersion,
    },
    ...{ stalled: d.stalled, forgotten: d.forgottenAt !== null, revision: d.revision },
  }
}

/** Of the API, or of a webhook's data. */
export function showChange(change: Answered): ToldChange {
  const { revision, kind, deploymentId, deployment } = change
  return {
    revision: Number(revision),
    id: deploymentId ?? deployment?.deploymentId ?? null,
    kind,
    what: whatOf(change),
  }
}

/** A row of an export in the form of an answer. */
export function showExported(row: Answered): Answered {
  const { errorCode: code, errorMessage: message, details, target, revision, ...rest } = row
  const error = code === null ? null : { code, message }
  return { ...rest, ...details, revision: String(revision), error, target: { name: target }, forgottenAt: null }
}

function whatOf(change: Answered): string {
  const { kind, from, to, component, error } = change
  switch (kind) {
    case 'DEPLOYMENT_STATE_CHANGED':
      return `${from} ${to} ${showError(error)} ${change.failureStage} ${change.attempt} ${change.adoptedManifestVersion}`
    case 'COMPONENT_STATE_CHANGED':
      return `${component} ${from} ${to} ${showError(error)}`
    case 'COMPONENT_REMOVED':
      return `${component} ${from}`
    case 'DEPLOYMENT_MOVED':
      return `${change.fromTarget?.name ?? null} ${change.toTarget.name}`
    case 'DEPLOYMENT_STALLED':
      return String(change.stalled)
    // Of the API, of a webhook, and of an export.
    case 'MAINTENANCE_STARTED':
    case 'MAINTENANCE_ENDED':
      return typeof change.maintenance === 'string' ? change.maintenance : (change.maintenance ?? change).reason
    default:
      return ''
  }
}

function showError(error: { code: string; message: string } | null): string | null {
  return error && [error.code, error.message].join(' ').trimEnd()
}
