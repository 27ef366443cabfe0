/** Kubernetes objects: as the orchestrator applied them and as the cluster reports them. */
import { DomainError } from '../../../../domain/errors.ts'
import type { ResourceCounts as CountsRow } from '../../../../domain/orchestration/resource.ts'
import type { Revision } from '../../../../domain/values.ts'
import type { ResourceFilter } from '../../../../store/read/filters/resource-filter.ts'
import type { ResourceRow } from '../../../../store/read/orchestration/resources.ts'
import { builder, type SchemaTypes } from '../../builder.ts'
import type { Context } from '../../execution/context.ts'
import type { ResourceParent } from '../../execution/loaders/parents.ts'
import type { Reader } from '../../execution/loaders/reader.ts'
import { required } from '../../execution/required.ts'
import { ChangeConnection, changesOf } from '../changes/change-list.ts'
import {
  type Connection,
  connect,
  implementConnection,
  type PageArguments,
  pageArgs,
  revisionPageArgs,
} from '../connection.ts'
import { Node } from '../interfaces.ts'
import { pastArgs, pastOf } from '../past.ts'
import { Deployment, Resource, Rollout, RolloutInstance, Target } from '../refs.ts'
import { type ResourceFilterInput, ResourceFilterRef, toResourceFilter } from '../selectors/filters.ts'
import { PresenceEnum, ReadinessEnum, SyncStatusEnum } from '../vocabulary.ts'
import { type ResourceOrderInput, ResourceOrderRef, toResourceOrder } from './resource-order.ts'

Resource.implement({
  access: 'viewer',
  description: 'A Kubernetes object of a component on a target.',
  interfaces: [Node],
  fields: (t) => ({
    group: t.exposeString('group', { description: 'The API group. Empty for the core group.' }),
    version: t.exposeString('version', { description: 'The API version.' }),
    kind: t.exposeString('kind', { description: 'The kind, such as Deployment.' }),
    name: t.exposeString('name', { description: 'The name.' }),
    namespace: t.exposeString('namespace', {
      nullable: true,
      description: 'The namespace. Null: cluster-scoped, or not reported yet.',
    }),
    component: t.exposeString('component', { description: 'The name of the component that it belongs to.' }),
    target: t.field({
      type: Target,
      description: 'The cluster that it belongs to.',
      resolve: async ({ targetKey, asOf }, _, { reader }) =>
        required(await (await reader()).target(targetKey, asOf), 'target'),
    }),
    deployment: t.field({
      type: Deployment,
      description: 'The deployment that it belongs to.',
      resolve: async ({ deploymentKey, asOf }, _, { reader }) =>
        required(await (await reader()).deploymentOfResource(deploymentKey, asOf), 'deployment'),
    }),
    rollout: t.field({
      type: Rollout,
      description: 'The rollout that it belongs to.',
      resolve: async ({ instanceKey, asOf }, _, { reader }) => {
        const open = await reader()
        // An upgrade moves the instance to another rollout.
        const { rolloutKey } = required(await open.instance(instanceKey, asOf), 'instance')
        return required(await open.rollout(rolloutKey, asOf), 'rollout')
      },
    }),
    instance: t.field({
      type: RolloutInstance,
      nullable: true,
      description: 'The rollout instance that it belongs to.',
      resolve: async ({ instanceKey, asOf }, _, { reader }) =>
        (await (await reader()).instance(instanceKey, asOf)) ?? null,
    }),
    history: t.field({
      type: ChangeConnection,
      description: 'All its retained changes, oldest first.',
      args: revisionPageArgs(),
      resolve: ({ key, asOf }, args, context) => changesOf(context, { of: 'resource', key }, {}, args, asOf),
    }),
    sync: t.expose('sync', {
      type: SyncStatusEnum,
      nullable: true,
      description: 'What the orchestrator did with it. Null: only the cluster reports the object.',
    }),
    presence: t.expose('presence', { type: PresenceEnum, description: 'Whether the object exists in the cluster.' }),
    readiness: t.expose('readiness', { type: ReadinessEnum, description: 'Whether the object works.' }),
    reason: t.exposeString('reason', {
      nullable: true,
      description: 'The reason why it is not ready, as one word. Null: none.',
    }),
    message: t.exposeString('message', {
      nullable: true,
      description: 'The reason why it is not ready, as text. Null: none.',
    }),
    detail: t.field({
      type: 'JSON',
      nullable: true,
      description:
        'The object as the cluster reported it, without secrets. Only available for the present: past states fail with HISTORY_EXPIRED.',
      resolve: async (resource, _, { reader }) => (await detailsOf(await reader(), resource))?.detail ?? null,
    }),
    detailTruncated: t.boolean({
      description: 'Whether `detail` was too large and parts of it were left out.',
      resolve: async (resource, _, { reader }) => (await detailsOf(await reader(), resource))?.detailCut ?? false,
    }),
    appliedDetail: t.field({
      type: 'JSON',
      nullable: true,
      description:
        'The object as the orchestrator applied it, without secrets. Only available for the present: past states fail with HISTORY_EXPIRED.',
      resolve: async (resource, _, { reader }) => (await detailsOf(await reader(), resource))?.appliedDetail ?? null,
    }),
    appliedDetailTruncated: t.boolean({
      description: 'Whether `appliedDetail` was too large and parts of it were left out.',
      resolve: async (resource, _, { reader }) =>
        (await detailsOf(await reader(), resource))?.appliedDetailCut ?? false,
    }),
    changedAt: t.expose('changedAt', { type: 'DateTime', description: 'When it last changed.' }),
    revision: t.expose('revision', { type: 'Revision', description: 'The revision of its last change.' }),
  }),
})

