/** Sinks as operators see them. The API never returns a sink's secret. */
import type { InstanceRow } from '../../../store/read/orchestration/instances.ts'
import type { Delivery as DeliveryRow } from '../../../store/sinks/deliveries.ts'
import { listSinks, type Sink as SinkRow, sinksByKey } from '../../../store/sinks/sinks.ts'
import { sinkKinds } from '../../../store/tables/columns.ts'
import { builder } from '../builder.ts'
import type { Context } from '../execution/context.ts'
import { type Connection, connect, implementConnection, type PageArguments, pageArgs } from './connection.ts'
import { idOf, Node } from './interfaces.ts'
import { decodeNodeId } from './node.ts'
import { RolloutInstance } from './refs.ts'
import { SinkKindEnum } from './vocabulary.ts'

export const Delivery = builder.objectRef<DeliveryRow>('Delivery').implement({
  access: 'operator of all',
  description: 'An event that was sent to a webhook, or that could not be sent.',
  interfaces: [Node],
  fields: (t) => ({
    // The ID has the access of Node.id: `node` returns an object only to a caller that may see it.
    id: t.id({ access: 'viewer', description: "The delivery's ID, which `redeliver` takes.", resolve: idOf }),
    eventId: t.exposeString('eventId', {
      description: "The event's ID. It stays the same when the event is sent again.",
    }),
    revision: t.expose('revision', {
      type: 'Revision',
      nullable: true,
      description: 'The revision of the change in the event. Null: the event is a reset.',
    }),
    attempts: t.exposeInt('attempts', { description: 'Number of attempts to send it.' }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When it was first sent.' }),
    deliveredAt: t.expose('deliveredAt', {
      type: 'DateTime',
      nullable: true,
      description: 'When the receiver last accepted it. Null: never.',
    }),
    lastStatus: t.exposeInt('lastStatus', { nullable: true, description: "The last response's HTTP status." }),
    lastError: t.exposeString('lastError', { nullable: true, description: 'Why the last attempt failed.' }),
    body: t.exposeString('body', { description: 'The body that was sent.' }),
  }),
})

const DeliveryConnection = implementConnection('Delivery', () => Delivery, 'deliveries, newest first')

function deliveriesOf(
  { reader }: Pick<Context, 'reader'>,
  sinkKey: number,
  args: PageArguments,
): Connection<DeliveryRow> {
  return connect(
    args,
    async (page) => (await reader()).deliveries(sinkKey, page),
    async () => (await reader()).deliveryCount(sinkKey),
  )
}

export const Sink = builder.objectRef<SinkRow>('Sink').implement({
  access: 'operator of all',
  description: 'A receiver of notifications with a durable position in the change log.',
  interfaces: [Node],
  fields: (t) => ({
    id: t.id({ access: 'viewer', description: "The sink's ID, which the mutations take.", resolve: idOf }),
    kind: t.expose('kind', { type: SinkKindEnum, description: 'The kind of sink.' }),
    name: t.exposeString('name', { description: 'The name that its owner gave it.' }),
    url: t.exposeString('url', {
      description:
        "The URL that receives the notifications. Empty for the inventory, whose address is part of the server's configuration.",
    }),
    paused: t.exposeBoolean('paused', { description: 'Whether delivery is paused.' }),
    cursor: t.expose('cursor', {
      type: 'Revision',
      description: 'The last revision that was delivered, or skipped because the filter excludes it.',
    }),
    lag: t.int({
      description: 'Number of revisions after the cursor, including those that the filter excludes.',
      resolve: async ({ key }, _, { reader }) => (await (await reader()).sinkLag(key)) ?? 0,
    }),
    failures: t.exposeInt('failures', { description: 'Number of consecutive failures.' }),
    lastError: t.exposeString('lastError', { nullable: true, description: 'Why the last attempt failed.' }),
    lastStatus: t.exposeInt('lastStatus', { nullable: true, description: "The last response's HTTP status." }),
    attemptedAt: t.expose('attemptedAt', { type: 'DateTime', nullable: true, description: 'The last attempt.' }),
    succeededAt: t.expose('succeededAt', { type: 'DateTime', nullable: true, description: 'The last success.' }),
    nextAttemptAt: t.expose('nextAt', { type: 'DateTime', nullable: true, description: 'The earliest next attempt.' }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When it was created.' }),
    deliveryHistory: t.field({
      type: DeliveryConnection,
      description: 'The deliveries of a webhook, newest first. The last 1,000 are retained.',
      args: pageArgs(),
      resolve: ({ key }, args, context) => deliveriesOf(context, key, args),
    }),
  }),
})

const UnannouncedInstances = builder
  .objectRef<{ readonly totalCount: number; readonly nodes: readonly InstanceRow[] }>('UnannouncedInstances')
  .implement({
    access: 'operator of all',
    description: 'Instances that are missing from the inventory because they were not announced.',
    fields: (t) => ({
      totalCount: t.exposeInt('totalCount', { description: 'Number of such instances.' }),
      nodes: t.field({
        type: [RolloutInstance],
        description: 'The oldest of them.',
        resolve: ({ nodes }) => nodes,
      }),
    }),
  })

builder.queryFields((t) => ({
  unannouncedInstances: t.field({
    access: 'operator of all',
    type: UnannouncedInstances,
    description:
      'Instances of resource bundles that have no inventory sink: neither so-cnf-adapter nor `announceInstance` announced them, or their sink was removed. Empty if no inventory is configured.',
    args: { first: t.arg.int({ defaultValue: 20, description: 'Number of instances to return: 0 to 100.' }) },
    resolve: async (_, { first }, { sinks, session }) => ({
      totalCount: await sinks.countUnannounced(await session()),
      nodes: await sinks.unannounced(Math.min(Math.max(first ?? 20, 0), 100), await session()),
    }),
  }),
  sinks: t.field({
    access: 'operator of all',
    type: [Sink],
    description: 'All sinks, oldest first.',
    args: { kinds: t.arg({ type: [SinkKindEnum], description: 'Return only these kinds of sinks.' }) },
    resolve: async (_, { kinds }, { session }) => listSinks(await session(), kinds ?? sinkKinds, null),
  }),
  sink: t.field({
    access: 'operator of all',
    type: Sink,
    nullable: true,
    description: 'The sink with this ID. Null if there is none.',
    args: { id: t.arg.id({ required: true, description: "The sink's ID." }) },
    resolve: async (_, { id }, { session }) => {
      const key = decodeSinkId('Sink', id) ?? -1
      return (await sinksByKey(await session(), [key])).get(key) ?? null
    },
  }),
}))

/** Null: the server never issued this ID. */
export function decodeSinkId(type: 'Sink' | 'Delivery', id: string): number | null {
  const node = decodeNodeId(id)
  return node?.type === type ? node.key : null
}
