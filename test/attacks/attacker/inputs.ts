/** What the attacker sends: requests to every route, and operations on every transport of GraphQL. */
import type { GraphQLObjectType } from 'graphql'
import { schema } from '../../../src/api/graphql/schema.ts'
import { makeRequest, type RandomRequest } from '../random-document.ts'
import { type Body, randomBody } from './bodies.ts'
import { exportPaths, exportSearch, signInRoutes } from './export-routes.ts'
import { randomMessage as randomMcpMessage } from './mcp.ts'
import { type MqttInput, randomMessage } from './mqtt/inputs.ts'
import { knownOperation } from './operations.ts'
import type { Random } from './random.ts'
import { randomSignIn, type SignInInput } from './sign-in.ts'
import { validBody } from './valid-bodies.ts'

/** Whose credential it has: of the whole fleet, or of the attacker's part. */
export type Caller = 'admin' | 'scoped viewer' | 'scoped operator'

export interface RestInput {
  readonly kind: 'rest'
  readonly caller: Caller
  readonly method: string
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: Buffer | null
}

export interface OperationInput {
  readonly kind: 'operation'
  readonly caller: Caller
  readonly over: 'post' | 'get' | 'events' | 'parts' | 'later' | 'socket'
  readonly headers: Readonly<Record<string, string>>
  readonly request: RandomRequest
  readonly isSubscription: boolean
}

/** A frame on an open socket, whatever it is. */
interface FrameInput {
  readonly kind: 'frame'
  readonly text: string
}

/** What goes to the server itself. */
export type DirectInput = RestInput | OperationInput | FrameInput | SignInInput
export type Input = DirectInput | MqttInput

const group = '/v2/projects/p/composite-apps/a/v1/deployment-intent-groups/g'
const cluster = '/v2/cluster-providers/p/clusters/c'
/** Nothing that is made from the schema names it: no mutation retires it. */
export const device = 'edge-7'
/** A device that scoped callers do not see. All that is about it has this word, and no other input has it. */
export const hidden = 'secret-b'
const devices = [
  'edge-1',
  'edge-2',
  'gw%2Fchild',
  'gw',
  '%00',
  '%EF%BB%BFedge-1',
  'x'.repeat(300),
  '..',
  '%F0%9F%98%80',
]
const deployments = ['d-1', 'd-edge-1', '2f0e5b0c-94a5-4a5e-9d0b-6d2f5f3f7a11', '%ff', '%2B', '']

