/** Kubernetes objects: as the orchestrator applied them, and as the cluster shows them. */
import type { Revision } from '../domain/deployment.ts'
import { DomainError } from '../domain/errors.ts'
import type { ResourceFilter } from '../store/resource-scope.ts'
import type { ResourceCounts as CountsRow, ResourceRow } from '../store/resources.ts'
import { builder, type SchemaTypes } from './builder.ts'
import { type Connection, connect, implementConnection, type PageArguments, pageArgs } from './connection.ts'
import type { Context } from './context.ts'
import { givenFields } from './input.ts'
import { Node } from './interfaces.ts'
import type { Reader, ResourceParent } from './loaders.ts'
import { keysOf } from './node.ts'
import { required } from './required.ts'
import { RolloutInstance } from './rollout-instance.ts'
import { Target } from './target.ts'
import { PresenceEnum, ReadinessEnum, SyncStatusEnum } from './vocabulary.ts'

export const Resource = builder.objectRef<ResourceRow>('Resource')

Resource.implement({
  access: 'viewer',
  description: 'A Kubernetes object of a component on a target.',
  interfaces: [Node],
  fields: (t) => ({
    group: t.exposeString('group', { description: 'Its API group; empty for the core one.' }),
    version: t.exposeString('version', { description: 'Its API version.' }),
    kind: t.exposeString('kind', { description: 'Its kind.' }),
    name: t.exposeString('name', { description: 'Its name.' }),
    namespace: t.exposeString('namespace', {
      nullable: true,
      description: 'Its namespace; null when it has none or nobody has told it yet.',
    }),
    component: t.exposeString('component', { description: 'The component it is part of.' }),
    target: t.field({
      type: Target,
      description: 'Where it is.',
      resolve: async ({ targetKey, asOf }, _, { reader }) =>
        required(await (await reader()).target(targetKey, asOf), 'target'),
    }),
    instance: t.field({
      type: RolloutInstance,
      nullable: true,
      description: 'The run of a rollout that it belongs to.',
      resolve: async ({ instanceKey, asOf }, _, { reader }) =>
        (await (await reader()).instance(instanceKey, asOf)) ?? null,
    }),
    sync: t.expose('sync', {
      type: SyncStatusEnum,
      nullable: true,
      description: 'What the orchestrator did with it; null for an object that only the cluster has.',
    }),
    presence: t.expose('presence', { type: PresenceEnum, description: 'Whether the cluster shows it.' }),
    readiness: t.expose('readiness', { type: ReadinessEnum, description: 'Whether it does its work.' }),
    reason: t.exposeString('reason', { nullable: true, description: 'Why it is not ready, in one word.' }),
    message: t.exposeString('message', { nullable: true, description: 'Why it is not ready, for people.' }),
    detail: t.field({
      type: 'JSON',
      nullable: true,
      description:
        'The object as the cluster showed it, without secrets. Of the present only: of the past HISTORY_EXPIRED.',
      resolve: async (resource, _, { reader }) => (await detailsOf(await reader(), resource))?.detail ?? null,
    }),
    detailTruncated: t.boolean({
      description: 'Whether `detail` was too large, and what it leaves out.',
      resolve: async (resource, _, { reader }) => (await detailsOf(await reader(), resource))?.detailCut ?? false,
    }),
    appliedDetail: t.field({
      type: 'JSON',
      nullable: true,
      description: 'The object as the orchestrator applied it, without secrets. Of the present only.',
      resolve: async (resource, _, { reader }) => (await detailsOf(await reader(), resource))?.appliedDetail ?? null,
    }),
    appliedDetailTruncated: t.boolean({
      description: 'Whether `appliedDetail` was too large, and leaves something out.',
      resolve: async (resource, _, { reader }) =>
        (await detailsOf(await reader(), resource))?.appliedDetailCut ?? false,
    }),
    changedAt: t.expose('changedAt', { type: 'DateTime', description: 'When it last changed.' }),
    revision: t.expose('revision', { type: 'Revision', description: 'Its last change.' }),
  }),
})

function detailsOf(reader: Reader, { key, asOf }: ResourceRow) {
  if (asOf !== null)
    throw new DomainError('HISTORY_EXPIRED', 'of the past only the status is kept, not the object itself')
  return reader.resourceDetail(key)
}

export const ResourceConnection = implementConnection('Resource', () => Resource, 'resources')

export type ResourceCountsAt = CountsRow & { readonly revision: Revision }

const SyncCounts = builder.objectRef<CountsRow['sync']>('SyncCounts').implement({
  access: 'viewer',
  description: 'Resources that an orchestrator applies, by what it did with them.',
  fields: (t) => ({
    pending: t.exposeInt('PENDING', { description: 'How many are PENDING.' }),
    applied: t.exposeInt('APPLIED', { description: 'How many are APPLIED.' }),
    failed: t.exposeInt('FAILED', { description: 'How many are FAILED.' }),
    retrying: t.exposeInt('RETRYING', { description: 'How many are RETRYING.' }),
    deleted: t.exposeInt('DELETED', { description: 'How many are DELETED.' }),
  }),
})

