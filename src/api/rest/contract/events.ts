/** What the AsyncAPI document says of topics, of the transports of subscriptions, and of webhooks. One without a description does not compile. */
import type { MessageType } from 'graphql-ws'
import {
  anything,
  digits,
  list,
  object,
  ref,
  revision,
  type Schema,
  string,
  time,
} from '../../../ingest/dialects/contract.ts'
import type { SinkKind } from '../../../store/sinks/sinks.ts'
import { changes, convergence, details, error, orNull, state, target, version } from './changes.ts'
import { type Topic, topics } from './topics.ts'

export interface Message {
  readonly says: string
  /** Absent: there is none. */
  readonly payload?: Schema
  readonly contentType?: string
  /** User properties of MQTT, headers of HTTP, fields of an event. */
  readonly headers?: Readonly<Record<string, Schema>>
}
type Messages = Readonly<Record<string, Message>>

export interface Channel {
  readonly server: 'broker' | 'http' | 'webSocket' | 'receiver'
  /** Null: the receiver has registered it. */
  readonly address: string | null
  readonly says: string
  readonly receives?: Messages
  readonly sends?: Messages
  /** The channel of the answers. */
  readonly answers?: string
  readonly isRetained?: boolean
}

const word = (text: string): Schema => ({ const: text })
const text = orNull(string)
const name = { name: string }
const form = (type: string) => ({ contentType: type })
const json = form('application/json')

const credential = {
  'authorization?': string,
  ...{ 'content-digest?': string, 'signature-input?': string, 'signature?': string },
}
const published = { revision, 'kind?': string }
const reset = object({ reason: word('CURSOR_EXPIRED'), from: revision, to: revision }, 'Changes between both are gone.')
const deployment = object({
  ...{ id: string, deploymentId: string, reporter: text, state, error: error, ...details, convergence },
  ...{ application: text, applicationVersion: text, adoptedManifestVersion: orNull(version) },
  ...{ attempt: { type: 'integer' }, stalled: { type: 'boolean' } },
  components: list(object({ ...name, state, error: error, 'notUnderstood?': string })),
  ...{ reportedAt: orNull(time('The clock of the reporter.')), changedAt: time('The clock of the server.'), revision },
  ...{ 'target?': target, 'rollout?': object({ id: string, kind: string, ...name }) },
})
const rollout = object({
  ...{ id: string, kind: string, ...name, project: text, compositeApp: text, compositeAppVersion: text },
  ...{ provider: text, counts: { type: 'object', additionalProperties: { type: 'integer' } } },
})

const toBroker: Readonly<Record<Topic, Pick<Channel, 'says' | 'receives' | 'sends' | 'answers' | 'isRetained'>>> = {
  report: {
    says: 'Devices report the state of a deployment.',
    receives: {
      report: {
        ...json,
        says: 'The body of any generation, as over HTTP.',
        payload: ref('margo-status'),
        headers: credential,
      },
    },
    answers: 'answer',
  },
  connection: {
    says: 'The birth and the last will of a device.',
    receives: {
      connection: {
        ...{ ...form('text/plain'), says: 'Whether it is connected.', payload: { enum: ['online', 'offline'] } },
        headers: { 'observedAt?': time('When the device began to connect.'), ...credential },
      },
    },
    answers: 'answer',
  },
  answer: {
    says: 'Answers to a device, at the Response Topic of its message: here, or at most eight levels below.',
    sends: {
      acknowledgement: { ...json, says: 'It is committed.', payload: ref('margo-acknowledgement') },
      refusal: { ...form('application/problem+json'), says: 'It is refused.', payload: ref('problem') },
    },
  },
  deployment: {
    says: 'The present of a deployment. Without content: it is gone.',
    sends: { deployment: { ...json, says: 'Its state.', payload: deployment } },
    isRetained: true,
  },
  rollout: {
    says: 'A rollout. Without content: it is gone.',
    sends: { rollout: { ...json, says: 'Its deployments by state.', payload: rollout } },
    isRetained: true,
  },
  revision: {
    says: 'What the retained messages have reached.',
    sends: { revision: { ...json, says: 'A revision.', payload: object({ revision, epoch: revision }) } },
    isRetained: true,
  },
  reading: {
    says: 'Of Rollcall to itself: the end of the retained messages that it reads.',
    sends: { end: { says: 'It has no content.' } },
  },
  change: {
    says: 'Each change, in order.',
    sends: Object.fromEntries(
      [...changes].map(([kind, payload]) => [
        kind,
        { ...json, says: String(payload.description), payload: ref(kind), headers: published },
      ]),
    ),
  },
  reset: {
    says: 'A gap in the changes.',
    sends: { reset: { ...json, says: 'Ask for the present.', payload: reset, headers: published } },
  },
}

