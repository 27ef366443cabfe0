/** What the OpenAPI document says of the routes that belong to no dialect. One without a description does not compile: `OwnRoutes` is the type of their table. */
import {
  type Answer,
  anything,
  type Contract,
  list,
  type Operation,
  object,
  revision,
  type Schema,
  string,
} from '../../../ingest/dialects/contract.ts'
import type { Methods, Route } from '../exchange.ts'

export interface OwnOperation extends Operation, Pick<Route, 'access' | 'media'> {
  readonly operation: string
}

export type OwnRoutes = Readonly<Partial<Record<keyof typeof own, Methods>>>

const query = (description: string): Schema => ({ type: 'string', description })
const json = (description: string, members?: Readonly<Record<string, Schema>>): Answer => ({
  ...{ description, schema: members ? object(members) : anything('As described.') },
})
const file = (...media: readonly string[]): Answer => ({ description: 'The content.', media, schema: string })
const unchanged = { description: 'The client has it: its If-None-Match names it.' }

type More = Partial<OwnOperation>
type Access = Route['access']
const does = (operation: string, access: Access, summary: string, ok: Answer, more: More = {}): OwnOperation => ({
  ...{ operation, access, summary, answers: { 200: ok }, ...more },
})
const get = (operation: string, access: Access, summary: string, ok: Answer, more?: More) => ({
  GET: does(operation, access, summary, ok, more),
})
const post = (operation: string, summary: string, body: More['body'], answers: More['answers'], more: More = {}) => ({
  POST: {
    ...does(operation, 'public', summary, unchanged, {
      ...{ ...(answers && { answers }), ...(body && { body, media: ['application/json'] }), ...more },
    }),
  },
})

/** Their handlers find out who calls. */
const refused = { problems: ['UNAUTHENTICATED', 'FORBIDDEN'] } as const
const contract = (operation: string, summary: string, media: string, more: More = {}) =>
  get(operation, 'public', summary, file(media), { ...more, answers: { 200: file(media), 304: unchanged } })
const redirects = {
  302: { description: 'The browser goes on there.' },
  default: { ...file('text/html', 'application/problem+json'), description: 'A page, which says why not.' },
}
const ready = { status: string, 'reason?': string }
const principal = { name: string, roles: list(string) }
const git = (service: string) => file(`application/x-git-upload-pack-${service}`)
const missing = { problems: ['NOT_FOUND', 'NOT_FOUND_YET'] } as const
const resource = (operation: string) =>
  get(operation, 'public', 'Find out who issues tokens for /mcp (RFC 9728)', json('The issuers.'))

const siteBatch = { protocol: 1, version: '0.1.0', sentAt: 0, after: null, upTo: {}, backlog: 0 }
const siteAnswers = {
  200: json('Taken, after COMMIT.'),
  409: json('Nothing was taken: where this server is, or which keys it does not know.'),
}

const moment = { atRevision: query('The revision of the export.'), asOf: query('The time that it reflects.') }
const span = { since: query('Recorded at this time or later.'), before: query('Recorded before this time.') }
const conditions = { selector: query('Conditions on labels.'), where: query('JSON: as `where` in GraphQL.') }
const log = { ...moment, afterRevision: query('Only what came after that revision.'), ...span, ...conditions }
const exportsOf = <Kind extends string>(kind: Kind, access: Access, parameters: More['query']) => {
  const more: More = {
    problems: ['BAD_USER_INPUT', 'HISTORY_EXPIRED', 'NOT_ACCEPTABLE', 'TIMED_OUT'],
    query: { format: query('ndjson, csv or parquet.'), after: query('After the row with this cursor.'), ...parameters },
  }
  const rows = file('application/x-ndjson', 'text/csv', 'application/vnd.apache.parquet')
  const figures = json('Its rows and its hash.', { location: string, 'revision?': revision })
  return {
    [`/export/${kind}`]: get(`export_${kind}`, access, `Export ${kind}`, rows, more),
    [`/export/${kind}/manifest`]: get(`describe_${kind}`, access, `Describe an export of ${kind}`, figures, more),
  } as Readonly<Record<`/export/${Kind}` | `/export/${Kind}/manifest`, { readonly GET: OwnOperation }>>
}