/** `{device}` and `{deployment}` stand for one of many. */
const routes: readonly (readonly [methods: string, path: string])[] = [
  ['POST', '/device/{device}/deployment/{deployment}/status'],
  ['POST', '/api/v1/device/{device}/deployment/{deployment}/status'],
  ['POST', '/margo/sbi/v1/device/{device}/deployment/{deployment}/status'],
  ['POST', '/margo/sbi/v1/client/{device}/deployment/{deployment}/status'],
  ['POST', '/api/v1/clients/{device}/deployment/{deployment}/status'],
  ['POST', '/v1alpha2/margo/api/v1/clients/{device}/deployments/{deployment}/status'],
  ['POST', '/api/v1/deployments/{deployment}/status'],
  ['POST', '/reports'],
  ['POST', '/reports'],
  ['POST', '/api/v1/onboarding'],
  ['POST PUT', '/api/v1/clients/{device}/capabilities'],
  ['GET', '/api/v1/deployments'],
  ['GET', '/api/v1/clients/{device}/deployments'],
  ['GET', '/api/v1/clients/{device}/deployments/{deployment}/sha256:00'],
  ['GET POST', '/git/{device}.git/info/refs'],
  ['POST', `${group}/actions`],
  ['PUT', `${group}/resource-bundle-states/p%2Bc`],
  ['POST', `${group}/instances/c-1/resources`],
  ['GET', `${group}/status`],
  ['PUT POST', `${cluster}/connectivity`],
  ['POST', `${cluster}/actions`],
  ['GET', `${cluster}/status`],
  ['GET POST', '/v1/instance'],
  ['GET PUT DELETE', '/v1/instance/i-1'],
  ['GET PUT', '/v1/instance/i-1/status'],
  ['GET POST', '/v1/instance/i-1/status/subscription'],
  ['GET PUT DELETE', '/v1/instance/i-1/status/subscription/s'],
  ['POST', '/api/cnf-adapter/v1/aai-update/'],
  ['POST', '/api/cnf-adapter/v1/aai-delete'],
  ['POST DELETE', '/session'],
  ['GET', '/metrics'],
  ['GET', '/backup'],
  ['GET POST', '/sites/v1/batches'],
  ['GET', '/readyz'],
  ['GET OPTIONS', '/{contract}'],
  ['GET', '/{device}'],
  ['GET', '/{page}'],
  ['POST', `/device/${hidden}/deployment/${hidden}-d/status`],
]
const pages = [
  ...[
    'rollouts/..%2f',
    'rollouts/%2e%2e/metrics',
    'rollouts/%',
    'devices/%ff',
    'rollouts//evil.example',
    '/evil.example/rollouts',
  ],
  ...['deployments/%00', 'assets/..%2f..%2fpackage.json', 'rollouts?x=y', `rollouts/${'..%5c'.repeat(9)}`, ''],
]
const contracts = [
  ...['openapi.json', 'openapi.yaml', 'asyncapi.json', 'asyncapi.yaml', '.well-known/api-catalog', 'schemas/'],
  ...['schemas/margo-status-1.0.json', 'schemas/__proto__.json', 'schemas/..%2fpackage.json', 'schemas/%00'],
  ...['schemas//evil.example', `schemas/${'x'.repeat(3_000)}`, 'schemas/%ff', 'openapi.json/'],
]
const searches = [
  '?output=detail&type=cluster',
  '?output=all',
  '?instance=%00',
  '?apps&clusters',
  '?a[]=1',
  '?status=ready',
]
const accepts = ['application/json', '*/*', 'text/html', 'application/problem+json', 'text/event-stream']

/** `hasBroker`: some of them are messages. */
export function randomInput(random: Random, hasBroker = false): Input {
  if (hasBroker && random.chance(10)) return randomMessage(random)
  const kind = random.below(100)
  if (kind < 80) return randomRest(random)
  if (kind < 82) return randomSignIn(random)
  if (kind < 98) {
    const root = random.choose(['Query', 'Query', 'Query', 'Mutation', 'Subscription'] as const)
    const request = random.chance(50)
      ? knownOperation(random, root)
      : makeRequest(schema.getType(root) as GraphQLObjectType, random.choose, random.chance)
    const isSubscription = root === 'Subscription'
    const over = random.choose(isSubscription ? streams : root === 'Query' ? overs : others)
    return {
      kind: 'operation',
      caller: randomCaller(random),
      over,
      headers: randomHeaders(random),
      request,
      isSubscription,
    }
  }
  return { kind: 'frame', text: randomFrame(random) }
}

function randomCaller(random: Random): Caller {
  return random.choose(['admin', 'admin', 'scoped viewer', 'scoped operator'])
}

function randomHeaders(random: Random): Record<string, string> {
  const revision = ['1', '-1', '9007199254740991', '99999999999999999999', '1e3', 'x', '']
  return {
    ...(random.chance(5) && { 'rollcall-cost': random.choose(['include', 'x']) }),
    // A revision of the future makes a reader wait.
    ...(random.chance(3) && { 'rollcall-revision': random.choose(revision) }),
  }
}

const overs = ['get', 'post', 'events', 'later', 'socket'] as const
const others = ['post', 'events', 'later', 'socket'] as const
const streams = ['events', 'parts', 'socket'] as const