function detailsOf(reader: Reader, { key, asOf }: ResourceRow) {
  if (asOf !== null)
    throw new DomainError(
      'HISTORY_EXPIRED',
      'detail and appliedDetail are not retained for past revisions: query the present instead',
    )
  return reader.resourceDetail(key)
}

const ResourceConnection = implementConnection('Resource', () => Resource, 'resources')

type ResourceCountsAt = CountsRow & { readonly revision: Revision }

const SyncCounts = builder.objectRef<CountsRow['sync']>('SyncCounts').implement({
  access: 'viewer',
  description: 'Number of resources by sync status. Only resources that an orchestrator applies are counted.',
  fields: (t) => ({
    pending: t.exposeInt('PENDING', { description: 'Number of PENDING resources.' }),
    applied: t.exposeInt('APPLIED', { description: 'Number of APPLIED resources.' }),
    failed: t.exposeInt('FAILED', { description: 'Number of FAILED resources.' }),
    retrying: t.exposeInt('RETRYING', { description: 'Number of RETRYING resources.' }),
    deleted: t.exposeInt('DELETED', { description: 'Number of DELETED resources.' }),
  }),
})

const PresenceCounts = builder.objectRef<CountsRow['presence']>('PresenceCounts').implement({
  access: 'viewer',
  description: 'Number of resources by presence.',
  fields: (t) => ({
    unknown: t.exposeInt('UNKNOWN', { description: 'Number of UNKNOWN resources.' }),
    notPresent: t.exposeInt('NOT_PRESENT', { description: 'Number of NOT_PRESENT resources.' }),
    present: t.exposeInt('PRESENT', { description: 'Number of PRESENT resources.' }),
  }),
})

const ReadinessCounts = builder.objectRef<CountsRow['readiness']>('ReadinessCounts').implement({
  access: 'viewer',
  description: 'Number of resources by readiness.',
  fields: (t) => ({
    ready: t.exposeInt('READY', { description: 'Number of READY resources.' }),
    pending: t.exposeInt('PENDING', { description: 'Number of PENDING resources.' }),
    failed: t.exposeInt('FAILED', { description: 'Number of FAILED resources.' }),
    unknown: t.exposeInt('UNKNOWN', { description: 'Number of UNKNOWN resources.' }),
  }),
})

