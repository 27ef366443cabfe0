import { manifestOwner } from '../domain/desired.ts'
import type { DeviceFilter } from '../store/targets.ts'
import { builder } from './builder.ts'
import { DeviceCapabilities } from './capabilities.ts'
import { type Connection, connect, implementConnection, mapPage, type PageArguments, pageArgs } from './connection.ts'
import type { Context } from './context.ts'
import { DeploymentCounts, loadCounts } from './counts.ts'
import { DeploymentConnection, deploymentListArgs, deploymentsOf } from './deployment-list.ts'
import { givenFields } from './input.ts'
import { Node } from './interfaces.ts'
import { Label, LabelInput } from './label.ts'
import type { TargetNode } from './loaders.ts'
import { ManifestVersionRef, versionOf } from './manifest.ts'
import { encodeNodeId } from './node.ts'
import { ConnectivityEnum, TargetKindEnum } from './vocabulary.ts'

export const Target = builder.interfaceRef<TargetNode>('Target').implement({
  access: 'viewer',
  description: 'What deployments run on. Its own facts are always the present ones.',
  resolveType: typeName,
  fields: (t) => ({
    id: t.id({
      description: 'Its node id.',
      resolve: (target) => encodeNodeId(typeName(target), target.key, target.asOf),
    }),
    kind: t.expose('kind', { type: TargetKindEnum, description: 'What it is.' }),
    name: t.string({
      description: 'What people call it; without a name of its own, its id.',
      resolve: (target) => target.displayName ?? target.name,
    }),
    labels: t.expose('labels', { type: [Label], description: 'What somebody said of it when it was registered.' }),
    connectivity: t.expose('connectivity', { type: ConnectivityEnum, description: 'Whether it can be reached.' }),
    lastHeardAt: t.expose('lastHeardAt', {
      type: 'DateTime',
      nullable: true,
      description: 'Our clock at its last sign of life; null when there was none.',
    }),
  }),
})

export const Device = builder.objectRef<TargetNode>('Device')

Device.implement({
  access: 'viewer',
  description: 'An edge device. It exists from its first report or its registration.',
  interfaces: [Node, Target],
  fields: (t) => ({
    deviceId: t.exposeString('name', { description: 'What reports call it.' }),
    registered: t.exposeBoolean('registered', { description: 'Whether somebody registered it; others only reported.' }),
    revokedAt: t.expose('revokedAt', {
      type: 'DateTime',
      nullable: true,
      description: 'Since when its reports are refused; null while they are taken.',
    }),
    expectedInterval: t.exposeInt('expectedInterval', {
      nullable: true,
      description: 'Seconds between two signs of life that its owner promised; null: silence proves nothing.',
    }),
    onboardedAt: t.field({
      type: 'DateTime',
      nullable: true,
      description: 'When it last introduced itself (onboarding); null: it never did.',
      resolve: async ({ key }, _, { reader }) => (await (await reader()).profile(key))?.onboardedAt ?? null,
    }),
    capabilities: t.field({
      type: DeviceCapabilities,
      nullable: true,
      description: 'What it said that it can run; null: nothing.',
      resolve: async ({ key }, _, { reader }) => (await (await reader()).profile(key))?.capabilities ?? null,
    }),
    manifestVersion: t.string({
      nullable: true,
      description:
        'The newest version of what it should run; 1: nothing was ever declared. Null: its gateway fetches what it should run.',
      resolve: async ({ key, name }, _, { reader }) =>
        manifestOwner(name) === name ? versionOf(await (await reader()).manifest(key)) : null,
    }),
    manifests: t.field({
      type: [ManifestVersionRef],
      description: 'The versions of what it should run, newest first: at most the last 100.',
      resolve: async ({ key }, _, context) => {
        const versions = await (await context.reader()).manifestVersions(key)
        context.spend(versions.reduce((sum, { changes }) => sum + 1 + changes.length, 0))
        return versions
      },
    }),
    repository: t.string({
      nullable: true,
      description:
        'Where Git finds what it should run: an address, or without PUBLIC_URL a path on this server. Behind a gateway, in the repository of that. Null: there is no Git here.',
      resolve: ({ name }, _, { repositoryOf }) => repositoryOf(name),
    }),
    parent: t.field({
      type: Device,
      nullable: true,
      description: 'The gateway it is behind.',
      resolve: async ({ parentKey, asOf }, _, context) =>
        parentKey === null ? null : ((await (await context.reader()).target(parentKey, asOf)) ?? null),
    }),
    children: t.field({
      type: DeviceConnection,
      description: 'The devices behind it, by name.',
      args: pageArgs(),
      resolve: (device, args, context) => devicesOf(context, device, {}, args),
    }),
    deployments: t.field({
      type: DeploymentConnection,
      description: 'What runs on it.',
      args: { ...deploymentListArgs(), ...pageArgs() },
      resolve: ({ key, asOf }, args, context) => deploymentsOf(context, { of: 'target', key }, args, asOf),
    }),
    deploymentCounts: t.field({
      type: DeploymentCounts,
      description: 'What runs on it, counted by state.',
      resolve: async ({ key, asOf }, _, context) => loadCounts(await context.reader(), { of: 'target', key }, {}, asOf),
    }),
  }),
})