export const own = {
  '/': get('showPage', 'public', 'Show the page, or a text', file('text/html', 'text/plain')),
  '/assets/*': get('showAsset', 'public', 'Fetch a file of the page', file('text/javascript', 'text/css'), missing),
  '/healthz': get('checkLiveness', 'public', 'Check that the process responds', json('It does.', { status: string })),
  '/readyz': get('checkReadiness', 'public', 'Check that the server takes requests', json('It does.', ready), {
    query: { verbose: query('Adds duties, standbys and connections.') },
    answers: { 200: json('It does.', ready), 503: json('It does not.', ready) },
  }),
  '/metrics': get('showMetrics', 'viewer of all', 'Read metrics', file('text/plain', 'application/openmetrics-text')),
  '/version': get('showVersion', 'viewer', 'Show the version', json('The version.', { version: string, node: string })),
  '/schema.graphql': get('showSchema', 'viewer', 'Fetch the schema of GraphQL', file('text/plain'), {
    answers: { 200: file('text/plain'), 304: unchanged },
  }),
  '/openapi.json': contract('showOpenapi', 'Fetch this document', 'application/json'),
  '/openapi.yaml': contract('showOpenapiYaml', 'Fetch this document in YAML', 'application/yaml'),
  '/asyncapi.json': contract('showAsyncapi', 'Fetch the document of events', 'application/json'),
  '/asyncapi.yaml': contract('showAsyncapiYaml', 'Fetch the document of events in YAML', 'application/yaml'),
  '/schemas/*': contract('showBodySchema', 'Fetch the JSON Schema of a body', 'application/schema+json', missing),
  '/.well-known/api-catalog': contract('showCatalog', 'List the contracts (RFC 9727)', 'application/linkset+json'),
  '/backup': get('backUp', 'admin of all', 'Copy the embedded database', file('application/zstd'), {
    problems: ['CONFLICT'],
  }),
  '/sites/v1/batches': {
    ...get(
      'showSitePosition',
      'public',
      'Sites: find out where this server is in the log of a site',
      json('Its position.'),
      refused,
    ),
    ...post('sendSiteBatch', 'Sites: send what a site reports', { 'site-batch': siteBatch }, siteAnswers, refused),
  },
  '/graphql': post(
    'ask',
    'Query, change or subscribe in GraphQL',
    { 'graphql-request': { query: '{ revision }' } },
    { 200: json('As GraphQL over HTTP has it.') },
    { access: 'viewer', description: 'GET, event streams and WebSockets, too: docs/graphql.md.' },
  ),
  '/session': {
    ...get('showSession', 'public', 'Show the caller', json('The caller.', principal), refused),
    ...post(
      'signIn',
      'Open a session',
      { credential: { credential: 'rk_…' } },
      { 201: json('It is.', principal) },
      refused,
    ),
    DELETE: does('signOut', 'public', 'End the session', json('It is ended.'), refused),
  },
  '/session/oidc': get(
    'showIssuer',
    'public',
    'Find the issuer',
    json('The issuer.', { name: string, issuer: string }),
  ),
  '/session/oidc/login': get('beginSignIn', 'public', 'Sign in with a browser', redirects.default, {
    ...{ answers: redirects, query: { returnTo: query('A path of this server.') } },
  }),
  '/session/oidc/callback': get('endSignIn', 'public', 'Come back from the issuer', redirects.default, {
    ...{ answers: redirects, query: { code: query('Of the issuer.'), state: query('Of the issuer.') } },
  }),
  '/session/oidc/logout': post('endOidcSession', 'End the session', undefined, { 200: json('It is ended.') }, refused),
  '/session/oidc/backchannel': post(
    'endSessions',
    'End sessions, as the issuer',
    { 'logout-token': { logout_token: 'eyJ…' } },
    { 200: { description: 'They are ended.' } },
    { media: ['application/x-www-form-urlencoded'] },
  ),
  '/session/oidc/device': post('beginTerminal', 'Sign in at a terminal', undefined, { 200: json('To show.') }, refused),
  '/session/oidc/device/token': post(
    'pollTerminal',
    'Wait for the sign-in at a terminal',
    { 'terminal-handle': { handle: '…' } },
    { 201: json('The session.'), 202: json('Not yet.', { status: string }) },
    refused,
  ),
  '/mcp': post(
    'askAsAssistant',
    'The Model Context Protocol',
    { 'mcp-request': { jsonrpc: '2.0', id: 1, method: 'tools/list' } },
    { 200: json('As the protocol has it.'), 202: { description: 'A notification.' } },
    { access: 'viewer' },
  ),
  '/.well-known/oauth-protected-resource': resource('showResource'),
  '/.well-known/oauth-protected-resource/mcp': resource('showMcpResource'),
  '/git/{deviceId}.git/info/refs': get('listRefs', 'device', 'Git: list what a repository has', git('advertisement'), {
    ...missing,
    query: { service: query('git-upload-pack') },
  }),
  '/git/{deviceId}.git/git-upload-pack': {
    POST: {
      ...does('fetchRefs', 'device', 'Git: fetch from a repository', git('result'), { ...missing, body: {} }),
      media: ['application/x-git-upload-pack-request'],
    },
  },
  ...exportsOf('changes', 'viewer', log),
  ...exportsOf('reports', 'viewer', log),
  ...exportsOf('deployments', 'viewer', { ...moment, ...conditions }),
  ...exportsOf('devices', 'viewer', { ...moment, ...conditions }),
  ...exportsOf('audit', 'admin of all', { ...span, upTo: query('The cursor of the last line.') }),
}

export const ownContract: Omit<Contract, 'operations'> = {
  tag: 'Server',
  description: 'Health, sign-in, exports, and this document.',
  schemas: {
    credential: object({ credential: { ...string, description: 'An API key or a token.' } }),
    'logout-token': object({ logout_token: string }),
    'terminal-handle': object({ handle: { ...string, description: 'That of POST /session/oidc/device.' } }),
    'graphql-request': object({ query: string, 'variables?': anything('By name.'), 'operationName?': string }),
    'mcp-request': anything('JSON-RPC.'),
    'site-batch': anything('A batch, as docs/layers.md has it.'),
  },
  parameters: {
    rest: { description: 'The name of the file.', example: 'margo-status-1.0.json' },
    deviceId: { description: 'The device.', example: 'edge-1' },
  },
}
