/** The form of a change for receivers: its own fields, with the names of its subjects instead of internal keys. */
import type { Change, ChangeKind } from '../../domain/change.ts'
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
      ...(ownFields[kind] as (change: Change, names: Names) => object)(change, names),
    }
  })
}

/** The ID in the API. */
function nodeIdOfAlert(key: number): string {
  return Buffer.from(`Alert:${key}`).toString('base64url')
}

const windowOf = (key: number, reason: string) => ({
  ...{ id: Buffer.from(`MaintenanceWindow:${key}`).toString('base64url'), reason },
})

const iso = (time: number): string => new Date(time).toISOString()

interface Names {
  readonly target: (key: number) => object | undefined
  /** Undefined: the reader does not see it. */
  readonly replacement: (key: number) => object | undefined
}

type Of<Kind extends ChangeKind> = Extract<Change, { readonly kind: Kind }>

const alert = ({ alertKey, rule, severity }: Of<'ALERT_RAISED' | 'ALERT_RESOLVED' | 'ALERT_ACKNOWLEDGED'>) => ({
  ...{ id: nodeIdOfAlert(alertKey), rule, severity },
})
const stay = ({ reason, since, until }: Of<'MAINTENANCE_STARTED' | 'MAINTENANCE_ENDED'>) => ({
  maintenance: { reason, since: iso(since), until: iso(until) },
})

/** What a change has besides its subjects. The AsyncAPI document describes each (api/rest/contract/changes.ts). */
const ownFields = {
  DEPLOYMENT_STATE_CHANGED({ from, to, error, attempt, adoptedManifestVersion, ...change }) {
    return { from, to, error, ...detailsOf(change), attempt, adoptedManifestVersion }
  },
  COMPONENT_STATE_CHANGED: ({ component, from, to, error }) => ({ component, from, to, error }),
  COMPONENT_REMOVED: ({ component, from }) => ({ component, from }),
  DEPLOYMENT_MOVED: ({ fromTargetKey, toTargetKey }, names) => ({
    ...{ fromTarget: names.target(fromTargetKey), toTarget: names.target(toTargetKey) },
  }),
  DEPLOYMENT_REVISED: ({ application, applicationVersion }) => ({ application, applicationVersion }),
  DEPLOYMENT_FORGOTTEN: () => ({}),
  DEPLOYMENT_STALLED: ({ stalled }) => ({ stalled }),
  CONVERGENCE_CHANGED: ({ from, to, targetManifestVersion, documentDigest }) => ({
    ...{ fromConvergence: from, toConvergence: to, targetManifestVersion, documentDigest },
  }),
  CONNECTIVITY_CHANGED: ({ from, to, source }) => ({
    ...{ fromConnectivity: from, toConnectivity: to, connectivitySource: source ?? null },
  }),
  DEVICE_RETIRED: ({ reason, replacedByKey }, names) => ({
    ...{ reason, replacedBy: names.replacement(replacedByKey ?? 0) ?? null },
  }),
  DEVICE_REINSTATED: () => ({}),
  MAINTENANCE_PLANNED: ({ maintenanceKey, reason, from, until, repeat, timeZone, by }) => ({
    maintenance: { ...windowOf(maintenanceKey, reason), from: iso(from), until: iso(until), repeat, timeZone, by },
  }),
  MAINTENANCE_CANCELLED: ({ maintenanceKey, reason, by }) => ({
    maintenance: { ...windowOf(maintenanceKey, reason), by },
  }),
  MAINTENANCE_STARTED: stay,
  MAINTENANCE_ENDED: stay,
  RESOURCE_STATUS_CHANGED(change) {
    const { component, fromSync, toSync, fromPresence, toPresence, fromReadiness, toReadiness, reason } = change
    return { component, fromSync, toSync, fromPresence, toPresence, fromReadiness, toReadiness, reason }
  },
  INSTANCE_STATUS_CHANGED: ({ fromStatus, toStatus }) => ({ fromStatus, toStatus }),
  ROLLOUT_LABELS_CHANGED: ({ fromLabels, toLabels }) => ({ fromLabels, toLabels }),
  ALERT_RAISED: (change) => ({ alert: { ...alert(change), value: change.value } }),
  ALERT_RESOLVED: (change) => ({ alert: { ...alert(change), value: change.value, resolution: change.resolution } }),
  ALERT_ACKNOWLEDGED: (change) => ({ alert: { ...alert(change), acknowledgedBy: change.by, comment: change.comment } }),
  LIFECYCLE_ACTION_RECORDED: ({ state, actionInstanceId, instanceRevision, doneAt }) => ({
    action: { state, instanceId: actionInstanceId, instanceRevision, at: iso(doneAt) },
  }),
} satisfies { readonly [Kind in ChangeKind]: (change: Of<Kind>, names: Names) => object }

type NamesOf<Fields> = {
  [Name in keyof Fields & string]: undefined extends Fields[Name] ? `${Name}?` : Name
}[keyof Fields & string]

/** Their names. A question mark follows that of one which may be absent. */
export type OwnFields = { readonly [Kind in ChangeKind]: NamesOf<ReturnType<(typeof ownFields)[Kind]>> }

/** Of a change, in topics and in the types of events. */
export const wordOf = (kind: ChangeKind): string => kind.toLowerCase().replaceAll('_', '-')
