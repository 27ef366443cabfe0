import type { InputShapeFromFields } from '@pothos/core'
import { manifestOwner } from '../../../../domain/desired.ts'
import { ownSite } from '../../../../domain/target.ts'
import type { Millis, Revision } from '../../../../domain/values.ts'
import { builder } from '../../builder.ts'
import type { Context } from '../../execution/context.ts'
import type { TargetNode } from '../../execution/loaders/targets.ts'
import { type Connection, connect, implementConnection, mapPage, pageArgs } from '../connection.ts'
import { DeploymentCounts, loadCounts } from '../counts.ts'
import { DeploymentConnection, deploymentListArgs, deploymentsOf } from '../deployments/deployment-list.ts'
import { Node, targetTypes } from '../interfaces.ts'
import { Label } from '../label.ts'
import { encodeNodeId } from '../node.ts'
import { type PastArguments, pastArgs, pastOf } from '../past.ts'
import { Cluster, Device, Site, Target } from '../refs.ts'
import { DeviceFilterRef, toDeviceFilter } from '../selectors/filters.ts'
import { ConnectivityEnum, TargetKindEnum } from '../vocabulary.ts'
import { DeviceCapabilities } from './capabilities.ts'
import { DeviceDeviationRef } from './deviation.ts'
import { ManifestVersionConnection, manifestsOf, versionOf } from './manifest.ts'
import { targetOrderArgs, toTargetOrder } from './target-order.ts'

Target.implement({
  access: 'viewer',
  description:
    'A device or cluster that deployments run on. In the past, its connectivity and retirement have their values at that time. Its names, labels, registration and capabilities have no history: they have their present values.',
  resolveType: typeName,
  fields: (t) => ({
    id: t.id({
      description: 'The node ID.',
      resolve: (target) => encodeNodeId(typeName(target), target.key, target.asOf),
    }),
    kind: t.expose('kind', { type: TargetKindEnum, description: 'The kind of target.' }),
    name: t.string({
      description: 'The display name, or the ID if it has none.',
      resolve: (target) => target.displayName ?? target.name,
    }),
    labels: t.field({
      type: [Label],
      description: 'Labels from the registration, plus labels that the device reported itself under other keys.',
      resolve: async ({ key, kind, labels }, _, { reader }) => {
        const own = kind === 'DEVICE' ? ((await (await reader()).profile(key))?.labels ?? []) : []
        const unsaid = own.filter((label) => !labels.some((said) => said.key === label.key))
        return [...labels, ...unsaid.map((label) => ({ ...label, isOwn: true }))]
      },
    }),
    connectivity: t.expose('connectivity', { type: ConnectivityEnum, description: 'Whether it can be reached.' }),
    site: t.field({
      type: Site,
      nullable: true,
      description: 'The site that it belongs to, whose server reports it. Null: it reports to this server.',
      resolve: async ({ siteKey, asOf }, _, { reader }) =>
        siteKey === ownSite ? null : ((await (await reader()).target(siteKey, asOf)) ?? null),
    }),
    lastHeardAt: t.expose('lastHeardAt', {
      type: 'DateTime',
      nullable: true,
      description: 'The last contact (server time). Null: none. Null in the past: contacts make no revisions.',
    }),
    deployments: t.field({
      type: DeploymentConnection,
      description: 'The deployments on it.',
      args: { ...deploymentListArgs(), ...pageArgs() },
      resolve: ({ key, asOf }, args, context) => deploymentsOf(context, { of: 'target', key }, args, asOf),
    }),
    deploymentCounts: t.field({
      type: DeploymentCounts,
      description: 'The deployments on it, counted by state.',
      resolve: async ({ key, asOf }, _, context) => loadCounts(await context.reader(), { of: 'target', key }, {}, asOf),
    }),
  }),
})

interface RetirementRow {
  readonly at: Millis
  readonly reason: string
  readonly replacedByKey: number | null
  readonly asOf: Revision | null
}

const DeviceRetirement = builder.objectRef<RetirementRow>('DeviceRetirement').implement({
  access: 'viewer',
  description: 'The retirement of a device by `retireDevices`.',
  fields: (t) => ({
    at: t.expose('at', {
      type: 'DateTime',
      description: 'When the device was retired. Reports after this time are refused.',
    }),
    reason: t.exposeString('reason', { description: 'The reason that the operator gave.' }),
    replacedBy: t.field({
      type: Device,
      nullable: true,
      description: "The replacement device. Null: none, or outside the caller's access scope.",
      resolve: async ({ replacedByKey, asOf }, _, context) =>
        replacedByKey === null ? null : ((await (await context.reader()).target(replacedByKey, asOf)) ?? null),
    }),
  }),
})

