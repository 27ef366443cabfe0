/** Who outside is told: sinks as operators see them. A sink's secret never comes back out. */
import type { Delivery as DeliveryRow } from '../store/deliveries.ts'
import type { Sink as SinkRow } from '../store/sinks.ts'
import { builder } from './builder.ts'
import { SinkKindEnum } from './vocabulary.ts'

export const Delivery = builder.objectRef<DeliveryRow>('Delivery').implement({
  access: 'operator of all',
  description: 'An event that a webhook was sent, or was tried to be.',
  fields: (t) => ({
    id: t.id({ description: 'Names it to redeliver.', resolve: ({ key }) => encodeSinkId('Delivery', key) }),
    eventId: t.exposeString('eventId', { description: "The event's id: the same however often it is sent." }),
    revision: t.expose('revision', {
      type: 'Revision',
      nullable: true,
      description: 'The change it tells of; null: of a reset.',
    }),
    attempts: t.exposeInt('attempts', { description: 'How often it was sent.' }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When it was first sent.' }),
    deliveredAt: t.expose('deliveredAt', {
      type: 'DateTime',
      nullable: true,
      description: 'When it was last taken; null: it never was.',
    }),
    lastStatus: t.exposeInt('lastStatus', { nullable: true, description: "The last answer's HTTP status." }),
    lastError: t.exposeString('lastError', { nullable: true, description: 'Why the last try failed.' }),
    body: t.exposeString('body', { description: 'What was sent.' }),
  }),
})

export const Sink = builder.objectRef<SinkRow>('Sink').implement({
  access: 'operator of all',
  description: 'Somebody outside who is told what happens: a durable cursor into the log.',
  fields: (t) => ({
    id: t.id({ description: 'Names it to mutations.', resolve: ({ key }) => encodeSinkId('Sink', key) }),
    kind: t.expose('kind', { type: SinkKindEnum, description: 'How it is told.' }),
    name: t.exposeString('name', { description: 'What its owner calls it.' }),
    url: t.exposeString('url', {
      description: "Where it is told; empty for the inventory, whose address is the server's.",
    }),
    paused: t.exposeBoolean('paused', { description: 'Whether it is left alone for now.' }),
    cursor: t.expose('cursor', { type: 'Revision', description: 'Everything up to here has been told.' }),
    lag: t.int({
      description: 'Revisions that it has not been told, whether they concern it or not.',
      resolve: async ({ key }, _, { reader }) => (await (await reader()).sinkLag(key)) ?? 0,
    }),
    failures: t.exposeInt('failures', { description: 'Failures in a row.' }),
    lastError: t.exposeString('lastError', {
      nullable: true,
      description: 'Why the last try failed; null: it did not.',
    }),
    lastStatus: t.exposeInt('lastStatus', { nullable: true, description: "The last answer's HTTP status." }),
    attemptedAt: t.expose('attemptedAt', { type: 'DateTime', nullable: true, description: 'The last try.' }),
    succeededAt: t.expose('succeededAt', { type: 'DateTime', nullable: true, description: 'The last success.' }),
    nextAttemptAt: t.expose('nextAt', { type: 'DateTime', nullable: true, description: 'No try before this.' }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'Since when it is told.' }),
    deliveries: t.field({
      type: [Delivery],
      description: "A webhook's newest deliveries, the newest first. The last 1,000 are kept.",
      args: {
        first: t.arg.int({ defaultValue: 20, description: 'How many; at most 100.' }),
        before: t.arg.id({ description: 'Only older ones than this delivery.' }),
      },
      resolve: ({ key }, { first, before }, context) =>
        context.sinks.deliveries(
          key,
          Math.min(Math.max(first ?? 20, 0), 100),
          before === null || before === undefined ? null : (decodeSinkId('Delivery', before) ?? -1),
        ),
    }),
  }),
})

builder.queryFields((t) => ({
  sinks: t.field({
    access: 'operator of all',
    type: [Sink],
    description: 'Everybody outside who is told, oldest first.',
    args: { kinds: t.arg({ type: [SinkKindEnum], description: 'How they are told.' }) },
    resolve: (_, { kinds }, context) => context.sinks.list(kinds ?? null),
  }),
  sink: t.field({
    access: 'operator of all',
    type: Sink,
    nullable: true,
    description: 'The sink of that id.',
    args: { id: t.arg.id({ required: true, description: 'Its id.' }) },
    resolve: (_, { id }, context) => context.sinks.get(decodeSinkId('Sink', id) ?? -1),
  }),
}))

export function encodeSinkId(type: 'Sink' | 'Delivery', key: number): string {
  return Buffer.from(`${type}:${key}`).toString('base64url')
}

/** Null: nobody was ever given this id. */
export function decodeSinkId(type: 'Sink' | 'Delivery', id: string): number | null {
  const [, named, key] = /^(Sink|Delivery):(\d{1,15})$/.exec(Buffer.from(id, 'base64url').toString()) ?? []
  return named === type && key !== undefined ? Number(key) : null
}
