/** The log's changes. A change's own fields say what changed; the objects it links to are the present ones. */
import type { ChangeKind, Change as ChangeRow } from '../domain/change.ts'
import { builder } from './builder.ts'
import type { Context } from './context.ts'
import { Deployment } from './deployment.ts'
import { required } from './required.ts'
import { Resource } from './resource.ts'
import { Rollout } from './rollout.ts'
import { LifecycleAction, RolloutInstance } from './rollout-instance.ts'
import { StatusError } from './status-error.ts'
import { Target } from './target.ts'
import {
  ChangeKindEnum,
  ConnectivityEnum,
  ConvergenceEnum,
  DeploymentStateEnum,
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
  RESOURCE_STATUS_CHANGED: 'ResourceStatusChanged',
  INSTANCE_STATUS_CHANGED: 'InstanceStatusChanged',
  LIFECYCLE_ACTION_RECORDED: 'LifecycleActionRecorded',
} as const satisfies Record<ChangeKind, string>

export const Change = builder.interfaceRef<ChangeRow>('Change').implement({
  access: 'viewer',
  description: 'One change of the log: exactly one revision.',
  resolveType: (change) => typeNames[change.kind],
  fields: (t) => ({
    revision: t.expose('revision', {
      type: 'Revision',
      description: 'Its number: gap-free, and in the order of commits.',
    }),
    at: t.expose('at', { type: 'DateTime', description: 'Our clock; never earlier than that of the change before.' }),
    observedAt: t.expose('observedAt', {
      type: 'DateTime',
      nullable: true,
      description: "The reporter's clock; null when it told none, or nobody reported this.",
    }),
    kind: t.expose('kind', { type: ChangeKindEnum, description: "Its type's name in UPPER_SNAKE." }),
  }),
})

/** Whether there are changes of that kind at all. */
export function isWritten(kind: string): kind is ChangeKind {
  return kind in typeNames
}

const deployment = 'The deployment as it is now, also when it was forgotten.'
const deploymentId = 'What its reporter calls it.'
const from = 'The state before; null for a first report.'
const to = 'The state now. The same as `from`: only something else changed.'

builder.objectRef<Of<'DEPLOYMENT_STATE_CHANGED'>>(typeNames.DEPLOYMENT_STATE_CHANGED).implement({
  access: 'viewer',
  description: 'A deployment has another state, error, attempt or manifest version.',
  interfaces: [Change],
  fields: (t) => ({
    deployment: t.field({ type: Deployment, description: deployment, resolve: deploymentNow }),
    deploymentId: t.string({ description: deploymentId, resolve: idOf }),
    from: t.expose('from', { type: DeploymentStateEnum, nullable: true, description: from }),
    to: t.expose('to', { type: DeploymentStateEnum, description: to }),
    error: t.expose('error', { type: StatusError, nullable: true, description: 'The error now.' }),
    attempt: t.exposeInt('attempt', { description: 'The attempt now.' }),
    adoptedManifestVersion: t.exposeString('adoptedManifestVersion', {
      nullable: true,
      description: 'The manifest version now.',
    }),
  }),
})

builder.objectRef<Of<'COMPONENT_STATE_CHANGED'>>(typeNames.COMPONENT_STATE_CHANGED).implement({
  access: 'viewer',
  description: 'A component has another state or error.',
  interfaces: [Change],
  fields: (t) => ({
    deployment: t.field({ type: Deployment, description: deployment, resolve: deploymentNow }),
    deploymentId: t.string({ description: deploymentId, resolve: idOf }),
    component: t.exposeString('component', { description: "The component's name." }),
    from: t.expose('from', { type: DeploymentStateEnum, nullable: true, description: from }),
    to: t.expose('to', { type: DeploymentStateEnum, description: to }),
    error: t.expose('error', { type: StatusError, nullable: true, description: 'The error now.' }),
  }),
})

builder.objectRef<Of<'COMPONENT_REMOVED'>>(typeNames.COMPONENT_REMOVED).implement({
  access: 'viewer',
  description: 'A component is no longer part of its deployment.',
  interfaces: [Change],
  fields: (t) => ({
    deployment: t.field({ type: Deployment, description: deployment, resolve: deploymentNow }),
    deploymentId: t.string({ description: deploymentId, resolve: idOf }),
    component: t.exposeString('component', { description: "The component's name." }),
    from: t.expose('from', { type: DeploymentStateEnum, nullable: true, description: 'The state it was last in.' }),
  }),
})