/** Exports and sign-in have many routes, of which most inputs are refused. */
function randomRoute(random: Random): (typeof routes)[number] {
  const group = random.below(100)
  if (group > 94) return ['POST', '/mcp']
  if (group < 5) return ['GET', random.choose(exportPaths)]
  return group < 9 ? random.choose(signInRoutes) : random.choose(routes)
}

function randomRest(random: Random): RestInput {
  const [methods, template] = randomRoute(random)
  const method = random.chance(97) ? random.choose(methods.split(' ')) : random.choose(['PATCH', 'OPTIONS', 'DELETE'])
  const path = template
    .replace('{device}', () => (random.chance(80) ? device : random.choose(devices)))
    .replace('{page}', () => random.choose(pages))
    .replace('{contract}', () => random.choose(contracts))
    .replace('{deployment}', () => (random.chance(80) ? `d-${random.below(500)}` : random.choose(deployments)))
  const search = template.startsWith('/export/')
    ? exportSearch(random)
    : random.chance(20)
      ? random.choose(searches)
      : ''
  const body = method === 'GET' ? null : bodyFor(random, path, dialectOf(template))
  const headers: Record<string, string> = { accept: random.choose(accepts) }
  if (body && body.type !== '') headers['content-type'] = body.type
  if (random.chance(2)) headers['content-digest'] = 'sha-256=:AAAA:'
  if (random.chance(2)) headers['signature-input'] = 'sig=("@method" "@target-uri");created=1;keyid="k"'
  if (random.chance(2)) headers['if-none-match'] = random.choose(['*', '"x"', 'W/"', '"'.repeat(50)])
  const caller = random.chance(80) ? 'admin' : randomCaller(random)
  if (path === '/mcp' && search === '' && random.chance(90)) {
    const { headers: own, body: message } = randomMcpMessage(random)
    const sent = { ...own, 'content-type': 'application/json' }
    return { kind: 'rest', caller, method, path, headers: sent, body: Buffer.from(JSON.stringify(message)) }
  }
  return { kind: 'rest', caller, method, path: path + search, headers, body: body?.bytes ?? null }
}

/** Half of them valid, where the route takes any. */
function bodyFor(random: Random, path: string, dialect: string): Body {
  const valid = random.chance(50) ? validBody(random, path) : null
  if (valid === null) return randomBody(random, dialect)
  return { type: 'application/json', bytes: Buffer.from(JSON.stringify(valid)) }
}

function dialectOf(path: string): string {
  if (path.startsWith('/v2/')) return 'emco'
  return /^\/(v1|api\/cnf-adapter)\//.test(path) ? 'k8splugin' : 'margo'
}

function randomFrame(random: Random): string {
  const frame = {
    id: random.choose<unknown>(['1', '', 7, null, 'x'.repeat(5_000)]),
    type: random.choose<unknown>(['subscribe', 'complete', 'ping', 'pong', 'next', 'connection_init', '', null]),
    payload: random.choose<unknown>([
      { query: '{ revision }' },
      { query: '{', variables: [] },
      { query: 7 },
      { query: 'subscription { changes { cursor } }' },
      {},
      null,
      'x',
    ]),
  }
  return random.chance(90) ? JSON.stringify(frame) : random.choose(['', '{', '[]', 'null', '\u0000', '"subscribe"'])
}

/** In a few words, from its begin. */
export function describe(input: Input, length: number): string {
  const text =
    input.kind === 'sign-in' || input.kind === 'mqtt'
      ? `${input.kind} ${JSON.stringify({ ...input, payload: 'payload' in input ? input.payload.toString('utf8', 0, length) : '' })}`
      : input.kind === 'frame'
        ? `frame ${input.text}`
        : input.kind === 'rest'
          ? `${input.caller}: ${input.method} ${input.path} ${JSON.stringify(input.headers)} ${input.body?.length ?? 0} B ${input.body?.toString('utf8', 0, length) ?? ''}`
          : `${input.caller} over ${input.over}: ${JSON.stringify(input.request)}`
  return text.slice(0, length)
}
