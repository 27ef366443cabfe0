/** The form of a change for receivers: its own fields, with the names of its subjects instead of internal keys. */
import type { Change } from '../../domain/change.ts'
import { detailsOf } from '../../domain/nouns/deployment.ts'
import type { Session } from '../../store/database.ts'
import { type TargetName, targetNames } from '../../store/read/export/names.ts'
import { resourcesByKey } from '../../store/read/orchestration/resources.ts'
import { rolloutsByKey } from '../../store/read/rollouts/rollouts.ts'

type ChangeData = Readonly<Record<string, unknown>>

/**
 * One result for each change, in the same order. The names of its place are read without an access scope, because a reader that sees a change
 * sees its place. The device that replaced another one has a place of its own: it is read by `reader`, the session with the access scope.
 */
export async function describeChanges(
  session: Session,
  changes: readonly Change[],
  reader: Session = session,
): Promise<ChangeData[]> {
  const keysOf = (key: (change: Change) => number | null): number[] => [
    ...new Set(changes.flatMap((change) => key(change) ?? [])),
  ]
  const resources = await resourcesByKey(
    session,
    keysOf((change) => change.resourceKey),
    null,
  )
  const rollouts = await rolloutsByKey(
    session,
    keysOf((change) => change.rolloutKey),
    null,
  )
  const linked = changes.flatMap((change) => {
    return change.kind === 'DEPLOYMENT_MOVED' ? [change.fromTargetKey, change.toTargetKey] : []
  })
  const targets = await targetNames(session, [...keysOf((change) => change.targetKey), ...linked])
  const replaced = keysOf((change) => (change.kind === 'DEVICE_RETIRED' ? change.replacedByKey : null))
  const replacements = replaced.length === 0 ? targets : await targetNames(reader, replaced)
  const named = (target: TargetName | undefined) =>
    target && { kind: target.kind, ...(target.provider && { provider: target.provider }), name: target.name }
  const names: Names = {
    target: (key) => named(targets.get(key)),
    replacement: (key) => named(replacements.get(key)),
  }

  return changes.map((change) => {
    const { revision, at, observedAt, kind, deploymentId, instanceId } = change
    const resource = change.resourceKey === null ? undefined : resources.get(change.resourceKey)
    const rollout = change.rolloutKey === null ? undefined : rollouts.get(change.rolloutKey)
    return {
      kind,
      revision: String(revision),
      at: new Date(at).toISOString(),
      ...(observedAt !== null && { observedAt: new Date(observedAt).toISOString() }),
      ...(deploymentId !== null && { deploymentId }),
      ...(instanceId !== null && { instanceId }),
      ...(rollout && {
        rollout: {
          kind: rollout.kind,
          name: rollout.name,
          ...(rollout.project !== null && { project: rollout.project }),
          ...(rollout.compositeApp !== null && { compositeApp: rollout.compositeApp }),
          ...(rollout.compositeAppVersion !== null && { compositeAppVersion: rollout.compositeAppVersion }),
          ...(rollout.provider !== null && { provider: rollout.provider }),
        },
      }),
      ...(change.targetKey !== null && { target: names.target(change.targetKey) }),
      ...(resource && {
        resource: {
          group: resource.group,
          version: resource.version,
          kind: resource.kind,
          namespace: resource.namespace,
          name: resource.name,
        },
      }),
      ...ownFields(change, names),
    }
  })
}

/** The ID in the API. */
function nodeIdOfAlert(key: number): string {
  return Buffer.from(`Alert:${key}`).toString('base64url')
}

function windowOf(key: number, reason: string): object {
  return { id: Buffer.from(`MaintenanceWindow:${key}`).toString('base64url'), reason }
}

const iso = (time: number): string => new Date(time).toISOString()

interface Names {
  readonly target: (key: number) => object | undefined
  /** Undefined: the reader does not see it. */
  readonly replacement: (key: number) => object | undefined
}

function ownFields(change: Change, names: Names): object {
  switch (change.kind) {
    case 'DEPLOYMENT_STATE_CHANGED': {
      const { from, to, error, attempt, adoptedManifestVersion } = change
      return { from, to, error, ...detailsOf(change), attempt, adoptedManifestVersion }
    }
    case 'COMPONENT_STATE_CHANGED':
      return { component: change.component, from: change.from, to: change.to, error: change.error }
    case 'COMPONENT_REMOVED':
      return { component: change.component, from: change.from }
    case 'DEPLOYMENT_MOVED':
      return { fromTarget: names.target(change.fromTargetKey), toTarget: names.target(change.toTargetKey) }
    case 'DEPLOYMENT_REVISED':
      return { application: change.application, applicationVersion: change.applicationVersion }
    case 'DEPLOYMENT_FORGOTTEN':
      return {}
    case 'DEPLOYMENT_STALLED':
      return { stalled: change.stalled }
    case 'CONVERGENCE_CHANGED': {
      const { from, to, targetManifestVersion, documentDigest } = change
      return { fromConvergence: from, toConvergence: to, targetManifestVersion, documentDigest }
    }
    case 'CONNECTIVITY_CHANGED':
      return { fromConnectivity: change.from, toConnectivity: change.to, connectivitySource: change.source ?? null }
    case 'DEVICE_RETIRED':
      return { reason: change.reason, replacedBy: names.replacement(change.replacedByKey ?? 0) ?? null }
    case 'DEVICE_REINSTATED':
      return {}
    case 'MAINTENANCE_PLANNED': {
      const { maintenanceKey, reason, from, until, repeat, timeZone, by } = change
      return {
        maintenance: { ...windowOf(maintenanceKey, reason), from: iso(from), until: iso(until), repeat, timeZone, by },
      }
    }
    case 'MAINTENANCE_CANCELLED':
      return { maintenance: { ...windowOf(change.maintenanceKey, change.reason), by: change.by } }
    case 'MAINTENANCE_STARTED':
    case 'MAINTENANCE_ENDED': {
      const { reason, since, until } = change
      return { maintenance: { reason, since: iso(since), until: iso(until) } }
    }
    case 'RESOURCE_STATUS_CHANGED': {
      const { component, fromSync, toSync, fromPresence, toPresence, fromReadiness, toReadiness, reason } = change
      return { component, fromSync, toSync, fromPresence, toPresence, fromReadiness, toReadiness, reason }
    }
    case 'INSTANCE_STATUS_CHANGED':
      return { fromStatus: change.fromStatus, toStatus: change.toStatus }
    case 'ROLLOUT_LABELS_CHANGED':
      return { fromLabels: change.fromLabels, toLabels: change.toLabels }
    case 'ALERT_RAISED': {
      const { rule, severity, value, alertKey } = change
      return { alert: { id: nodeIdOfAlert(alertKey), rule, severity, value } }
    }
    case 'ALERT_RESOLVED': {
      const { rule, severity, value, resolution, alertKey } = change
      return { alert: { id: nodeIdOfAlert(alertKey), rule, severity, value, resolution } }
    }
    case 'ALERT_ACKNOWLEDGED': {
      const { rule, severity, by, comment, alertKey } = change
      return { alert: { id: nodeIdOfAlert(alertKey), rule, severity, acknowledgedBy: by, comment } }
    }
    case 'LIFECYCLE_ACTION_RECORDED': {
      const { state, actionInstanceId, instanceRevision, doneAt } = change
      return {
        action: { state, instanceId: actionInstanceId, instanceRevision, at: new Date(doneAt).toISOString() },
      }
    }
  }
}