const result = ref('graphql-result')
const one = (type: string, more: Readonly<Record<string, Schema>> = {}): Message => ({
  ...{ ...json, says: 'As graphql-transport-ws has it.', payload: object({ type: word(type), ...more }) },
})
const about = { 'payload?': anything('Anything.') }
const bySocket: Readonly<Record<`${MessageType}`, readonly ['receives' | 'sends' | 'both', Message]>> = {
  connection_init: ['receives', one('connection_init', { 'payload?': object({ 'authorization?': string }) })],
  connection_ack: ['sends', one('connection_ack', about)],
  ping: ['both', one('ping', about)],
  pong: ['both', one('pong', about)],
  subscribe: ['receives', one('subscribe', { id: string, payload: ref('graphql-request') })],
  next: ['sends', one('next', { id: string, payload: result })],
  error: ['sends', one('error', { id: string, payload: ref('graphql-errors') })],
  complete: ['both', one('complete', { id: string })],
}
const socketMessages = (way: 'receives' | 'sends'): Messages =>
  Object.fromEntries(
    Object.entries(bySocket).flatMap(([type, [of, message]]) => (of === way || of === 'both' ? [[type, message]] : [])),
  )

const continued = { 'last-event-id?': digits('Of `changes`: the cursor, by which Last-Event-ID continues it.') }
const ask: Message = { ...json, says: 'A subscription, by POST or GET.', payload: ref('graphql-request') }

/** Structured JSON (CloudEvents), signed (Standard Webhooks). */
const event = (type: string, says: string, data: Schema): Message => ({
  ...{ ...form('application/cloudevents+json'), says },
  headers: {
    'webhook-id': { ...string, description: 'That of the event. A receiver drops one that it has.' },
    'webhook-timestamp': digits('Seconds since 1970.'),
    'webhook-signature?': { ...string, pattern: '^v1,', description: 'HMAC-SHA256 of id.timestamp.body, in base64.' },
  },
  payload: object({
    ...{ specversion: word('1.0'), id: string, source: string, type: word(`rollcall.${type}`), 'subject?': string },
    ...{ time: time('The clock of the server.'), 'traceparent?': string },
    ...{ datacontenttype: word('application/json'), data },
  }),
})

const objects = list(object({ ...name, GVK: object({ Group: string, Version: string, Kind: string }), status: {} }))
/** What an Alertmanager and A&AI are sent is of their own APIs. */
const sinks: Readonly<Record<Lowercase<Exclude<SinkKind, 'ALERTMANAGER' | 'INVENTORY'>>, Channel>> = {
  webhook: {
    ...{ server: 'receiver', address: null, says: 'Each change that the filter of a webhook wants, in order.' },
    sends: {
      ...Object.fromEntries(
        [...changes].map(([kind, { description }]) => [kind, event(kind, String(description), ref(kind))]),
      ),
      reset: event('reset', 'A gap in the changes: ask for the present.', reset),
      test: event('test', 'What testSink sends.', object({ webhook: string })),
    },
  },
  callback: {
    ...{
      server: 'receiver',
      address: null,
      says: "k8splugin's status subscriptions: what has changed since the last.",
    },
    sends: {
      status: {
        ...{ ...json, says: 'Resources. The first has all of them as created.' },
        headers: { 'x-rollcall-signature?': { ...string, pattern: '^sha256=[0-9a-f]{64}$' } },
        payload: object({
          ...{ 'instance-id': string, 'subscription-name': string, metadata: {} },
          'resource-changes': object({ created: objects, modified: objects, deleted: objects }),
        }),
      },
    },
  },
}

export const channels: Readonly<Record<string, Channel>> = {
  ...Object.fromEntries(
    Object.entries(toBroker).map(([topic, said]) => [
      topic,
      { ...said, server: 'broker', address: `{prefix}/${topics[topic as Topic]}` } as const,
    ]),
  ),
  graphqlSocket: {
    ...{ server: 'webSocket', address: '/graphql', says: 'Operations over a WebSocket: graphql-transport-ws.' },
    ...{ receives: socketMessages('receives'), sends: socketMessages('sends') },
  },
  graphqlEvents: {
    ...{
      server: 'http',
      address: '/graphql',
      says: 'One subscription as server-sent events. Last-Event-ID continues it.',
    },
    receives: { ask },
    sends: {
      next: {
        ...{ ...json, says: 'A result.', payload: result },
        headers: { event: word('next'), 'id?': digits('The cursor, of `changes`.') },
      },
      complete: { says: 'The end.', headers: { event: word('complete') } },
    },
  },
  graphqlParts: {
    ...{
      server: 'http',
      address: '/graphql',
      says: "One subscription over multipart HTTP, as Apollo's clients ask for it.",
    },
    receives: { ask },
    sends: {
      next: { ...json, says: 'A result.', payload: object({ payload: result }), headers: continued },
      heartbeat: { ...json, says: 'The connection is open.', payload: object({}), headers: continued },
      failure: {
        ...{ ...json, says: 'The stream ends by an error.' },
        payload: object({ payload: { type: 'null' }, errors: ref('graphql-errors') }),
      },
    },
  },
  ...sinks,
}