Device.implement({
  access: 'viewer',
  description: 'An edge device. It exists from its registration or its first report.',
  interfaces: [Node, Target],
  fields: (t) => ({
    deviceId: t.exposeString('name', { description: 'The device ID that reports use.' }),
    registered: t.exposeBoolean('registered', {
      description: 'Whether the device is registered. A device that only reports is not.',
    }),
    revokedAt: t.expose('revokedAt', {
      type: 'DateTime',
      nullable: true,
      description: 'When the device was revoked. Since then its reports are refused. Null: not revoked.',
    }),
    retirement: t.field({
      type: DeviceRetirement,
      nullable: true,
      description: 'When and why the device was retired. Null: it is in service.',
      resolve: ({ retiredAt: at, retiredReason: reason, replacedByKey, asOf }) =>
        at === null ? null : { at, reason: reason ?? '', replacedByKey, asOf },
    }),
    expectedInterval: t.exposeInt('expectedInterval', {
      nullable: true,
      description:
        'Seconds. The device becomes OFFLINE if it sends nothing for longer. Null: silence does not change its connectivity.',
    }),
    onboardedAt: t.field({
      type: 'DateTime',
      nullable: true,
      description: 'When the device last completed onboarding. Null: never.',
      resolve: async ({ key }, _, { reader }) => (await (await reader()).profile(key))?.onboardedAt ?? null,
    }),
    capabilities: t.field({
      type: DeviceCapabilities,
      nullable: true,
      description: 'The capabilities that the device reported last. Null: none.',
      resolve: async ({ key }, _, { reader }) => (await (await reader()).profile(key))?.capabilities ?? null,
    }),
    deviations: t.field({
      type: [DeviceDeviationRef],
      description:
        'How its reports deviate from the Margo specification, and whether its ID looks like another, latest first. Always the present values. Changes use no revision.',
      resolve: async ({ key }, _, { reader }) => (await (await reader()).deviations(key)) ?? [],
    }),
    manifestVersion: t.string({
      nullable: true,
      description:
        'The newest version of its manifest, as a 64-bit decimal number. 1: nothing was ever declared. Null: its gateway fetches the manifest.',
      resolve: async ({ key, name }, _, { reader }) =>
        manifestOwner(name) === name ? versionOf(await (await reader()).manifest(key)) : null,
    }),
    manifestHistory: t.field({
      type: ManifestVersionConnection,
      description: 'The versions of its manifest, newest first. The first, empty version is not listed.',
      args: pageArgs(),
      resolve: ({ key }, args, context) => manifestsOf(context, key, args),
    }),
    repository: t.string({
      nullable: true,
      description:
        "The Git repository with its desired state: a URL, or a path on this server if `PUBLIC_URL` is not set. A device behind a gateway uses the gateway's repository. Null: Git is disabled.",
      resolve: ({ name }, _, { repositoryOf }) => repositoryOf(name),
    }),
    parent: t.field({
      type: Device,
      nullable: true,
      description: 'The gateway that it is behind. Null: none.',
      resolve: async ({ parentKey, asOf }, _, context) =>
        parentKey === null ? null : ((await (await context.reader()).target(parentKey, asOf)) ?? null),
    }),
    children: t.field({
      type: DeviceConnection,
      description: 'The devices behind it, by ID if no other order is given.',
      args: deviceListArgs(),
      resolve: (device, args, context) => devicesOf(context, device.key, args, device.asOf),
    }),
  }),
})

function deviceListArgs() {
  return {
    ...builder.args((t) => ({ filter: t.field({ type: DeviceFilterRef, description: 'Selects devices.' }) })),
    ...targetOrderArgs(),
    ...pageArgs(),
  }
}

const DeviceConnection = implementConnection('Device', () => Device, 'devices')

Cluster.implement({
  access: 'viewer',
  description: 'A Kubernetes cluster or a cloud region.',
  interfaces: [Node, Target],
  fields: (t) => ({
    provider: t.string({
      nullable: true,
      description: 'The provider. Null for a cloud region.',
      resolve: ({ provider }) => provider || null,
    }),
  }),
})

builder.queryFields((t) => ({
  device: t.field({
    access: 'viewer',
    type: Device,
    nullable: true,
    description: 'The device with this ID. Null if there is none.',
    args: {
      deviceId: t.arg.string({ required: true, description: 'The device ID that reports use.' }),
      ...pastArgs(),
    },
    resolve: (_, args, context) => byName(context, 'DEVICE', '', args.deviceId, args),
  }),
  devices: t.field({
    access: 'viewer',
    type: DeviceConnection,
    description:
      'Devices in service, by ID if no other order is given. The filter `{ retired: true }` lists retired devices instead.',
    args: { ...deviceListArgs(), ...pastArgs() },
    resolve: async (_, args, context) => devicesOf(context, null, args, await pastOf(context, args)),
  }),
  cluster: t.field({
    access: 'viewer',
    type: Cluster,
    nullable: true,
    description: 'The cluster with this name, or, without `provider`, the cloud region. Null if there is none.',
    args: {
      provider: t.arg.string({ description: 'The provider. Absent for a cloud region.' }),
      name: t.arg.string({ required: true, description: 'The name, unique within the provider.' }),
      ...pastArgs(),
    },
    resolve: (_, { provider, name, ...past }, context) =>
      provider ? byName(context, 'CLUSTER', provider, name, past) : byName(context, 'CLOUD_REGION', '', name, past),
  }),
}))

function devicesOf(
  context: Pick<Context, 'reader'>,
  key: number | null,
  args: InputShapeFromFields<ReturnType<typeof deviceListArgs>>,
  asOf: Revision | null,
): Connection<TargetNode> {
  const filter = toDeviceFilter(args.filter)
  const order = toTargetOrder(args.orderBy)
  return connect(
    args,
    async (page) =>
      mapPage(await (await context.reader()).devices(key, filter, page, order, asOf), (target) => ({
        ...target,
        asOf,
      })),
    async () => (await context.reader()).deviceCount(key, filter, asOf),
  )
}

async function byName(
  context: Pick<Context, 'reader'>,
  kind: TargetNode['kind'],
  provider: string,
  name: string,
  past: PastArguments,
): Promise<TargetNode | null> {
  const asOf = await pastOf(context, past)
  const target = await (await context.reader()).targetByName(kind, provider, name, asOf)
  return target && { ...target, asOf }
}

function typeName({ kind }: TargetNode): (typeof targetTypes)[TargetNode['kind']] {
  return targetTypes[kind]
}
