/** Changes as rows of a file. */
import type { Columns } from '../../data/export.ts'
import type { Change } from '../change-line.tsx'

export const changeColumns: Columns<Change> = {
  revision: (change) => change.revision,
  at: (change) => change.at,
  observedAt: (change) => change.observedAt,
  kind: (change) => change.__typename,
  target: (change) =>
    'deployment' in change
      ? change.deployment.target.name
      : 'resource' in change
        ? change.resource.target.name
        : 'target' in change
          ? change.target.name
          : null,
  deploymentId: (change) => ('deployment' in change ? change.deployment.deploymentId : null),
  reporter: (change) => ('deployment' in change ? change.deployment.reporter : null),
  component: (change) => ('component' in change ? change.component : null),
  resource: (change) => ('resource' in change ? `${change.resource.kind} ${change.resource.name}` : null),
  rollout: (change) => ('rollout' in change ? change.rollout.name : null),
  alert: (change) => ('alert' in change ? change.alert.rule : null),
  from: (change) => firstOf(change, ['from', 'fromConvergence', 'fromConnectivity', 'fromStatus', 'fromReadiness']),
  to: (change) => firstOf(change, ['to', 'toConvergence', 'toConnectivity', 'toStatus', 'toReadiness']),
  errorCode: (change) => ('error' in change ? change.error?.code : null),
  reason: (change) =>
    'error' in change ? change.error?.message : firstOf(change, ['reason', 'retiredFor', 'comment']),
}

/** The first of these fields that the change has. */
function firstOf(change: Change, names: readonly string[]): string | null {
  const found = Object.entries(change).find(([name, value]) => names.includes(name) && typeof value === 'string')
  return found ? String(found[1]) : null
}
