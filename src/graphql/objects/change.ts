/** The changes in the log. Own fields of a change describe the change; linked objects show the present. */
import type { ChangeKind, Change as ChangeRow } from '../../domain/change.ts'
import { builder } from '../builder.ts'
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

const deployment = 'The deployment in its present state, even if it is forgotten.'
const deploymentId = 'The deployment ID that the reporter assigned.'
const from = 'The previous state. Null for the first report, and for the first report after a move to another target.'
const to = 'The new state. Equal to `from` if only other fields changed.'

builder.objectRef<Of<'DEPLOYMENT_STATE_CHANGED'>>(typeNames.DEPLOYMENT_STATE_CHANGED).implement({
  access: 'viewer',
  description: 'The state, error, attempt or adopted manifest version of a deployment changed.',
  interfaces: [Change],
  fields: (t) => ({
    deployment: t.field({ type: Deployment, description: deployment, resolve: deploymentNow }),
    deploymentId: t.string({ description: deploymentId, resolve: idOf }),
    from: t.expose('from', { type: DeploymentStateEnum, nullable: true, description: from }),
    to: t.expose('to', { type: DeploymentStateEnum, description: to }),
    error: t.expose('error', { type: StatusError, nullable: true, description: 'The new error.' }),
    failureStage: t.field({
      type: FailureStageEnum,
      nullable: true,
      description: 'The stage in which it failed. Null: not failed, or unknown.',
      resolve: ({ failureStage }) => failureStage ?? null,
    }),
    attempt: t.exposeInt('attempt', { description: 'The number of the attempt, starting at 1.' }),
    adoptedManifestVersion: t.exposeString('adoptedManifestVersion', {
      nullable: true,
      description: 'The adopted manifest version, as a 64-bit decimal number.',
    }),
  }),
})

builder.objectRef<Of<'COMPONENT_STATE_CHANGED'>>(typeNames.COMPONENT_STATE_CHANGED).implement({
  access: 'viewer',
  description: 'The state or error of a component changed.',
  interfaces: [Change],
  fields: (t) => ({
    deployment: t.field({ type: Deployment, description: deployment, resolve: deploymentNow }),
    deploymentId: t.string({ description: deploymentId, resolve: idOf }),
    component: t.exposeString('component', { description: 'The name of the component.' }),
    from: t.expose('from', { type: DeploymentStateEnum, nullable: true, description: from }),
    to: t.expose('to', { type: DeploymentStateEnum, description: to }),
    error: t.expose('error', { type: StatusError, nullable: true, description: 'The new error.' }),
  }),
})

builder.objectRef<Of<'COMPONENT_REMOVED'>>(typeNames.COMPONENT_REMOVED).implement({
  access: 'viewer',
  description: 'A component was removed from its deployment.',
  interfaces: [Change],
  fields: (t) => ({
    deployment: t.field({ type: Deployment, description: deployment, resolve: deploymentNow }),
    deploymentId: t.string({ description: deploymentId, resolve: idOf }),
    component: t.exposeString('component', { description: 'The name of the component.' }),
    from: t.expose('from', {
      type: DeploymentStateEnum,
      nullable: true,
      description: 'The last state of the component.',
    }),
  }),
})