const DeviceConnection = implementConnection('Device', () => Device, 'devices')

export const Cluster = builder.objectRef<TargetNode>('Cluster')

Cluster.implement({
  access: 'viewer',
  description: 'A Kubernetes cluster, or a cloud region.',
  interfaces: [Node, Target],
  fields: (t) => ({
    provider: t.string({
      nullable: true,
      description: 'Who provides it; null for a cloud region.',
      resolve: ({ provider }) => provider || null,
    }),
    deployments: t.field({
      type: DeploymentConnection,
      description: 'What runs on it.',
      args: { ...deploymentListArgs(), ...pageArgs() },
      resolve: ({ key, asOf }, args, context) => deploymentsOf(context, { of: 'target', key }, args, asOf),
    }),
  }),
})

const DeviceFilterRef = builder.inputType('DeviceFilter', {
  description: 'Which devices: any of the values within a field, all fields together. An empty list matches nothing.',
  fields: (t) => ({
    deviceIds: t.stringList({ description: 'Ids.' }),
    labels: t.field({ type: [LabelInput], description: 'Labels, one of which it has.' }),
    connectivity: t.field({ type: [ConnectivityEnum], description: 'Connectivity.' }),
    registered: t.boolean({ description: 'Whether it is registered.' }),
    text: t.string({ description: 'Part of its id or name, in any case.' }),
  }),
})

builder.queryFields((t) => ({
  device: t.field({
    access: 'viewer',
    type: Device,
    nullable: true,
    description: 'The device of this id; null when there is none.',
    args: { deviceId: t.arg.string({ required: true, description: 'What reports call it.' }) },
    resolve: (_, { deviceId }, context) => byName(context, 'DEVICE', '', deviceId),
  }),
  devices: t.field({
    access: 'viewer',
    type: DeviceConnection,
    description: 'All devices, by id.',
    args: { filter: t.arg({ type: DeviceFilterRef, description: 'Which of them.' }), ...pageArgs() },
    resolve: (_, args, context) => devicesOf(context, null, givenFields(args.filter ?? {}), args),
  }),
  cluster: t.field({
    access: 'viewer',
    type: Cluster,
    nullable: true,
    description: 'The cluster of this name; null when there is none. Without a provider: the cloud region.',
    args: {
      provider: t.arg.string({ description: 'Who provides it.' }),
      name: t.arg.string({ required: true, description: 'Its name, unique within its provider.' }),
    },
    resolve: (_, { provider, name }, context) =>
      provider ? byName(context, 'CLUSTER', provider, name) : byName(context, 'CLOUD_REGION', '', name),
  }),
}))

function devicesOf(
  context: Pick<Context, 'reader'>,
  parent: TargetNode | null,
  filter: DeviceFilter,
  args: PageArguments,
): Connection<TargetNode> {
  const asOf = parent?.asOf ?? null
  const key = parent?.key ?? null
  return connect(
    args,
    async (page) =>
      mapPage(await (await context.reader()).devices(key, filter, page), (target) => ({ ...target, asOf })),
    async () => (await context.reader()).deviceCount(key, filter),
  )
}

async function byName(
  context: Pick<Context, 'reader'>,
  kind: TargetNode['kind'],
  provider: string,
  name: string,
): Promise<TargetNode | null> {
  const target = await (await context.reader()).targetByName(kind, provider, name)
  return target && { ...target, asOf: null }
}

function typeName(target: TargetNode): 'Device' | 'Cluster' {
  return target.kind === 'DEVICE' ? 'Device' : 'Cluster'
}
