/** What operators do with sinks: webhooks are made here, callbacks and inventories by the calls of those who want them. */
import type { Delivery as DeliveryRow } from '../store/deliveries.ts'
import type { Sink as SinkRow } from '../store/sinks.ts'
import { builder } from './builder.ts'
import { ChangeFilterRef, toChangeFilter } from './change-list.ts'
import { checkInput, type InputCheck } from './input-check.ts'
import { Delivery, decodeSinkId, Sink } from './sink.ts'
import { attempt, Forbidden, InvalidInput, NotFound } from './user-error.ts'

const refusals = ['InvalidInput', 'NotFound', 'Forbidden'] as const

function successOf<Name extends string>(name: Name, description: string) {
  return builder.objectRef<{ readonly type: Name; readonly sink: SinkRow }>(name).implement({
    access: 'operator of all',
    description,
    fields: (t) => ({ sink: t.expose('sink', { type: Sink, description: 'The sink.' }) }),
  })
}

const CreateWebhookInput = builder.inputType('CreateWebhookInput', {
  description: 'What createWebhook takes.',
  fields: (t) => ({
    name: t.string({ required: true, description: 'What you call it.' }),
    url: t.string({
      required: true,
      description: 'Where the events are posted: http or https, and not inside unless it is allowed.',
    }),
    secret: t.string({
      description: 'Signs the events (Standard Webhooks): whsec_ and base64. Without it one is made.',
    }),
    filter: t.field({ type: ChangeFilterRef, description: 'Which changes.' }),
    resourceKinds: t.stringList({ description: 'Of changes of resources only those of these Kubernetes kinds.' }),
    after: t.field({ type: 'Revision', description: 'Begin after this revision; without it: from now on.' }),
  }),
})

const CreateWebhookSuccess = builder
  .objectRef<{ readonly type: 'CreateWebhookSuccess'; readonly sink: SinkRow; readonly secret: string }>(
    'CreateWebhookSuccess',
  )
  .implement({
    access: 'operator of all',
    description: 'Events are on their way.',
    fields: (t) => ({
      sink: t.expose('sink', { type: Sink, description: 'The webhook.' }),
      secret: t.exposeString('secret', { description: 'What signs the events. It cannot be shown again.' }),
    }),
  })

const CreateWebhookResult = builder.unionType('CreateWebhookResult', {
  description: 'What became of createWebhook.',
  types: [CreateWebhookSuccess, InvalidInput, Forbidden],
  resolveType: (result) => result.type,
})

const UpdateWebhookInput = builder.inputType('UpdateWebhookInput', {
  description: 'What updateWebhook takes. What is left out stays as it is.',
  fields: (t) => ({
    id: t.id({ required: true, description: 'Which webhook.' }),
    name: t.string({ description: 'Its name.' }),
    url: t.string({ description: 'Its address.' }),
    secret: t.string({ description: 'Its secret: whsec_ and base64.' }),
    filter: t.field({ type: ChangeFilterRef, description: 'Which changes. Given, it replaces resourceKinds too.' }),
    resourceKinds: t.stringList({ description: 'Of changes of resources only those of these Kubernetes kinds.' }),
  }),
})

const UpdateWebhookSuccess = successOf('UpdateWebhookSuccess', 'It is as you said, and tried at once.')
const UpdateWebhookResult = builder.unionType('UpdateWebhookResult', {
  description: 'What became of updateWebhook.',
  types: [UpdateWebhookSuccess, InvalidInput, NotFound, Forbidden],
  resolveType: (result) => result.type,
})

const PauseSinkInput = builder.inputType('PauseSinkInput', {
  description: 'What pauseSink takes.',
  fields: (t) => ({ id: t.id({ required: true, description: 'Which sink.' }) }),
})
const PauseSinkSuccess = successOf(
  'PauseSinkSuccess',
  'It is left alone until it is resumed, and goes on from where it is.',
)
const PauseSinkResult = builder.unionType('PauseSinkResult', {
  description: 'What became of pauseSink.',
  types: [PauseSinkSuccess, InvalidInput, NotFound, Forbidden],
  resolveType: (result) => result.type,
})

const ResumeSinkInput = builder.inputType('ResumeSinkInput', {
  description: 'What resumeSink takes.',
  fields: (t) => ({ id: t.id({ required: true, description: 'Which sink.' }) }),
})
const ResumeSinkSuccess = successOf('ResumeSinkSuccess', 'It is told what it missed, at once.')
const ResumeSinkResult = builder.unionType('ResumeSinkResult', {
  description: 'What became of resumeSink.',
  types: [ResumeSinkSuccess, InvalidInput, NotFound, Forbidden],
  resolveType: (result) => result.type,
})

const DeleteSinkInput = builder.inputType('DeleteSinkInput', {
  description: 'What deleteSink takes.',
  fields: (t) => ({ id: t.id({ required: true, description: 'Which sink.' }) }),
})
const DeleteSinkSuccess = successOf('DeleteSinkSuccess', 'It is told nothing more. What an inventory has stays in it.')
const DeleteSinkResult = builder.unionType('DeleteSinkResult', {
  description: 'What became of deleteSink.',
  types: [DeleteSinkSuccess, InvalidInput, NotFound, Forbidden],
  resolveType: (result) => result.type,
})

