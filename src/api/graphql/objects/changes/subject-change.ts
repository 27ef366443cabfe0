/** The changes of targets, resources, instances and rollouts. */
import type { Change as ChangeRow } from '../../../../domain/change.ts'
import type { Context } from '../../execution/context.ts'
import { required } from '../../execution/required.ts'
import { Device, LifecycleAction, Resource, Rollout, RolloutInstance, Target } from '../refs.ts'
import { windowId } from '../targets/maintenance-id.ts'
import {
  ConnectivityEnum,
  ConnectivitySourceEnum,
  InstanceStatusEnum,
  PresenceEnum,
  ReadinessEnum,
  SyncStatusEnum,
} from '../vocabulary.ts'
import { implementChange, nullable } from './change.ts'

implementChange('CONNECTIVITY_CHANGED', 'The connectivity of a target changed.', (t) => ({
  target: t.field({ type: Target, description: 'The target in its present state.', resolve: targetNow }),
  fromConnectivity: t.expose('from', { type: ConnectivityEnum, ...nullable('The previous connectivity.') }),
  toConnectivity: t.expose('to', { type: ConnectivityEnum, description: 'The new connectivity.' }),
  connectivitySource: t.expose('source', {
    type: ConnectivitySourceEnum,
    description: 'What it follows from.',
  }),
}))

implementChange(
  'DEVICE_RETIRED',
  'A device was retired, or its retirement was changed. A DeploymentForgotten change follows for each of its deployments.',
  (t) => ({
    device: t.field({ type: Device, description: 'The device in its present state.', resolve: targetNow }),
    // Nullable like ResourceStatusChanged.reason: otherwise a document that selects both would be invalid.
    reason: t.exposeString('reason', nullable('The reason that the operator gave.')),
    replacedBy: t.field({
      type: Device,
      ...nullable("The replacement device. Null: none, or outside the caller's access scope."),
      resolve: async ({ replacedByKey }, _, context) =>
        replacedByKey === null ? null : ((await (await context.reader()).target(replacedByKey, null)) ?? null),
    }),
  }),
)

implementChange(
  'DEVICE_REINSTATED',
  'A retired device was registered again. Its deployments return when they are reported or declared.',
  (t) => ({
    device: t.field({ type: Device, description: 'The device in its present state.', resolve: targetNow }),
  }),
)

const reason = 'The reason that the operator gave.'

implementChange(
  'MAINTENANCE_PLANNED',
  'A maintenance window was planned. Callers with an access scope do not see it.',
  (t) => ({
    maintenanceId: t.id({
      description: 'The ID of the window.',
      resolve: ({ maintenanceKey }) => windowId(maintenanceKey),
    }),
    reason: t.exposeString('reason', nullable(reason)),
    beginsAt: t.expose('from', { type: 'DateTime', description: 'When its first occurrence begins.' }),
    endsAt: t.expose('until', { type: 'DateTime', description: 'When its first occurrence ends.' }),
    repeat: t.exposeString('repeat', nullable('How it is repeated, as an RRULE. Null: once.')),
    timeZone: t.exposeString('timeZone', { description: 'The time zone in which it is repeated.' }),
    decidedBy: t.exposeString('by', { description: 'The caller that planned it.' }),
  }),
)

implementChange(
  'MAINTENANCE_CANCELLED',
  'A maintenance window was ended by an operator, with its further occurrences. Callers with an access scope do not see it.',
  (t) => ({
    maintenanceId: t.id({
      description: 'The ID of the window.',
      resolve: ({ maintenanceKey }) => windowId(maintenanceKey),
    }),
    reason: t.exposeString('reason', nullable(reason)),
    decidedBy: t.exposeString('by', { description: 'The caller that ended it.' }),
  }),
)

implementChange('MAINTENANCE_STARTED', 'A device or a cluster entered a maintenance window.', (t) => ({
  target: t.field({ type: Target, description: 'The target in its present state.', resolve: targetNow }),
  reason: t.exposeString('reason', nullable(reason)),
  since: t.expose('since', { type: 'DateTime', description: 'When it entered the window.' }),
  until: t.expose('until', { type: 'DateTime', description: 'When the window ends, as planned.' }),
}))

implementChange('MAINTENANCE_ENDED', 'A device or a cluster left a maintenance window.', (t) => ({
  target: t.field({ type: Target, description: 'The target in its present state.', resolve: targetNow }),
  reason: t.exposeString('reason', nullable(reason)),
  since: t.expose('since', { type: 'DateTime', description: 'When it entered the window.' }),
  until: t.expose('until', { type: 'DateTime', description: 'When the window ends, as planned.' }),
}))

implementChange('RESOURCE_STATUS_CHANGED', 'The sync status, presence or readiness of a resource changed.', (t) => ({
  resource: t.field({
    type: Resource,
    description: 'The resource in its present state, even if it no longer exists.',
    resolve: async (change, _, { reader }) =>
      required(await (await reader()).resource(change.resourceKey ?? 0, null), 'resource'),
  }),
  component: t.exposeString('component', { description: 'The name of the component that it belongs to.' }),
  fromSync: t.expose('fromSync', { type: SyncStatusEnum, ...nullable('The previous sync status.') }),
  toSync: t.expose('toSync', { type: SyncStatusEnum, ...nullable('The new sync status.') }),
  fromPresence: t.expose('fromPresence', {
    type: PresenceEnum,
    ...nullable('The previous presence. Null: it is new.'),
  }),
  toPresence: t.expose('toPresence', { type: PresenceEnum, ...nullable('The new presence.') }),
  fromReadiness: t.expose('fromReadiness', {
    type: ReadinessEnum,
    ...nullable('The previous readiness. Null: it is new.'),
  }),
  toReadiness: t.expose('toReadiness', { type: ReadinessEnum, ...nullable('The new readiness.') }),
  reason: t.exposeString('reason', nullable('The reason for the new readiness, as one word.')),
}))

implementChange('INSTANCE_STATUS_CHANGED', 'The status of a rollout instance changed.', (t) => ({
  instance: t.field({
    type: RolloutInstance,
    description: 'The instance in its present state.',
    resolve: async (change, _, { reader }) =>
      required(await (await reader()).instance(change.instanceKey ?? 0, null), 'instance'),
  }),
  fromStatus: t.expose('fromStatus', {
    type: InstanceStatusEnum,
    ...nullable('The previous status. Null: the instance is new.'),
  }),
  toStatus: t.expose('toStatus', { type: InstanceStatusEnum, description: 'The new status.' }),
}))

implementChange('LIFECYCLE_ACTION_RECORDED', 'A lifecycle action on a rollout was recorded.', (t) => ({
  rollout: t.field({
    type: Rollout,
    description: 'The rollout in its present state.',
    resolve: async (change, _, { reader }) =>
      required(await (await reader()).rollout(change.rolloutKey ?? 0, null), 'rollout'),
  }),
  action: t.field({
    type: LifecycleAction,
    description: 'The action.',
    resolve: ({ state, actionInstanceId, instanceRevision, doneAt, actor }) => ({
      state,
      instanceId: actionInstanceId,
      instanceRevision,
      at: doneAt,
      actor,
    }),
  }),
}))

async function targetNow(change: ChangeRow, _: unknown, { reader }: Pick<Context, 'reader'>) {
  return required(await (await reader()).target(change.targetKey ?? 0, null), 'target')
}
