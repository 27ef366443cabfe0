/** The changes in the log. Own fields of a change describe the change; linked objects show the present. */
import type { ObjectFieldsShape } from '@pothos/core'
import type { ChangeKind, Change as ChangeRow } from '../../domain/change.ts'
import { builder, type SchemaTypes } from '../builder.ts'
import type { Context } from '../execution/context.ts'
import { required } from '../execution/required.ts'
import { StatusError } from '../mutations/status-error.ts'
import { Change, Deployment, Device, LifecycleAction, Resource, Rollout, RolloutInstance, Target } from './refs.ts'
import {
  ChangeKindEnum,
  ConnectivityEnum,
  ConvergenceEnum,
  DeploymentStateEnum,
  FailureStageEnum,
  InstanceStatusEnum,
  PresenceEnum,
  ReadinessEnum,
  SyncStatusEnum,
} from './vocabulary.ts'

type Of<Kind extends ChangeKind> = Extract<ChangeRow, { readonly kind: Kind }>
type Read = Pick<Context, 'reader'>

const typeNames = {
  DEPLOYMENT_STATE_CHANGED: 'DeploymentStateChanged',
  COMPONENT_STATE_CHANGED: 'ComponentStateChanged',
  COMPONENT_REMOVED: 'ComponentRemoved',
  DEPLOYMENT_MOVED: 'DeploymentMoved',
  DEPLOYMENT_REVISED: 'DeploymentRevised',
  DEPLOYMENT_FORGOTTEN: 'DeploymentForgotten',
  DEPLOYMENT_STALLED: 'DeploymentStalled',
  CONVERGENCE_CHANGED: 'ConvergenceChanged',
  CONNECTIVITY_CHANGED: 'ConnectivityChanged',
  DEVICE_RETIRED: 'DeviceRetired',
  DEVICE_REINSTATED: 'DeviceReinstated',
  RESOURCE_STATUS_CHANGED: 'ResourceStatusChanged',
  INSTANCE_STATUS_CHANGED: 'InstanceStatusChanged',
  LIFECYCLE_ACTION_RECORDED: 'LifecycleActionRecorded',
} as const satisfies Record<ChangeKind, string>

Change.implement({
  access: 'viewer',
  description: 'An entry of the change log. Each change has its own revision.',
  resolveType: (change) => typeNames[change.kind],
  fields: (t) => ({
    revision: t.expose('revision', {
      type: 'Revision',
      description: 'The number of the change. Numbers have no gaps and follow the order of commits.',
    }),
    at: t.expose('at', {
      type: 'DateTime',
      description: 'When the change was recorded (server time). Never earlier than the previous change.',
    }),
    observedAt: t.expose('observedAt', {
      type: 'DateTime',
      nullable: true,
      description:
        "When it happened (reporter's clock). Null: not reported, or the change does not come from a report.",
    }),
    kind: t.expose('kind', {
      type: ChangeKindEnum,
      description: "The kind of change: the type's name in UPPER_SNAKE_CASE.",
    }),
  }),
})

/** Whether this version writes changes of that kind. */
export function isKnownKind(kind: string): kind is ChangeKind {
  return kind in typeNames
}

const nullable = (description: string) => ({ nullable: true, description }) as const

const deploymentId = 'The deployment ID that the reporter assigned.'
const from = 'The previous state. Null for the first report, and for the first report after a move to another target.'
const to = 'The new state. Equal to `from` if only other fields changed.'

type FieldsOf<Kind extends ChangeKind> = ObjectFieldsShape<SchemaTypes, Of<Kind>>

function implementChange<Kind extends ChangeKind>(kind: Kind, description: string, fields: FieldsOf<Kind>): void {
  builder
    .objectRef<Of<Kind>>(typeNames[kind])
    .implement({ access: 'viewer', description, interfaces: [Change], fields })
}

function implementDeploymentChange<Kind extends ChangeKind>(
  kind: Kind,
  description: string,
  fields: FieldsOf<Kind>,
): void {
  implementChange(kind, description, (t) => ({
    deployment: t.field({
      type: Deployment,
      description: 'The deployment in its present state, even if it is forgotten.',
      resolve: deploymentNow,
    }),
    ...fields(t),
  }))
}

implementDeploymentChange(
  'DEPLOYMENT_STATE_CHANGED',
  'The state, error, attempt or adopted manifest version of a deployment changed.',
  (t) => ({
    deploymentId: t.string({ description: deploymentId, resolve: idOf }),
    from: t.expose('from', { type: DeploymentStateEnum, ...nullable(from) }),
    to: t.expose('to', { type: DeploymentStateEnum, description: to }),
    error: t.expose('error', { type: StatusError, ...nullable('The new error.') }),
    failureStage: t.field({
      type: FailureStageEnum,
      ...nullable('The stage in which it failed. Null: not failed, or unknown.'),
      resolve: ({ failureStage }) => failureStage ?? null,
    }),
    attempt: t.exposeInt('attempt', { description: 'The number of the attempt, starting at 1.' }),
    adoptedManifestVersion: t.exposeString(
      'adoptedManifestVersion',
      nullable('The adopted manifest version, as a 64-bit decimal number.'),
    ),
  }),
)

