/** Sink management by operators. Webhooks are created here; callbacks and inventories by their own REST calls. */
import type { Sink as SinkRow } from '../../../store/sinks/sinks.ts'
import type { Context } from '../execution/context.ts'
import { ChangeFilterRef, toChangeFilter } from '../objects/changes/change-list.ts'
import { Delivery, decodeSinkId, Sink } from '../objects/sink.ts'
import type { InputCheck } from './input-check.ts'
import { addMutation, type SuccessFields } from './mutation.ts'

const access = 'operator of all'
/** Characters of a header. Tokens of identity providers have some thousand. */
const longestHeader = 8_192

const kindsDescription = 'Kubernetes kinds. Changes of resources of other kinds are not sent. Absent: all kinds.'

const sinkFields: SuccessFields<{ readonly sink: SinkRow }> = (t) => ({
  sink: t.expose('sink', { type: Sink, description: 'The sink.' }),
})

addMutation('createWebhook', {
  access,
  description:
    'Creates a webhook. It posts every change that matches the filter as a signed CloudEvent, in order and at least once.',
  input: {
    description: 'The webhook.',
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
      resourceKinds: t.stringList({ description: kindsDescription }),
      after: t.field({ type: 'Revision', description: 'Send changes after this revision. Absent: only new changes.' }),
    }),
  },
  check: checkWebhook,
  act: ({ name, url, secret = null, after = null, ...filter }, context) =>
    context.sinks.createWebhook({ name, url, secret, filter: toSinkFilter(filter), after }),
  success: {
    description: 'The webhook was created. Delivery starts at once.',
    fields: (t) => ({
      sink: t.expose('sink', { type: Sink, description: 'The webhook.' }),
      secret: t.exposeString('secret', { description: 'The secret that signs the events. It is shown only once.' }),
    }),
  },
})

addMutation('createAlertmanager', {
  access,
  description:
    'Sends all alerts to an Alertmanager (API v2): each firing alert every minute, and its end. For several Alertmanagers, create several sinks.',
  input: {
    description: 'The Alertmanager.',
    fields: (t) => ({
      name: t.string({ required: true, description: 'A name for the sink.' }),
      url: t.string({
        required: true,
        description:
          'The base URL, such as `https://alertmanager.example`. Private addresses must be allowed in `SINK_ALLOW`.',
      }),
      authorization: t.string({ description: 'The value of the Authorization header. Absent: none is sent.' }),
    }),
  },
  check: ({ name, url, authorization }, check, { sinks }) => {
    check.name(['name'], name)
    checkTarget({ url }, check, sinks)
    check.text(['authorization'], authorization, longestHeader)
    if (/[^\x20-\x7e]/.test(authorization ?? '')) check.add(['authorization'], 'must be printable ASCII')
  },
  act: async ({ name, url, authorization }, { sinks }) => ({
    sink: await sinks.createAlertmanager({ name, url, authorization: authorization ?? null }),
  }),
  success: { description: 'The sink was created. Alerts that fire are sent at once.', fields: sinkFields },
})

addMutation('updateWebhook', {
  access,
  description: 'Updates a webhook. It keeps its position.',
  input: {
    description: 'The fields to update.',
    note: 'Absent fields keep their values.',
    fields: (t) => ({
      id: t.id({ required: true, description: "The webhook's ID." }),
      name: t.string({ description: 'The new name.' }),
      url: t.string({ description: 'The new URL: http or https.' }),
      secret: t.string({ description: 'The new secret: `whsec_` and base64.' }),
      filter: t.field({
        type: ChangeFilterRef,
        description: 'The changes to send. It replaces `resourceKinds` too: repeat them to keep them.',
      }),
      resourceKinds: t.stringList({ description: kindsDescription }),
    }),
  },
  errors: ['NotFound'],
  check: checkWebhook,
  act: async ({ id, name, url, secret, filter, resourceKinds }, context) => {
    const sink = await context.sinks.changeWebhook(decodeSinkId('Sink', id) ?? -1, {
      ...(name && { name }),
      ...(url && { url }),
      ...(secret && { secret }),
      ...((filter || resourceKinds) && { filter: toSinkFilter({ filter, resourceKinds }) }),
    })
    return { sink }
  },
  success: { description: 'The webhook was updated. Delivery is attempted at once.', fields: sinkFields },
})

