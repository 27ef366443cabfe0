/** Sink management by operators. Webhooks are created here; callbacks and inventories by their own REST calls. */
import type { Delivery as DeliveryRow } from '../../store/sinks/deliveries.ts'
import type { Sink as SinkRow } from '../../store/sinks/sinks.ts'
import { builder } from '../builder.ts'
import { ChangeFilterRef, toChangeFilter } from '../objects/change-list.ts'
import { Delivery, decodeSinkId, Sink } from '../objects/sink.ts'
import { checkInput, type InputCheck } from './input-check.ts'
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
  description: 'Input of `createWebhook`.',
  fields: (t) => ({
    name: t.string({ required: true, description: 'A name for the webhook.' }),
    url: t.string({
      required: true,
      description:
        'The URL that receives the events: http or https. Private addresses must be allowed in `SINK_ALLOW`.',
    }),
    secret: t.string({
      description:
        'The secret that signs the events (Standard Webhooks): `whsec_` and base64. Absent: the server creates one.',
    }),
    filter: t.field({ type: ChangeFilterRef, description: 'The changes to send. Absent: all.' }),
    resourceKinds: t.stringList({
      description: 'Kubernetes kinds. Changes of resources of other kinds are not sent. Absent: all kinds.',
    }),
    after: t.field({ type: 'Revision', description: 'Send changes after this revision. Absent: only new changes.' }),
  }),
})

const CreateWebhookSuccess = builder
  .objectRef<{ readonly type: 'CreateWebhookSuccess'; readonly sink: SinkRow; readonly secret: string }>(
    'CreateWebhookSuccess',
  )
  .implement({
    access: 'operator of all',
    description: 'The webhook was created. Delivery starts at once.',
    fields: (t) => ({
      sink: t.expose('sink', { type: Sink, description: 'The webhook.' }),
      secret: t.exposeString('secret', { description: 'The secret that signs the events. It is shown only once.' }),
    }),
  })

const CreateWebhookResult = builder.unionType('CreateWebhookResult', {
  description: 'Result of `createWebhook`.',
  types: [CreateWebhookSuccess, InvalidInput, Forbidden],
  resolveType: (result) => result.type,
})

const UpdateWebhookInput = builder.inputType('UpdateWebhookInput', {
  description: 'Input of `updateWebhook`. Absent fields keep their values.',
  fields: (t) => ({
    id: t.id({ required: true, description: "The webhook's ID." }),
    name: t.string({ description: 'The new name.' }),
    url: t.string({ description: 'The new URL: http or https.' }),
    secret: t.string({ description: 'The new secret: `whsec_` and base64.' }),
    filter: t.field({
      type: ChangeFilterRef,
      description: 'The changes to send. It replaces `resourceKinds` too: repeat them to keep them.',
    }),
    resourceKinds: t.stringList({
      description: 'Kubernetes kinds. Changes of resources of other kinds are not sent. Absent: all kinds.',
    }),
  }),
})

const UpdateWebhookSuccess = successOf(
  'UpdateWebhookSuccess',
  'The webhook was updated. Delivery is attempted at once.',
)
const UpdateWebhookResult = builder.unionType('UpdateWebhookResult', {
  description: 'Result of `updateWebhook`.',
  types: [UpdateWebhookSuccess, InvalidInput, NotFound, Forbidden],
  resolveType: (result) => result.type,
})

const PauseSinkInput = builder.inputType('PauseSinkInput', {
  description: 'Input of `pauseSink`.',
  fields: (t) => ({ id: t.id({ required: true, description: "The sink's ID." }) }),
})
const PauseSinkSuccess = successOf('PauseSinkSuccess', 'The sink is paused. It keeps its position.')
const PauseSinkResult = builder.unionType('PauseSinkResult', {
  description: 'Result of `pauseSink`.',
  types: [PauseSinkSuccess, InvalidInput, NotFound, Forbidden],
  resolveType: (result) => result.type,
})

