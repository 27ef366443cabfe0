/** The log's changes. A change's own fields say what changed; the objects it links to are the present ones. */
import type { ChangeFilter, ChangeKind, Change as ChangeRow } from '../domain/change.ts'
import type { Revision } from '../domain/deployment.ts'
import { builder } from './builder.ts'
import { type Connection, connect, implementConnection, type PageArguments, revisionPageArgs } from './connection.ts'
import type { Context } from './context.ts'
import { Deployment } from './deployment.ts'
import { givenFields } from './input.ts'
import { LabelInput } from './label.ts'
import type { ChangeParent } from './loaders.ts'
import { keysOf } from './node.ts'
import { required } from './required.ts'
import { StatusError } from './status-error.ts'
import { Target } from './target.ts'
import { ChangeKindEnum, ConnectivityEnum, DeploymentStateEnum } from './vocabulary.ts'

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
  CONNECTIVITY_CHANGED: 'ConnectivityChanged',
} as const satisfies Record<ChangeKind, string>

export const Change = builder.interfaceRef<ChangeRow>('Change').implement({
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

const deployment = 'The deployment as it is now, also when it was forgotten.'
const deploymentId = 'What its reporter calls it.'
const from = 'The state before; null for a first report.'
const to = 'The state now. The same as `from`: only something else changed.'

builder.objectRef<Of<'DEPLOYMENT_STATE_CHANGED'>>(typeNames.DEPLOYMENT_STATE_CHANGED).implement({
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
      resolve: (change, _, context) => targetNow(context, change.toTargetKey),
    }),
  }),
})

builder.objectRef<Of<'DEPLOYMENT_REVISED'>>(typeNames.DEPLOYMENT_REVISED).implement({
  description: 'A deployment has another application, version or rollout.',
  interfaces: [Change],
  fields: (t) => ({
    deployment: t.field({ type: Deployment, description: deployment, resolve: deploymentNow }),
    application: t.exposeString('application', { nullable: true, description: 'The application now.' }),
    applicationVersion: t.exposeString('applicationVersion', { nullable: true, description: 'Its version now.' }),
  }),
})

builder.objectRef<Of<'DEPLOYMENT_FORGOTTEN'>>(typeNames.DEPLOYMENT_FORGOTTEN).implement({
  description: 'A deployment left all lists and counts. A new report brings it back.',
  interfaces: [Change],
  fields: (t) => ({
    deployment: t.field({ type: Deployment, description: deployment, resolve: deploymentNow }),
  }),
})

builder.objectRef<Of<'DEPLOYMENT_STALLED'>>(typeNames.DEPLOYMENT_STALLED).implement({
  description: 'A deployment has been under way for too long, or goes on again.',
  interfaces: [Change],
  fields: (t) => ({
    deployment: t.field({ type: Deployment, description: deployment, resolve: deploymentNow }),
    stalled: t.exposeBoolean('stalled', { description: 'Whether it stalls now.' }),
  }),
})

builder.objectRef<Of<'CONNECTIVITY_CHANGED'>>(typeNames.CONNECTIVITY_CHANGED).implement({
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

export const ChangeConnection = implementConnection('Change', Change, 'changes, ascending by revision')

export const ChangeFilterRef = builder.inputType('ChangeFilter', {
  description: 'Which changes: any of the values within a field, all fields together. An empty list matches nothing.',
  fields: (t) => ({
    kinds: t.field({ type: [ChangeKindEnum], description: 'What they are about.' }),
    deploymentIds: t.stringList({ description: 'Ids that their reporters gave the deployments.' }),
    deviceIds: t.stringList({ description: 'Devices they happened on; of a move both.' }),
    rolloutIds: t.idList({ description: "Node ids of the deployments' rollouts." }),
    instanceIds: t.stringList({ description: "Ids of rollouts' instances." }),
    components: t.stringList({ description: 'Names of components.' }),
    to: t.field({ type: [DeploymentStateEnum], description: 'States that a deployment or component came to.' }),
    labels: t.field({ type: [LabelInput], description: 'Labels, one of which the target has.' }),
  }),
})

export function toChangeFilter(input: typeof ChangeFilterRef.$inferInput | null | undefined): ChangeFilter {
  const { rolloutIds, kinds, ...rest } = input ?? {}
  // Kinds that no change has yet match nothing.
  const known = kinds?.filter((kind): kind is ChangeKind => kind in typeNames)
  return givenFields({ ...rest, kinds: known, rolloutKeys: keysOf('Rollout', rolloutIds) })
}

/** `until`: nothing later than this revision. */
export function changesOf(
  context: Read,
  parent: ChangeParent,
  filter: ChangeFilter,
  args: PageArguments,
  until: Revision | null,
): Connection<ChangeRow> {
  return connect(
    args,
    async (page) => (await context.reader()).changes(parent, filter, page, until),
    async () => (await context.reader()).changeCount(parent, filter, until),
  )
}

builder.queryField('changes', (t) =>
  t.field({
    type: ChangeConnection,
    description: 'The log of the whole fleet. Without `after` it begins with the oldest change that is retained.',
    args: { filter: t.arg({ type: ChangeFilterRef, description: 'Which of them.' }), ...revisionPageArgs() },
    resolve: (_, args, context) => changesOf(context, { of: 'fleet' }, toChangeFilter(args.filter), args, null),
  }),
)

async function deploymentNow(change: ChangeRow, _: unknown, context: Read) {
  return required(await (await context.reader()).deployment(change.deploymentKey ?? 0, null), 'deployment')
}

async function targetNow(context: Read, key: number | null) {
  return required(await (await context.reader()).target(key ?? 0, null), 'target')
}

function idOf(change: ChangeRow): string {
  return required(change.deploymentId, 'deployment')
}
