/** Makes the OpenAPI and AsyncAPI documents, the JSON Schemas of bodies and the catalog of all. The package has them made already (server/build/build.ts). */
import { stringify } from 'yaml'
import { DomainError, type ErrorCode, errorCodes } from '../../../domain/errors.ts'
import { describeAccess } from '../../../domain/principal.ts'
import { type Answer, fieldProblems, object, type Schema, string, usedBy } from '../../../ingest/dialects/contract.ts'
import { dialects } from '../../../ingest/dialects/index.ts'
import { problemTypes, toProblem } from '../problem.ts'
import { makeAsyncapi } from './asyncapi.ts'
import { type Described, ofDialect, ofServer } from './described.ts'
import { ownContract } from './own.ts'

/** The text of each document, by path. */
export async function makeContracts(): Promise<ReadonlyMap<string, string>> {
  const contracts = await Promise.all(
    dialects.map(async (dialect) => ({ dialect, contract: await dialect.contract() })),
  )
  const said = [...contracts.map(({ contract }) => contract), ownContract]
  const described = [...contracts.flatMap(({ dialect, contract }) => ofDialect(dialect, contract)), ...ofServer()]
  const schemas: Readonly<Record<string, Schema>> = Object.assign({ problem }, ...said.map((one) => one.schemas))
  const bodies = new Set(described.flatMap(({ body = {} }) => Object.keys(body)))
  const codes = [...new Set(described.flatMap(codesOf))]
  const document = {
    openapi: '3.1.1',
    info: {
      ...{ title: 'Rollcall', version: '1.0', summary: 'The live status service of an edge fleet.' },
      description:
        'The routes over HTTP. Queries and subscriptions are in GraphQL: its schema is at /schema.graphql. The JSON Schema of each body is a document of its own, such as /schemas/margo-status-1.0.json.',
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: '/' }],
    tags: said.map(({ tag, description }) => ({ name: tag, description })),
    paths: Object.fromEntries(
      [...Map.groupBy(described, ({ path }) => path)].map(([path, methods]) => [path, pathOf(methods)]),
    ),
    components: {
      securitySchemes,
      parameters: Object.fromEntries(
        described.flatMap(({ parameters }) => Object.entries(parameters).map(parameterOf)),
      ),
      requestBodies: Object.fromEntries(described.flatMap((one) => (one.body ? [[bodyName(one), bodyOf(one)]] : []))),
      responses: Object.fromEntries(
        byStatus(codes).map(([status, some]) => [`problem-${status}`, problemOf(status, some)]),
      ),
      schemas,
    },
  }
  return new Map([
    ...inBoth('openapi', document),
    ...inBoth('asyncapi', makeAsyncapi(schemas)),
    ...[...bodies].map((name) => [`/schemas/${name}.json`, JSON.stringify(alone(name, schemas))] as const),
    ['/.well-known/api-catalog', JSON.stringify({ linkset })],
  ])
}

const inBoth = (name: string, document: object) =>
  [
    [`/${name}.json`, JSON.stringify(document)],
    [`/${name}.yaml`, stringify(document, { lineWidth: 0, aliasDuplicateObjects: false })],
  ] as const

const events = [
  { href: '../asyncapi.json', type: 'application/json' },
  { href: '../asyncapi.yaml', type: 'application/yaml' },
]

/** RFC 9264. Its addresses are relative: a proxy may put a prefix before all paths. */
const linkset = [
  {
    anchor: '../',
    'service-desc': [
      { href: '../openapi.json', type: 'application/json' },
      { href: '../openapi.yaml', type: 'application/yaml' },
      ...events,
    ],
    status: [{ href: '../readyz', type: 'application/json' }],
  },
  { anchor: '../graphql', 'service-desc': [{ href: '../schema.graphql', type: 'text/plain' }, ...events] },
]

const securitySchemes = {
  deviceToken: { type: 'http', scheme: 'bearer', description: 'The token of a device.' },
  deviceSignature: {
    ...{ type: 'apiKey', in: 'header', name: 'Signature' },
    description: 'RFC 9421, with Signature-Input and Content-Digest: docs/device-identity.md.',
  },
  deviceCertificate: { type: 'mutualTLS', description: 'The certificate of a device.' },
  apiKey: { type: 'http', scheme: 'bearer', description: 'An API key, or a JWT.' },
  session: { type: 'apiKey', in: 'cookie', name: '__Host-rollcall', description: 'Of POST /session.' },
}
const ofDevice = [{ deviceToken: [] }, { deviceSignature: [] }, { deviceCertificate: [] }]
const ofCaller = [{ apiKey: [] }, { session: [] }]

function pathOf(methods: readonly Described[]): object {
  const [{ parameters, prefixes } = { parameters: {}, prefixes: [''] }] = methods
  const names = Object.keys(parameters)
  return {
    ...(prefixes.length > 1 && { servers: prefixes.map((prefix) => ({ url: prefix || '/' })) }),
    ...(names.length > 0 && { parameters: names.map((name) => ({ $ref: `#/components/parameters/${name}` })) }),
    ...Object.fromEntries(methods.map((one) => [one.method.toLowerCase(), operationOf(one)])),
  }
}