builder.objectRef<Of<'DEPLOYMENT_MOVED'>>(typeNames.DEPLOYMENT_MOVED).implement({
  access: 'viewer',
  description:
    'A deployment moved to another target. Reported state does not move with it: the first report on the new target starts again without a previous state.',
  interfaces: [Change],
  fields: (t) => ({
    deployment: t.field({ type: Deployment, description: deployment, resolve: deploymentNow }),
    fromTarget: t.field({
      type: Target,
      nullable: true,
      description: "The previous target. Null: outside the caller's access scope.",
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
})

builder.objectRef<Of<'DEPLOYMENT_REVISED'>>(typeNames.DEPLOYMENT_REVISED).implement({
  access: 'viewer',
  description: 'The application, application version or rollout of a deployment changed.',
  interfaces: [Change],
  fields: (t) => ({
    deployment: t.field({ type: Deployment, description: deployment, resolve: deploymentNow }),
    application: t.exposeString('application', { nullable: true, description: 'The new application.' }),
    applicationVersion: t.exposeString('applicationVersion', {
      nullable: true,
      description: 'The new application version.',
    }),
  }),
})

builder.objectRef<Of<'DEPLOYMENT_FORGOTTEN'>>(typeNames.DEPLOYMENT_FORGOTTEN).implement({
  access: 'viewer',
  description: 'A deployment was forgotten: it left all lists and counts. A new report restores it.',
  interfaces: [Change],
  fields: (t) => ({
    deployment: t.field({ type: Deployment, description: deployment, resolve: deploymentNow }),
  }),
})

builder.objectRef<Of<'DEPLOYMENT_STALLED'>>(typeNames.DEPLOYMENT_STALLED).implement({
  access: 'viewer',
  description: 'A deployment stalled, or made progress again.',
  interfaces: [Change],
  fields: (t) => ({
    deployment: t.field({ type: Deployment, description: deployment, resolve: deploymentNow }),
    stalled: t.exposeBoolean('stalled', { description: 'Whether the deployment is stalled now.' }),
  }),
})

builder.objectRef<Of<'CONVERGENCE_CHANGED'>>(typeNames.CONVERGENCE_CHANGED).implement({
  access: 'viewer',
  description: 'The convergence or the desired state of a deployment changed.',
  interfaces: [Change],
  fields: (t) => ({
    deployment: t.field({ type: Deployment, description: deployment, resolve: deploymentNow }),
    deploymentId: t.string({ description: deploymentId, resolve: idOf }),
    fromConvergence: t.expose('from', { type: ConvergenceEnum, description: 'The previous convergence.' }),
    toConvergence: t.expose('to', {
      type: ConvergenceEnum,
      description: 'The new convergence. Equal to `fromConvergence` if only the desired state changed.',
    }),
    targetManifestVersion: t.exposeString('targetManifestVersion', {
      nullable: true,
      description: "The version of the device's manifest that contains the new desired state. Null: none.",
    }),
    documentDigest: t.exposeString('documentDigest', {
      nullable: true,
      description: 'The digest of the desired document. Null: the deployment should be removed.',
    }),
  }),
})

builder.objectRef<Of<'CONNECTIVITY_CHANGED'>>(typeNames.CONNECTIVITY_CHANGED).implement({
  access: 'viewer',
  description: 'The connectivity of a target changed.',
  interfaces: [Change],
  fields: (t) => ({
    target: t.field({
      type: Target,
      description: 'The target in its present state.',
      resolve: (change, _, context) => targetNow(context, change.targetKey),
    }),
    fromConnectivity: t.expose('from', {
      type: ConnectivityEnum,
      nullable: true,
      description: 'The previous connectivity.',
    }),
    toConnectivity: t.expose('to', { type: ConnectivityEnum, description: 'The new connectivity.' }),
  }),
})

builder.objectRef<Of<'DEVICE_RETIRED'>>(typeNames.DEVICE_RETIRED).implement({
  access: 'viewer',
  description:
    'A device was retired, or its retirement was changed. A DeploymentForgotten change follows for each of its deployments.',
  interfaces: [Change],
  fields: (t) => ({
    device: t.field({
      type: Device,
      description: 'The device in its present state.',
      resolve: (change, _, context) => targetNow(context, change.targetKey),
    }),
    // Nullable like ResourceStatusChanged.reason: otherwise a document that selects both would be invalid.
    reason: t.exposeString('reason', { nullable: true, description: 'The reason that the operator gave.' }),
    replacedBy: t.field({
      type: Device,
      nullable: true,
      description: "The replacement device. Null: none, or outside the caller's access scope.",
      resolve: async ({ replacedByKey }, _, context) =>
        replacedByKey === null ? null : ((await (await context.reader()).target(replacedByKey, null)) ?? null),
    }),
  }),
})

builder.objectRef<Of<'DEVICE_REINSTATED'>>(typeNames.DEVICE_REINSTATED).implement({
  access: 'viewer',
  description: 'A retired device was registered again. Its deployments return when they are reported or declared.',
  interfaces: [Change],
  fields: (t) => ({
    device: t.field({
      type: Device,
      description: 'The device in its present state.',
      resolve: (change, _, context) => targetNow(context, change.targetKey),
    }),
  }),
})

builder.objectRef<Of<'RESOURCE_STATUS_CHANGED'>>(typeNames.RESOURCE_STATUS_CHANGED).implement({
  access: 'viewer',
  description: 'The sync status, presence or readiness of a resource changed.',
  interfaces: [Change],
  fields: (t) => ({
    resource: t.field({
      type: Resource,
      description: 'The resource in its present state, even if it no longer exists.',
      resolve: async (change, _, { reader }) =>
        required(await (await reader()).resource(change.resourceKey ?? 0, null), 'resource'),
    }),
    component: t.exposeString('component', { description: 'The name of the component that it belongs to.' }),
    fromSync: t.expose('fromSync', { type: SyncStatusEnum, nullable: true, description: 'The previous sync status.' }),
    toSync: t.expose('toSync', { type: SyncStatusEnum, nullable: true, description: 'The new sync status.' }),
    fromPresence: t.expose('fromPresence', {
      type: PresenceEnum,
      nullable: true,
      description: 'The previous presence. Null: it is new.',
    }),
    toPresence: t.expose('toPresence', { type: PresenceEnum, nullable: true, description: 'The new presence.' }),
    fromReadiness: t.expose('fromReadiness', {
      type: ReadinessEnum,
      nullable: true,
      description: 'The previous readiness. Null: it is new.',
    }),
    toReadiness: t.expose('toReadiness', { type: ReadinessEnum, nullable: true, description: 'The new readiness.' }),
    reason: t.exposeString('reason', { nullable: true, description: 'The reason for the new readiness, as one word.' }),
  }),
})

builder.objectRef<Of<'INSTANCE_STATUS_CHANGED'>>(typeNames.INSTANCE_STATUS_CHANGED).implement({
  access: 'viewer',
  description: 'The status of a rollout instance changed.',
  interfaces: [Change],
  fields: (t) => ({
    instance: t.field({
      type: RolloutInstance,
      description: 'The instance in its present state.',
      resolve: async (change, _, { reader }) =>
        required(await (await reader()).instance(change.instanceKey ?? 0, null), 'instance'),
    }),
    fromStatus: t.expose('fromStatus', {
      type: InstanceStatusEnum,
      nullable: true,
      description: 'The previous status. Null: the instance is new.',
    }),
    toStatus: t.expose('toStatus', { type: InstanceStatusEnum, description: 'The new status.' }),
  }),
})

builder.objectRef<Of<'LIFECYCLE_ACTION_RECORDED'>>(typeNames.LIFECYCLE_ACTION_RECORDED).implement({
  access: 'viewer',
  description: 'A lifecycle action on a rollout was recorded.',
  interfaces: [Change],
  fields: (t) => ({
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
  }),
})

async function deploymentNow(change: ChangeRow, _: unknown, context: Read) {
  const reader = await context.reader()
  const key = change.deploymentKey ?? 0
  // A caller that no longer sees the deployment gets it as of the change.
  return required((await reader.deployment(key, null)) ?? (await reader.deployment(key, change.revision)), 'deployment')
}

async function targetNow(context: Read, key: number | null) {
  return required(await (await context.reader()).target(key ?? 0, null), 'target')
}

function idOf(change: ChangeRow): string {
  return required(change.deploymentId, 'deployment')
}
