/** The content of a change of each kind. */
import type { ChangeBody, ChangeKind } from '../../src/domain/change.ts'

/** Every field has a value: an optional one that is left out here is an error of the compiler. */
export const bodies: { readonly [Kind in ChangeKind]: Required<Extract<ChangeBody, { readonly kind: Kind }>> } = {
  DEPLOYMENT_STATE_CHANGED: {
    ...{ kind: 'DEPLOYMENT_STATE_CHANGED', from: 'INSTALLING', to: 'FAILED', attempt: 1, adoptedManifestVersion: '1' },
    ...{ error: { code: '507', message: 'full', source: 'disk' }, failureStage: 'PROCESSING' },
  },
  COMPONENT_STATE_CHANGED: {
    ...{ kind: 'COMPONENT_STATE_CHANGED', component: 'web', from: 'INSTALLING', to: 'FAILED', unread: 'state broken' },
    error: { code: '507', message: 'full', source: 'disk' },
  },
  COMPONENT_REMOVED: { kind: 'COMPONENT_REMOVED', component: 'web', from: 'INSTALLED' },
  DEPLOYMENT_MOVED: { kind: 'DEPLOYMENT_MOVED', fromTargetKey: 0, toTargetKey: 0 },
  DEPLOYMENT_REVISED: {
    ...{ kind: 'DEPLOYMENT_REVISED', application: 'app', applicationVersion: '2', rolloutKey: 0, isCurrent: true },
    ...{
      from: { application: 'app', applicationVersion: '1' },
      readiness: 'READY',
      componentReadiness: { web: 'READY' },
    },
  },
  DEPLOYMENT_FORGOTTEN: { kind: 'DEPLOYMENT_FORGOTTEN' },
  DEPLOYMENT_STALLED: { kind: 'DEPLOYMENT_STALLED', stalled: true },
  CONVERGENCE_CHANGED: {
    ...{
      kind: 'CONVERGENCE_CHANGED',
      from: 'UNKNOWN',
      to: 'CONVERGED',
      targetManifestVersion: '1',
      documentDigest: 'sha256:1',
    },
  },
  CONNECTIVITY_CHANGED: { kind: 'CONNECTIVITY_CHANGED', from: 'ONLINE', to: 'OFFLINE', source: 'BROKER' },
  DEVICE_RETIRED: { kind: 'DEVICE_RETIRED', reason: 'broken', replacedByKey: 0 },
  DEVICE_REINSTATED: { kind: 'DEVICE_REINSTATED' },
  MAINTENANCE_PLANNED: {
    ...{ kind: 'MAINTENANCE_PLANNED', maintenanceKey: 1, reason: 'power', from: 0, until: 1, timeZone: 'UTC' },
    ...{ repeat: 'FREQ=WEEKLY', by: 'ann' },
  },
  MAINTENANCE_CANCELLED: { kind: 'MAINTENANCE_CANCELLED', maintenanceKey: 1, reason: 'power', by: 'ann' },
  MAINTENANCE_STARTED: {
    ...{ kind: 'MAINTENANCE_STARTED', maintenanceKey: 1, reason: 'power', since: 0, until: 1 },
  },
  MAINTENANCE_ENDED: {
    ...{ kind: 'MAINTENANCE_ENDED', maintenanceKey: 1, reason: 'power', since: 0, until: 1 },
  },
  RESOURCE_STATUS_CHANGED: {
    ...{ kind: 'RESOURCE_STATUS_CHANGED', component: 'web', fromSync: 'PENDING', toSync: 'APPLIED', reason: 'Waiting' },
    ...{ fromPresence: 'UNKNOWN', toPresence: 'PRESENT', fromReadiness: 'UNKNOWN', toReadiness: 'READY' },
  },
  INSTANCE_STATUS_CHANGED: { kind: 'INSTANCE_STATUS_CHANGED', fromStatus: 'INSTANTIATING', toStatus: 'INSTANTIATED' },
  LIFECYCLE_ACTION_RECORDED: {
    ...{ kind: 'LIFECYCLE_ACTION_RECORDED', state: 'INSTANTIATED', actionInstanceId: 'i-1', instanceRevision: 1 },
    ...{ doneAt: 0, actor: 'restricted-person' },
  },
  ROLLOUT_LABELS_CHANGED: {
    kind: 'ROLLOUT_LABELS_CHANGED',
    fromLabels: [{ key: 'team', value: 'b' }],
    toLabels: [{ key: 'team', value: 'a' }],
  },
  ALERT_RAISED: {
    kind: 'ALERT_RAISED',
    alertKey: 1,
    rule: 'failing',
    severity: 'CRITICAL',
    value: 1,
    evaluatedRevision: 1,
  },
  ALERT_RESOLVED: {
    ...{
      kind: 'ALERT_RESOLVED',
      alertKey: 1,
      rule: 'failing',
      severity: 'CRITICAL',
      value: 0,
      resolution: 'RECOVERED',
    },
  },
  ALERT_ACKNOWLEDGED: {
    ...{
      kind: 'ALERT_ACKNOWLEDGED',
      alertKey: 1,
      rule: 'failing',
      severity: 'CRITICAL',
      by: 'ann',
      comment: 'looking',
    },
  },
}