function operationOf(one: Described): object {
  const { operationId, tag, summary, description, access, query = {}, body, answers } = one
  const isOpen = access === 'public' || access === 'device'
  const needs = isOpen ? [] : [`It needs ${describeAccess(access)}.`]
  const responses = [
    ...Object.entries(answers).map(([status, answer]) => [status, answerOf(answer)] as const),
    ...byStatus(codesOf(one)).flatMap(([status]) =>
      status in answers ? [] : [[status, { $ref: `#/components/responses/problem-${status}` }] as const],
    ),
  ]
  return {
    ...{ operationId, tags: [tag], summary },
    ...((description || needs.length > 0) && { description: [description, ...needs].filter(Boolean).join(' ') }),
    security: access === 'public' ? [] : access === 'device' ? ofDevice : ofCaller,
    ...(Object.keys(query).length > 0 && {
      parameters: Object.entries(query).map(([name, { description, ...schema }]) => ({
        ...{ name, in: 'query', description, schema },
      })),
    }),
    ...(body && { requestBody: { $ref: `#/components/requestBodies/${bodyName(one)}` } }),
    responses: Object.fromEntries(responses),
  }
}

const parameterOf = ([name, { description, example }]: readonly [string, Described['parameters'][string]]) =>
  [name, { name, in: 'path', required: true, description, schema: string, example }] as const

function answerOf({ description, schema, media = ['application/json'], example }: Answer): object {
  const content = { schema, ...(example !== undefined && { example }) }
  return { description, ...(schema && { content: Object.fromEntries(media.map((one) => [one, content])) }) }
}

/** The copies of an operation have one body. */
const bodyName = ({ operationId }: Described): string => operationId.split('_')[0] ?? operationId

function bodyOf({ body = {}, media = [], limit }: Described): object {
  const forms = Object.entries(body)
  const schema = forms.length < 2 ? refTo(forms[0]?.[0] ?? '') : { anyOf: forms.map(([name]) => refTo(name)) }
  const examples = Object.fromEntries(forms.map(([name, value]) => [name, { value }]))
  return {
    ...(limit && { description: `At most ${limit} bytes, as sent and after decompression.` }),
    required: true,
    content: Object.fromEntries(
      media.map((one, i) => [one, forms.length > 0 ? { schema, ...(i === 0 && { examples }) } : { schema: string }]),
    ),
  }
}

const refTo = (name: string) => ({ $ref: `#/components/schemas/${name}` })

/** What any request can meet, and what follows from its access, its path and its body. */
function codesOf({ access, body, parameters, problems = [] }: Described): readonly ErrorCode[] {
  return [
    ...(['INVALID_REQUEST', 'TOO_MANY', 'UNAVAILABLE'] as const),
    ...(access === 'public' ? [] : (['UNAUTHENTICATED', 'FORBIDDEN'] as const)),
    ...(access === 'device' ? (['DEVICE_RETIRED'] as const) : []),
    ...(Object.keys(parameters).length > 0 ? (['SEMANTIC_ERROR'] as const) : []),
    ...(body ? (['TOO_LARGE', 'UNSUPPORTED_MEDIA_TYPE', 'SEMANTIC_ERROR'] as const) : []),
    ...problems,
  ]
}

function byStatus(codes: readonly ErrorCode[]): readonly (readonly [number, readonly ErrorCode[]])[] {
  return [...Map.groupBy(codes, (code) => errorCodes[code].status)].toSorted(([a], [b]) => a - b)
}

const problem = object(
  {
    type: { ...string, format: 'uri-reference' },
    ...{ title: string, status: { type: 'integer' }, 'code?': string, detail: string },
    retryable: { type: 'boolean', description: 'Whether the same request can succeed later.' },
    errors: fieldProblems,
    error: { ...string, description: 'As detail, for older clients.' },
    'limit?': { ...string, description: 'The limit that is reached.' },
    'max?': { type: 'number', description: 'What it allows.' },
    'retryAfterSeconds?': { type: 'integer' },
    'backoffStrategy?': string,
    'id?': { ...string, description: "Of an unexpected error, in the server's log." },
  },
  'RFC 9457.',
)

function problemOf(status: number, codes: readonly ErrorCode[]): object {
  const types = [...new Set(codes.map((code) => problemTypes[code] ?? 'about:blank'))]
  const [code = 'INVALID_REQUEST'] = codes
  const example = JSON.parse(toProblem(new DomainError(code, errorCodes[code].title), '').body)
  return {
    description: [...new Set(codes.map((one) => errorCodes[one].title))].join(', or '),
    ...(status === 429 || status === 503
      ? { headers: { 'Retry-After': { description: 'Seconds.', schema: { type: 'integer' } } } }
      : {}),
    content: {
      'application/problem+json': {
        schema: {
          allOf: [
            refTo('problem'),
            object({ status: { const: status }, code: { enum: codes }, type: { enum: types } }),
          ],
        },
        // The server's is random.
        example: { ...example, ...('retryAfterSeconds' in example && { retryAfterSeconds: 5 }) },
      },
    },
  }
}

/** A schema as a document of its own, with what it refers to. */
function alone(name: string, schemas: Readonly<Record<string, Schema>>): object {
  const used = usedBy(schemas[name], schemas)
  const whole = {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    $id: `/schemas/${name}.json`,
    ...schemas[name],
    ...(used.length > 0 && { $defs: Object.fromEntries(used.map((one) => [one, schemas[one]])) }),
  }
  return JSON.parse(JSON.stringify(whole).replaceAll('#/components/schemas/', '#/$defs/'))
}