addSinkMutation('pauseSink', {
  description: 'Pauses delivery to a sink. It keeps its position.',
  success: 'The sink is paused. It keeps its position.',
  act: (sinks, key) => sinks.pause(key, true),
})

addSinkMutation('resumeSink', {
  description: 'Resumes delivery to a paused sink.',
  success: 'The sink is active. Missed changes are sent at once.',
  act: (sinks, key) => sinks.pause(key, false),
})

addSinkMutation('deleteSink', {
  description: 'Deletes a sink of any kind.',
  success: 'The sink was deleted. Entries in the inventory remain there.',
  act: (sinks, key) => sinks.remove(key),
})

addMutation('redeliver', {
  access,
  description: 'Sends an event of a webhook again.',
  input: {
    description: 'The delivery.',
    fields: (t) => ({ deliveryId: t.id({ required: true, description: "The delivery's ID." }) }),
  },
  errors: ['NotFound'],
  act: async ({ deliveryId }, context) => ({
    delivery: await context.sinks.redeliver(decodeSinkId('Delivery', deliveryId) ?? -1),
  }),
  success: {
    description: 'The event will be sent again with the same ID.',
    fields: (t) => ({
      delivery: t.expose('delivery', { type: Delivery, description: 'The delivery before it is sent again.' }),
    }),
  },
})

addMutation('testSink', {
  access,
  description:
    'Sends a test message to a webhook (a signed CloudEvent `rollcall.test`) or an Alertmanager (an alert `RollcallTest` that ends after a minute) and waits for the answer. The position of the sink does not change.',
  input: {
    description: 'The sink.',
    fields: (t) => ({ id: t.id({ required: true, description: "The sink's ID." }) }),
  },
  errors: ['NotFound', 'Conflict'],
  act: ({ id }, { sinks }) => sinks.test(decodeSinkId('Sink', id) ?? -1),
  success: {
    description: 'The test message was sent. `error` says whether the receiver accepted it.',
    fields: (t) => ({
      sink: t.expose('sink', { type: Sink, description: 'The sink.' }),
      status: t.exposeInt('status', { nullable: true, description: "The response's HTTP status. Null: no response." }),
      error: t.exposeString('error', {
        nullable: true,
        description: 'Why the receiver did not accept the message. Null: it accepted the message.',
      }),
    }),
  },
})

function addSinkMutation(
  name: string,
  mutation: {
    readonly description: string
    readonly success: string
    readonly act: (sinks: Context['sinks'], key: number) => Promise<SinkRow>
  },
): void {
  addMutation(name, {
    access,
    description: mutation.description,
    input: {
      description: 'The sink.',
      fields: (t) => ({ id: t.id({ required: true, description: "The sink's ID." }) }),
    },
    errors: ['NotFound'],
    act: async ({ id }, { sinks }) => ({ sink: await mutation.act(sinks, decodeSinkId('Sink', id) ?? -1) }),
    success: { description: mutation.success, fields: sinkFields },
  })
}

interface WebhookInput {
  readonly name?: string | null | undefined
  readonly url?: string | null | undefined
  readonly secret?: string | null | undefined
  readonly resourceKinds?: readonly string[] | null | undefined
}

function checkTarget(target: Pick<WebhookInput, 'url' | 'secret'>, check: InputCheck, sinks: Context['sinks']): void {
  check.url(['url'], target.url)
  for (const { field, message } of sinks.targetProblems(target)) check.add([field], message)
}

function checkWebhook(input: WebhookInput, check: InputCheck, { sinks }: Pick<Context, 'sinks'>): void {
  const { name, resourceKinds } = input
  check.name(['name'], name)
  checkTarget(input, check, sinks)
  if (check.list(['resourceKinds'], resourceKinds))
    resourceKinds?.forEach((kind, index) => {
      check.name(['resourceKinds', index], kind)
    })
}

function toSinkFilter({
  filter,
  resourceKinds,
}: Pick<WebhookInput, 'resourceKinds'> & {
  readonly filter?: typeof ChangeFilterRef.$inferInput | null | undefined
}) {
  return { ...toChangeFilter(filter), ...(resourceKinds && { resourceKinds }) }
}