builder.objectRef<Of<'DEPLOYMENT_MOVED'>>(typeNames.DEPLOYMENT_MOVED).implement({
  access: 'viewer',
  description: 'A deployment runs on another target.',
  interfaces: [Change],
  fields: (t) => ({
    deployment: t.field({ type: Deployment, description: deployment, resolve: deploymentNow }),
    fromTarget: t.field({
      type: Target,
      nullable: true,
      description: 'What it ran on.',
      resolve: async (change, _, context) =>
        (await (await context.reader()).target(change.fromTargetKey, null)) ?? null,
    }),
    toTarget: t.field({
      type: Target,
      description: 'What it runs on.',
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
  description: 'A deployment has another application, version or rollout.',
  interfaces: [Change],
  fields: (t) => ({
    deployment: t.field({ type: Deployment, description: deployment, resolve: deploymentNow }),
    application: t.exposeString('application', { nullable: true, description: 'The application now.' }),
    applicationVersion: t.exposeString('applicationVersion', { nullable: true, description: 'Its version now.' }),
  }),
})

builder.objectRef<Of<'DEPLOYMENT_FORGOTTEN'>>(typeNames.DEPLOYMENT_FORGOTTEN).implement({
  access: 'viewer',
  description: 'A deployment left all lists and counts. A new report brings it back.',
  interfaces: [Change],
  fields: (t) => ({
    deployment: t.field({ type: Deployment, description: deployment, resolve: deploymentNow }),
  }),
})

builder.objectRef<Of<'DEPLOYMENT_STALLED'>>(typeNames.DEPLOYMENT_STALLED).implement({
  access: 'viewer',
  description: 'A deployment has been under way for too long, or goes on again.',
  interfaces: [Change],
  fields: (t) => ({
    deployment: t.field({ type: Deployment, description: deployment, resolve: deploymentNow }),
    stalled: t.exposeBoolean('stalled', { description: 'Whether it stalls now.' }),
  }),
})

builder.objectRef<Of<'CONVERGENCE_CHANGED'>>(typeNames.CONVERGENCE_CHANGED).implement({
  access: 'viewer',
  description: 'A deployment came closer to what its device should run, or that has changed.',
  interfaces: [Change],
  fields: (t) => ({
    deployment: t.field({ type: Deployment, description: deployment, resolve: deploymentNow }),
    deploymentId: t.string({ description: deploymentId, resolve: idOf }),
    fromConvergence: t.expose('from', { type: ConvergenceEnum, description: 'Before.' }),
    toConvergence: t.expose('to', {
      type: ConvergenceEnum,
      description: 'Now. The same as before: only what it should run changed.',
    }),
    targetManifestVersion: t.exposeString('targetManifestVersion', {
      nullable: true,
      description: "The version of its device's manifest that says what it should run now.",
    }),
    documentDigest: t.exposeString('documentDigest', {
      nullable: true,
      description: 'Of the document it should run now; null: it should be removed.',
    }),
  }),
})

builder.objectRef<Of<'CONNECTIVITY_CHANGED'>>(typeNames.CONNECTIVITY_CHANGED).implement({
  access: 'viewer',
  description: 'A target came into or went out of reach.',
  interfaces: [Change],
  fields: (t) => ({
    target: t.field({
      type: Target,
      description: 'Which one.',
      resolve: (change, _, context) => targetNow(context, change.targetKey),
    }),
    fromConnectivity: t.expose('from', { type: ConnectivityEnum, nullable: true, description: 'Before.' }),
    toConnectivity: t.expose('to', { type: ConnectivityEnum, description: 'Now.' }),
  }),
})

builder.objectRef<Of<'RESOURCE_STATUS_CHANGED'>>(typeNames.RESOURCE_STATUS_CHANGED).implement({
  access: 'viewer',
  description: 'A resource has another sync status, presence or readiness.',
  interfaces: [Change],
  fields: (t) => ({
    resource: t.field({
      type: Resource,
      description: 'The resource as it is now, also when it is gone.',
      resolve: async (change, _, { reader }) =>
        required(await (await reader()).resource(change.resourceKey ?? 0, null), 'resource'),
    }),
    component: t.exposeString('component', { description: 'The component it is part of.' }),
    fromSync: t.expose('fromSync', { type: SyncStatusEnum, nullable: true, description: 'The sync status before.' }),
    toSync: t.expose('toSync', { type: SyncStatusEnum, nullable: true, description: 'The sync status now.' }),
    fromPresence: t.expose('fromPresence', {
      type: PresenceEnum,
      nullable: true,
      description: 'The presence before; null: it is new.',
    }),
    toPresence: t.expose('toPresence', { type: PresenceEnum, nullable: true, description: 'The presence now.' }),
    fromReadiness: t.expose('fromReadiness', {
      type: ReadinessEnum,
      nullable: true,
      description: 'The readiness before; null: it is new.',
    }),
    toReadiness: t.expose('toReadiness', { type: ReadinessEnum, nullable: true, description: 'The readiness now.' }),
    reason: t.exposeString('reason', { nullable: true, description: 'The reason of its readiness now.' }),
  }),
})

builder.objectRef<Of<'INSTANCE_STATUS_CHANGED'>>(typeNames.INSTANCE_STATUS_CHANGED).implement({
  access: 'viewer',
  description: 'A run of a rollout has another status.',
  interfaces: [Change],
  fields: (t) => ({
    instance: t.field({
      type: RolloutInstance,
      description: 'The run as it is now.',
      resolve: async (change, _, { reader }) =>
        required(await (await reader()).instance(change.instanceKey ?? 0, null), 'instance'),
    }),
    fromStatus: t.expose('fromStatus', {
      type: InstanceStatusEnum,
      nullable: true,
      description: 'Before; null: it is new.',
    }),
    toStatus: t.expose('toStatus', { type: InstanceStatusEnum, description: 'Now.' }),
  }),
})

builder.objectRef<Of<'LIFECYCLE_ACTION_RECORDED'>>(typeNames.LIFECYCLE_ACTION_RECORDED).implement({
  access: 'viewer',
  description: 'A user did something with a rollout.',
  interfaces: [Change],
  fields: (t) => ({
    rollout: t.field({
      type: Rollout,
      description: 'The rollout as it is now.',
      resolve: async (change, _, { reader }) =>
        required(await (await reader()).rollout(change.rolloutKey ?? 0, null), 'rollout'),
    }),
    action: t.field({
      type: LifecycleAction,
      description: 'What was done.',
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
  // Who does not see it any more sees it as it was then.
  return required((await reader.deployment(key, null)) ?? (await reader.deployment(key, change.revision)), 'deployment')
}

async function targetNow(context: Read, key: number | null) {
  return required(await (await context.reader()).target(key ?? 0, null), 'target')
}

function idOf(change: ChangeRow): string {
  return required(change.deploymentId, 'deployment')
}