const RedeliverInput = builder.inputType('RedeliverInput', {
  description: 'What redeliver takes.',
  fields: (t) => ({ deliveryId: t.id({ required: true, description: 'Which delivery.' }) }),
})
const RedeliverSuccess = builder
  .objectRef<{ readonly type: 'RedeliverSuccess'; readonly delivery: DeliveryRow }>('RedeliverSuccess')
  .implement({
    access: 'operator of all',
    description: 'It is sent again, with the same id.',
    fields: (t) => ({ delivery: t.expose('delivery', { type: Delivery, description: 'As it was before that.' }) }),
  })
const RedeliverResult = builder.unionType('RedeliverResult', {
  description: 'What became of redeliver.',
  types: [RedeliverSuccess, InvalidInput, NotFound, Forbidden],
  resolveType: (result) => result.type,
})

builder.mutationFields((t) => ({
  createWebhook: t.field({
    access: 'operator of all',
    type: CreateWebhookResult,
    description:
      'Posts every change that a filter wants to an address, as signed CloudEvents, in order and at least once.',
    args: { input: t.arg({ type: CreateWebhookInput, required: true, description: 'The webhook.' }) },
    resolve: (_, { input }, context) => {
      const check = checkInput()
      check.name(['name'], input.name)
      check.text(['url'], input.url)
      checkFilter(check, input.resourceKinds)
      return attempt(['InvalidInput', 'Forbidden'], check.problems, async () => {
        const { name, url, secret = null, after = null } = input
        const made = await context.sinks.createWebhook({ name, url, secret, filter: toSinkFilter(input), after })
        return { type: 'CreateWebhookSuccess' as const, ...made }
      })
    },
  }),
  updateWebhook: t.field({
    access: 'operator of all',
    type: UpdateWebhookResult,
    description: 'Changes a webhook. It goes on from where it is.',
    args: { input: t.arg({ type: UpdateWebhookInput, required: true, description: 'What changes.' }) },
    resolve: (_, { input }, context) => {
      const check = checkInput()
      check.name(['name'], input.name)
      check.text(['url'], input.url)
      checkFilter(check, input.resourceKinds)
      return attempt(refusals, check.problems, async () => {
        const { id, name, url, secret, filter, resourceKinds } = input
        const sink = await context.sinks.changeWebhook(decodeSinkId('Sink', id) ?? -1, {
          ...(name && { name }),
          ...(url && { url }),
          ...(secret && { secret }),
          ...((filter || resourceKinds) && { filter: toSinkFilter({ filter, resourceKinds }) }),
        })
        return { type: 'UpdateWebhookSuccess' as const, sink }
      })
    },
  }),
  pauseSink: t.field({
    access: 'operator of all',
    type: PauseSinkResult,
    description: 'Leaves a sink alone; its cursor stays.',
    args: { input: t.arg({ type: PauseSinkInput, required: true, description: 'Which sink.' }) },
    resolve: (_, { input: { id } }, context) =>
      attempt(refusals, [], async () => ({
        type: 'PauseSinkSuccess' as const,
        sink: await context.sinks.pause(decodeSinkId('Sink', id) ?? -1, true),
      })),
  }),
  resumeSink: t.field({
    access: 'operator of all',
    type: ResumeSinkResult,
    description: 'Goes on with a sink that was paused.',
    args: { input: t.arg({ type: ResumeSinkInput, required: true, description: 'Which sink.' }) },
    resolve: (_, { input: { id } }, context) =>
      attempt(refusals, [], async () => ({
        type: 'ResumeSinkSuccess' as const,
        sink: await context.sinks.pause(decodeSinkId('Sink', id) ?? -1, false),
      })),
  }),
  deleteSink: t.field({
    access: 'operator of all',
    type: DeleteSinkResult,
    description: 'Ends a sink of any kind.',
    args: { input: t.arg({ type: DeleteSinkInput, required: true, description: 'Which sink.' }) },
    resolve: (_, { input: { id } }, context) =>
      attempt(refusals, [], async () => ({
        type: 'DeleteSinkSuccess' as const,
        sink: await context.sinks.remove(decodeSinkId('Sink', id) ?? -1),
      })),
  }),
  redeliver: t.field({
    access: 'operator of all',
    type: RedeliverResult,
    description: "Sends one of a webhook's events again.",
    args: { input: t.arg({ type: RedeliverInput, required: true, description: 'Which delivery.' }) },
    resolve: (_, { input: { deliveryId } }, context) =>
      attempt(refusals, [], async () => ({
        type: 'RedeliverSuccess' as const,
        delivery: await context.sinks.redeliver(decodeSinkId('Delivery', deliveryId) ?? -1),
      })),
  }),
}))

function checkFilter(check: InputCheck, resourceKinds: readonly string[] | null | undefined): void {
  if (check.list(['resourceKinds'], resourceKinds))
    resourceKinds?.forEach((kind, index) => {
      check.name(['resourceKinds', index], kind)
    })
}

function toSinkFilter({
  filter,
  resourceKinds,
}: {
  readonly filter?: typeof ChangeFilterRef.$inferInput | null | undefined
  readonly resourceKinds?: readonly string[] | null | undefined
}) {
  return { ...toChangeFilter(filter), ...(resourceKinds && { resourceKinds }) }
}
