/** The road's answers and the reference model's in the same words, so that they can be compared. */
import type { Change } from '../../../src/domain/change.ts'
import type { StatusError } from '../../../src/domain/values.ts'
import { recordReport } from '../../../src/ingest/commands/report.ts'
import type { Session } from '../../../src/store/database.ts'
import { type DeploymentRow, pageDeployments } from '../../../src/store/read/deployments.ts'
import type { DeploymentFilter } from '../../../src/store/read/filters/deployment-filter.ts'
import { report } from '../../support/clients/reports.ts'
import type { Image, ModelChange, ModelReport } from './reference-facts.ts'

/** Of what has a key and a name; never changed. */
export interface Names {
  readonly targets: ReadonlyMap<number, string>
  readonly rollouts: ReadonlyMap<number, string>
}

export async function readNames(session: Session): Promise<Names> {
  const read = async (table: string): Promise<Map<number, string>> => {
    const rows = await session.run<{ key: number; name: string }>(`select key, name from ${table} order by key`)
    return new Map(rows.map(({ key, name }) => [key, name]))
  }
  return { targets: await read('targets'), rollouts: await read('rollouts') }
}

export async function allDeployments(
  session: Session,
  filter: DeploymentFilter,
  asOf: number | null,
): Promise<readonly DeploymentRow[]> {
  const page = { size: 100, after: null, before: null, backward: false }
  const pages = await pageDeployments(session, { of: 'fleet' }, filter, 'NAME', page, asOf)
  return (pages.get(0)?.edges ?? []).map(({ node }) => node)
}

export function showDeployment(row: DeploymentRow, { targets, rollouts }: Names): Image {
  const parts = (row.components ?? []).map(({ name, state, error, revision }) => [
    name,
    { state, error: showError(error), revision },
  ])
  return {
    id: row.deploymentId,
    device: targets.get(row.targetKey) ?? '?',
    rollout: rollouts.get(row.rolloutKey) ?? '?',
    application: row.application,
    state: row.state,
    derived: row.derivedState,
    consistent: row.consistent,
    error: showError(row.error),
    stage: row.failureStage,
    parts: Object.fromEntries(parts),
    attempt: row.attempt,
    version: row.adoptedManifestVersion === null ? null : Number(row.adoptedManifestVersion),
    stalled: row.stalled,
    forgotten: row.forgottenAt !== null,
    at: row.changedAt,
    revision: row.revision,
  }
}

export function showChange(change: Change, { targets, rollouts }: Names): object {
  const { revision, at, kind, deploymentId: id, targetName: device } = change
  const about = { revision, at, id, device, kind, part: null, to: null, what: '' }
  switch (change.kind) {
    case 'DEPLOYMENT_STATE_CHANGED': {
      const { from, to, error, failureStage = null, attempt, adoptedManifestVersion: version } = change
      return { ...about, to, what: `${from} ${to} ${showError(error)} ${failureStage} ${attempt} ${version}` }
    }
    case 'COMPONENT_STATE_CHANGED': {
      const { component: part, from, to, error } = change
      return { ...about, part, to, what: `${part} ${from} ${to} ${showError(error)}` }
    }
    case 'COMPONENT_REMOVED':
      return { ...about, part: change.component, what: `${change.component} ${change.from}` }
    case 'DEPLOYMENT_MOVED':
      return { ...about, what: `${targets.get(change.fromTargetKey)} ${targets.get(change.toTargetKey)}` }
    case 'DEPLOYMENT_REVISED':
      return { ...about, what: `${change.application} ${rollouts.get(change.rolloutKey)}` }
    case 'CONNECTIVITY_CHANGED':
      return { ...about, what: `${change.from} ${change.to}` }
    case 'DEPLOYMENT_STALLED':
      return { ...about, what: String(change.stalled) }
    case 'DEPLOYMENT_FORGOTTEN':
      return about
    case 'DEVICE_RETIRED':
      return { ...about, what: change.reason }
    case 'DEVICE_REINSTATED':
      return about
    case 'MAINTENANCE_STARTED':
    case 'MAINTENANCE_ENDED':
      return { ...about, what: change.reason }
    case 'MAINTENANCE_PLANNED':
    case 'MAINTENANCE_CANCELLED':
    case 'CONVERGENCE_CHANGED':
    case 'RESOURCE_STATUS_CHANGED':
    case 'INSTANCE_STATUS_CHANGED':
    case 'LIFECYCLE_ACTION_RECORDED':
    case 'ROLLOUT_LABELS_CHANGED':
    case 'ALERT_RAISED':
    case 'ALERT_RESOLVED':
    case 'ALERT_ACKNOWLEDGED':
      throw new Error(`nothing here makes a ${kind}`)
  }
}

export function showModelled({ entry: _, ...change }: ModelChange): object {
  return change
}

export function toError(error: string | null): StatusError | null {
  if (error === null) return null
  const [code = '', ...message] = error.split(' ')
  return { code, message: message.join(' ') }
}

function showError(error: StatusError | null): string | null {
  return error && [error.code, error.message].join(' ').trimEnd()
}

export function recordModelled(r: ModelReport): ReturnType<typeof recordReport> {
  const said = report({
    reporter: r.reporter,
    deploymentId: r.id,
    deviceId: r.device === r.reporter ? null : r.device,
    state: r.state,
    error: toError(r.error),
    components: Object.entries(r.parts).map(([name, { state, error }]) => ({ name, state, error: toError(error) })),
    adoptedManifestVersion: r.version === null ? null : String(r.version),
    boot: r.boot,
    seq: r.seq === null ? null : String(r.seq),
    observedAt: r.time,
  })
  return recordReport(said)
}