export const ResourceCounts = builder.objectRef<ResourceCountsAt>('ResourceCounts').implement({
  access: 'viewer',
  description: 'Number of resources by each status. A status without resources counts 0.',
  fields: (t) => ({
    total: t.exposeInt('total', { description: 'Number of resources.' }),
    revision: t.expose('revision', { type: 'Revision', description: 'The revision that the counts reflect.' }),
    sync: t.expose('sync', { type: SyncCounts, description: 'Counts by sync status.' }),
    presence: t.expose('presence', { type: PresenceCounts, description: 'Counts by presence.' }),
    readiness: t.expose('readiness', { type: ReadinessCounts, description: 'Counts by readiness.' }),
  }),
})

const resourceListArgs = () => ({
  ...builder.args((t) => ({
    filter: t.field({ type: ResourceFilterRef, description: 'Selects resources.' }),
    orderBy: t.field({ type: ResourceOrderRef, description: 'The order. Absent: as first reported.' }),
  })),
  ...pageArgs(),
})

const resourceCountArgs = () =>
  builder.args((t) => ({
    filter: t.field({ type: ResourceFilterRef, description: 'Selects the resources to count.' }),
  }))

function resourcesOf(
  context: Pick<Context, 'reader'>,
  parent: ResourceParent,
  args: PageArguments & {
    readonly filter?: ResourceFilterInput | null | undefined
    readonly orderBy?: ResourceOrderInput | null | undefined
  },
  asOf: Revision | null,
): Connection<ResourceRow> {
  const filter = toResourceFilter(args.filter)
  const order = toResourceOrder(args.orderBy)
  return connect(
    args,
    async (page) => (await context.reader()).resources(parent, filter, page, asOf, order),
    async () => (await context.reader()).resourceCounts(parent, filter, asOf).then((counts) => counts?.total ?? 0),
  )
}

export async function countResourcesOf(
  reader: Reader,
  parent: ResourceParent,
  filter: ResourceFilter,
  asOf: Revision | null,
): Promise<ResourceCountsAt> {
  const counts = required(await reader.resourceCounts(parent, filter, asOf), 'counts')
  return { ...counts, revision: asOf ?? (await reader.head).revision }
}

/** The fields `resources` and `resourceCounts` of a type. `parentOf`: their parent and revision (null: present). */
export const resourceFields = <Row>(
  t: PothosSchemaTypes.ObjectFieldBuilder<SchemaTypes, Row>,
  parentOf: (row: Row) => readonly [parent: ResourceParent, asOf: Revision | null],
  described: { readonly list: string; readonly counts: string },
) => ({
  resources: t.field({
    type: ResourceConnection,
    description: described.list,
    args: resourceListArgs(),
    resolve: (row, args, context) => {
      const [parent, asOf] = parentOf(row)
      return resourcesOf(context, parent, args, asOf)
    },
  }),
  resourceCounts: t.field({
    type: ResourceCounts,
    description: described.counts,
    args: resourceCountArgs(),
    resolve: async (row, { filter }, context) => {
      const [parent, asOf] = parentOf(row)
      return countResourcesOf(await context.reader(), parent, toResourceFilter(filter), asOf)
    },
  }),
})

builder.queryFields((t) => ({
  resources: t.field({
    access: 'viewer',
    type: ResourceConnection,
    description:
      'Resources of all current rollout instances, as first reported if no other order is given. In the past, of the instances that were current then.',
    args: { ...resourceListArgs(), ...pastArgs() },
    resolve: async (_, args, context) => resourcesOf(context, { of: 'fleet' }, args, await pastOf(context, args)),
  }),
  resourceCounts: t.field({
    access: 'viewer',
    type: ResourceCounts,
    description: 'Resources of all current rollout instances that match the filter, counted by status.',
    args: { ...resourceCountArgs(), ...pastArgs() },
    resolve: async (_, args, context) => {
      const asOf = await pastOf(context, args)
      return countResourcesOf(await context.reader(), { of: 'fleet' }, toResourceFilter(args.filter), asOf)
    },
  }),
}))