const PresenceCounts = builder.objectRef<CountsRow['presence']>('PresenceCounts').implement({
  access: 'viewer',
  description: 'Resources by whether the cluster shows them.',
  fields: (t) => ({
    unknown: t.exposeInt('UNKNOWN', { description: 'How many are UNKNOWN.' }),
    notPresent: t.exposeInt('NOT_PRESENT', { description: 'How many are NOT_PRESENT.' }),
    present: t.exposeInt('PRESENT', { description: 'How many are PRESENT.' }),
  }),
})

const ReadinessCounts = builder.objectRef<CountsRow['readiness']>('ReadinessCounts').implement({
  access: 'viewer',
  description: 'Resources by whether they do their work.',
  fields: (t) => ({
    ready: t.exposeInt('READY', { description: 'How many are READY.' }),
    pending: t.exposeInt('PENDING', { description: 'How many are PENDING.' }),
    failed: t.exposeInt('FAILED', { description: 'How many are FAILED.' }),
    unknown: t.exposeInt('UNKNOWN', { description: 'How many are UNKNOWN.' }),
  }),
})

export const ResourceCounts = builder.objectRef<ResourceCountsAt>('ResourceCounts').implement({
  access: 'viewer',
  description: 'How many resources there are, by each of their statuses. What none is in is 0.',
  fields: (t) => ({
    total: t.exposeInt('total', { description: 'All of them.' }),
    revision: t.expose('revision', { type: 'Revision', description: 'As of which revision they hold.' }),
    sync: t.expose('sync', { type: SyncCounts, description: 'Those that an orchestrator applies.' }),
    presence: t.expose('presence', { type: PresenceCounts, description: 'By whether the cluster shows them.' }),
    readiness: t.expose('readiness', { type: ReadinessCounts, description: 'By whether they do their work.' }),
  }),
})

export const ResourceFilterRef = builder.inputType('ResourceFilter', {
  description: 'Which resources: any of the values within a field, all fields together. An empty list matches nothing.',
  fields: (t) => ({
    rolloutIds: t.idList({ description: 'Node ids of their rollouts.' }),
    instanceIds: t.stringList({ description: 'Runs of rollouts; without it only the current ones.' }),
    deploymentIds: t.stringList({ description: 'Ids of their deployments.' }),
    apps: t.stringList({ description: 'Names of components.' }),
    clusters: t.stringList({ description: '`provider+name`; of a cloud region its name.' }),
    names: t.stringList({ description: 'Names.' }),
    kinds: t.stringList({ description: 'Kinds.' }),
    namespaces: t.stringList({ description: 'Namespaces.' }),
    sync: t.field({ type: [SyncStatusEnum], description: 'What the orchestrator did with them.' }),
    presence: t.field({ type: [PresenceEnum], description: 'Whether the cluster shows them.' }),
    readiness: t.field({ type: [ReadinessEnum], description: 'Whether they do their work.' }),
  }),
})

export type ResourceFilterInput = typeof ResourceFilterRef.$inferInput

export function toResourceFilter(input: ResourceFilterInput | null | undefined): ResourceFilter {
  const { rolloutIds, ...rest } = input ?? {}
  return givenFields({ ...rest, rolloutKeys: keysOf('Rollout', rolloutIds) })
}

export const resourceListArgs = () => ({
  ...builder.args((t) => ({ filter: t.field({ type: ResourceFilterRef, description: 'Which of them.' }) })),
  ...pageArgs(),
})

export const resourceCountArgs = () =>
  builder.args((t) => ({ filter: t.field({ type: ResourceFilterRef, description: 'Which of them to count.' }) }))

export function resourcesOf(
  context: Pick<Context, 'reader'>,
  parent: ResourceParent,
  args: PageArguments & { readonly filter?: ResourceFilterInput | null | undefined },
  asOf: Revision | null,
): Connection<ResourceRow> {
  const filter = toResourceFilter(args.filter)
  return connect(
    args,
    async (page) => (await context.reader()).resources(parent, filter, page, asOf),
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

/** What shows the resources of something that has some. `parentOf`: which are its own, and as of when. */
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
    description: 'Resources of all current runs, in the order in which they were first heard of.',
    args: resourceListArgs(),
    resolve: (_, args, context) => resourcesOf(context, { of: 'fleet' }, args, null),
  }),
  resourceCounts: t.field({
    access: 'viewer',
    type: ResourceCounts,
    description: 'Resources of all current runs, or of what the filter leaves of them, counted by status.',
    args: resourceCountArgs(),
    resolve: async (_, { filter }, context) =>
      countResourcesOf(await context.reader(), { of: 'fleet' }, toResourceFilter(filter), null),
  }),
}))
