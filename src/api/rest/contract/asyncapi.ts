/** Makes the AsyncAPI document of events.ts. */
import { anything, list, object, ref, type Schema, string, usedBy } from '../../../ingest/dialects/contract.ts'
import { changes, parts } from './changes.ts'
import { type Channel, channels, type Message } from './events.ts'

const host = (address: string, description: string) => ({ default: address, description })
const device = [{ type: 'userPassword' }, { type: 'X509' }]
const caller = [{ type: 'http', scheme: 'bearer', description: 'An API key, or a JWT.' }]
const servers: Readonly<Record<Channel['server'], object>> = {
  broker: {
    ...{ host: '{broker}', protocol: 'mqtt', protocolVersion: '5', security: device },
    variables: { broker: host('127.0.0.1:1883', 'That of MQTT_URL.') },
  },
  http: {
    host: '{host}',
    protocol: 'http',
    security: caller,
    variables: { host: host('127.0.0.1:4000', 'This server.') },
  },
  webSocket: {
    ...{ host: '{host}', protocol: 'ws', security: caller },
    variables: { host: host('127.0.0.1:4000', 'This server.') },
  },
  receiver: {
    ...{ host: '{receiver}', protocol: 'https', description: 'Who is notified.' },
    variables: { receiver: host('receiver.example', 'That of its URL.') },
  },
}

/** The levels of topics. */
const levels: Readonly<Record<string, object>> = {
  prefix: { description: 'The first levels: MQTT_PREFIX.', default: 'rollcall' },
  deviceId: { description: 'The device. Its slashes are percent-encoded.', examples: ['edge-1'] },
  deploymentId: { description: 'The deployment.', examples: ['pump'] },
  id: { description: 'Its ID in GraphQL.', examples: ['RGVwbG95bWVudDox'] },
  kind: { description: 'That of the change.', enum: [...changes.keys()] },
}

const errors = list(
  object({ message: string, 'path?': list({}), 'locations?': list({}), 'extensions?': anything('Its code.') }),
)

/** `given`: the schemas of the OpenAPI document. */
export function makeAsyncapi(given: Readonly<Record<string, Schema>>): object {
  const all = Object.entries(channels)
  const schemas: Readonly<Record<string, Schema>> = {
    ...{ ...given, ...parts, ...Object.fromEntries(changes), 'graphql-errors': errors },
    'graphql-result': object({ 'data?': {}, 'errors?': errors, 'extensions?': anything('The cost, where asked for.') }),
    'margo-status': {
      anyOf: Object.keys(given).flatMap((name) => (name.startsWith('margo-status-') ? [ref(name)] : [])),
    },
  }
  const document = {
    asyncapi: '3.1.0',
    info: {
      ...{ title: 'Rollcall', version: '1.0' },
      description:
        'What is sent and received besides answers over HTTP, which /openapi.json has. /schema.graphql has the subscriptions.',
      license: { name: 'Apache-2.0', url: 'https://www.apache.org/licenses/LICENSE-2.0' },
    },
    defaultContentType: 'application/json',
    servers,
    channels: Object.fromEntries(all.map(([name, channel]) => [name, channelOf(channel)])),
    operations: Object.fromEntries(
      all.flatMap(([name, channel]) => [
        ...(channel.receives ? [[`receive-${name}`, operationOf(name, channel, 'receive')] as const] : []),
        ...(channel.sends ? [[`send-${name}`, operationOf(name, channel, 'send')] as const] : []),
      ]),
    ),
  }
  const used = usedBy(document, schemas)
  return { ...document, components: { schemas: Object.fromEntries(used.map((name) => [name, schemas[name]])) } }
}

function channelOf({ address, server, says, receives, sends, answers }: Channel): object {
  const names = [...(address ?? '').matchAll(/\{(\w+)\}/g)].map(([, name = '']) => name)
  return {
    ...{ address, description: says, servers: [{ $ref: `#/servers/${server}` }] },
    ...(names.length > 0 && { parameters: Object.fromEntries(names.map((name) => [name, levels[name]])) }),
    messages: Object.fromEntries(
      Object.entries({ ...receives, ...sends }).map(([name, message]) => [name, messageOf(message, answers)]),
    ),
  }
}

function messageOf({ says, payload, contentType, headers }: Message, answers: string | undefined): object {
  const asking = { responseTopic: '{prefix}/{deviceId}/responses', correlationData: string }
  return {
    ...{ summary: says, ...(contentType && { contentType }), ...(headers && { headers: object(headers) }) },
    ...(payload && { payload }),
    ...(answers && { bindings: { mqtt: { ...asking, bindingVersion: '0.2.0' } } }),
  }
}

function operationOf(name: string, channel: Channel, action: 'receive' | 'send'): object {
  const { server, says, receives = {}, sends = {}, answers, isRetained = false } = channel
  const bindings = {
    broker: { mqtt: { qos: 1, retain: isRetained, bindingVersion: '0.2.0' } },
    receiver: { http: { method: 'POST', bindingVersion: '0.3.0' } },
    ...{ http: null, webSocket: null },
  }[server]
  const at = { $ref: `#/channels/${name}` }
  return {
    ...{ action, channel: at, summary: says },
    messages: Object.keys(action === 'receive' ? receives : sends).map((one) => ({
      $ref: `${at.$ref}/messages/${one}`,
    })),
    ...(bindings && { bindings }),
    ...(answers && { reply: { channel: { $ref: `#/channels/${answers}` } } }),
  }
}