const ResumeSinkInput = builder.inputType('ResumeSinkInput', {
  description: 'Input of `resumeSink`.',
  fields: (t) => ({ id: t.id({ required: true, description: "The sink's ID." }) }),
})
const ResumeSinkSuccess = successOf('ResumeSinkSuccess', 'The sink is active. Missed changes are sent at once.')
const ResumeSinkResult = builder.unionType('ResumeSinkResult', {
  description: 'Result of `resumeSink`.',
  types: [ResumeSinkSuccess, InvalidInput, NotFound, Forbidden],
  resolveType: (result) => result.type,
})

const DeleteSinkInput = builder.inputType('DeleteSinkInput', {
  description: 'Input of `deleteSink`.',
  fields: (t) => ({ id: t.id({ required: true, description: "The sink's ID." }) }),
})
const DeleteSinkSuccess = successOf('DeleteSinkSuccess', 'The sink was deleted. Entries in the inventory remain there.')
const DeleteSinkResult = builder.unionType('DeleteSinkResult', {
  description: 'Result of `deleteSink`.',
  types: [DeleteSinkSuccess, InvalidInput, NotFound, Forbidden],
  resolveType: (result) => result.type,
})

const RedeliverInput = builder.inputType('RedeliverInput', {
  description: 'Input of `redeliver`.',
  fields: (t) => ({ deliveryId: t.id({ required: true, description: "The delivery's ID." }) }),
})
const RedeliverSuccess = builder
  .objectRef<{ readonly type: 'RedeliverSuccess'; readonly delivery: DeliveryRow }>('RedeliverSuccess')
  .implement({
    access: 'operator of all',
    description: 'The event will be sent again with the same ID.',
    fields: (t) => ({
      delivery: t.expose('delivery', { type: Delivery, description: 'The delivery before it is sent again.' }),
    }),
  })
const RedeliverResult = builder.unionType('RedeliverResult', {
  description: 'Result of `redeliver`.',
  types: [RedeliverSuccess, InvalidInput, NotFound, Forbidden],
  resolveType: (result) => result.type,
})

builder.mutationFields((t) => ({
  createWebhook: t.field({
    access: 'operator of all',
    type: CreateWebhookResult,
    description:
      'Creates a webhook. It posts every change that matches the filter as a signed CloudEvent, in order and at least once.',
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
    description: 'Updates a webhook. It keeps its position.',
    args: { input: t.arg({ type: UpdateWebhookInput, required: true, description: 'The fields to update.' }) },
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
    description: 'Pauses delivery to a sink. It keeps its position.',
    args: { input: t.arg({ type: PauseSinkInput, required: true, description: 'The sink.' }) },
    resolve: (_, { input: { id } }, context) =>
      attempt(refusals, [], async () => ({
        type: 'PauseSinkSuccess' as const,
        sink: await context.sinks.pause(decodeSinkId('Sink', id) ?? -1, true),
      })),
  }),
  resumeSink: t.field({
    access: 'operator of all',
    type: ResumeSinkResult,
    description: 'Resumes delivery to a paused sink.',
    args: { input: t.arg({ type: ResumeSinkInput, required: true, description: 'The sink.' }) },
    resolve: (_, { input: { id } }, context) =>
      attempt(refusals, [], async () => ({
        type: 'ResumeSinkSuccess' as const,
        sink: await context.sinks.pause(decodeSinkId('Sink', id) ?? -1, false),
      })),
  }),
  deleteSink: t.field({
    access: 'operator of all',
    type: DeleteSinkResult,
    description: 'Deletes a sink of any kind.',
    args: { input: t.arg({ type: DeleteSinkInput, required: true, description: 'The sink.' }) },
    resolve: (_, { input: { id } }, context) =>
      attempt(refusals, [], async () => ({
        type: 'DeleteSinkSuccess' as const,
        sink: await context.sinks.remove(decodeSinkId('Sink', id) ?? -1),
      })),
  }),
  redeliver: t.field({
    access: 'operator of all',
    type: RedeliverResult,
    description: 'Sends an event of a webhook again.',
    args: { input: t.arg({ type: RedeliverInput, required: true, description: 'The delivery.' }) },
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