implementDeploymentChange('COMPONENT_STATE_CHANGED', 'The state or error of a component changed.', (t) => ({
  deploymentId: t.string({ description: deploymentId, resolve: idOf }),
  component: t.exposeString('component', { description: 'The name of the component.' }),
  from: t.expose('from', { type: DeploymentStateEnum, ...nullable(from) }),
  to: t.expose('to', { type: DeploymentStateEnum, description: to }),
  error: t.expose('error', { type: StatusError, ...nullable('The new error.') }),
}))

implementDeploymentChange('COMPONENT_REMOVED', 'A component was removed from its deployment.', (t) => ({
  deploymentId: t.string({ description: deploymentId, resolve: idOf }),
  component: t.exposeString('component', { description: 'The name of the component.' }),
  from: t.expose('from', { type: DeploymentStateEnum, ...nullable('The last state of the component.') }),
}))

implementDeploymentChange(
  'DEPLOYMENT_MOVED',
  'A deployment moved to another target. Reported state does not move with it: the first report on the new target starts again without a previous state.',
  (t) => ({
    fromTarget: t.field({
      type: Target,
      ...nullable("The previous target. Null: outside the caller's access scope."),
      resolve: async (change, _, context) =>
        (await (await context.reader()).target(change.fromTargetKey, null)) ?? null,
    }),
    toTarget: t.field({
      type: Target,
      description: 'The new target.',
      resolve: async (change, _, context) => {
        const reader = await context.reader()
        const { toTargetKey: key, revision } = change
        return required((await reader.target(key, null)) ?? (await reader.target(key, revision)), 'target')
      },
    }),
  }),
)

implementDeploymentChange(
  'DEPLOYMENT_REVISED',
  'The application, application version or rollout of a deployment changed.',
  (t) => ({
    application: t.exposeString('application', nullable('The new application.')),
    applicationVersion: t.exposeString('applicationVersion', nullable('The new application version.')),
  }),
)

implementDeploymentChange(
  'DEPLOYMENT_FORGOTTEN',
  'A deployment was forgotten: it left all lists and counts. A new report restores it.',
  () => ({}),
)

implementDeploymentChange('DEPLOYMENT_STALLED', 'A deployment stalled, or made progress again.', (t) => ({
  stalled: t.exposeBoolean('stalled', { description: 'Whether the deployment is stalled now.' }),
}))

implementDeploymentChange(
  'CONVERGENCE_CHANGED',
  'The convergence or the desired state of a deployment changed.',
  (t) => ({
    deploymentId: t.string({ description: deploymentId, resolve: idOf }),
    fromConvergence: t.expose('from', { type: ConvergenceEnum, description: 'The previous convergence.' }),
    toConvergence: t.expose('to', {
      type: ConvergenceEnum,
      description: 'The new convergence. Equal to `fromConvergence` if only the desired state changed.',
    }),
    targetManifestVersion: t.exposeString(
      'targetManifestVersion',
      nullable("The version of the device's manifest that contains the new desired state. Null: none."),
    ),
    documentDigest: t.exposeString(
      'documentDigest',
      nullable('The digest of the desired document. Null: the deployment should be removed.'),
    ),
  }),
)

implementChange('CONNECTIVITY_CHANGED', 'The connectivity of a target changed.', (t) => ({
  target: t.field({ type: Target, description: 'The target in its present state.', resolve: targetNow }),
  fromConnectivity: t.expose('from', { type: ConnectivityEnum, ...nullable('The previous connectivity.') }),
  toConnectivity: t.expose('to', { type: ConnectivityEnum, description: 'The new connectivity.' }),
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
    resolve: ({ state, actionInstanceId, instanceRevision, doneAt }) => ({
      state,
      instanceId: actionInstanceId,
      instanceRevision,
      at: doneAt,
    }),
  }),
}))

async function deploymentNow(change: ChangeRow, _: unknown, context: Read) {
  const reader = await context.reader()
  const key = change.deploymentKey ?? 0
  // A caller that no longer sees the deployment gets it as of the change.
  return required((await reader.deployment(key, null)) ?? (await reader.deployment(key, change.revision)), 'deployment')
}

async function targetNow(change: ChangeRow, _: unknown, { reader }: Read) {
  return required(await (await reader()).target(change.targetKey ?? 0, null), 'target')
}

function idOf(change: ChangeRow): string {
  return required(change.deploymentId, 'deployment')
}
