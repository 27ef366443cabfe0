/** Routes requests to handlers, and responds to unknown routes and errors. */
import { createServer, type IncomingMessage, type RequestListener, type Server, type ServerResponse } from 'node:http'
import { DomainError } from '../../domain/errors.ts'
import { type Access, describeAccess, may, type Principal } from '../../domain/principal.ts'
import type { Dialect } from '../../ingest/dialects/dialect.ts'
import { createRouter, mapRoutes } from '../../ingest/dialects/router.ts'
import type { Metrics } from '../../outlets/metrics/metrics.ts'
import type { Admission } from '../../platform/limits/admission.ts'
import { ClientGone } from '../../platform/limits/bodies.ts'
import { CompactRequest } from '../../platform/limits/compact-request.ts'
import { createRequestIds, type Log } from '../../platform/log/log.ts'
import { incompleteness, isTransient } from '../../store/connection/failure.ts'
import { findTips } from '../../store/read/desired/manifest-tips.ts'
import type { ApiAuth } from '../auth/api/api-auth.ts'
import { createLookup } from '../auth/devices/lookup.ts'
import type { Trust } from '../auth/devices/trust.ts'
import { crossOriginHeaders } from '../graphql/transport/cross-origin.ts'
import { answerGraphql } from '../graphql/transport/request-body.ts'
import { type BackupDeps, backupMethods } from './backup.ts'
import type { OwnRoutes } from './contract/own.ts'
import { contractLink, contractRoutes } from './contract/serve.ts'
import { createDesired } from './devices/desired.ts'
import { type GitDeps, gitMethods } from './devices/git.ts'
import { type DialectDeps, serveMethods } from './dialects/serve.ts'
import { answer, type Exchange, type Methods, requireNoEncoding } from './exchange.ts'
import {
  admit,
  cutOffSlow,
  defaultTimeouts,
  dropUnreadBody,
  refuseForeignPage,
  refuseTransferCoding,
  safeHeaders,
  type Timeouts,
} from './guard.ts'
import { createReadiness, type HealthDeps, sendLiveness, sendVersion } from './health.ts'
import { adviceFor, suggestedRoutes } from './nearest-route.ts'
import { prefers } from './negotiation.ts'
import { toOriginForm } from './origin-form.ts'
import { createPage } from './page/page.ts'
import { limitPipelines } from './pipelines.ts'
import { toProblem } from './problem.ts'
import { sendSchema } from './schema.ts'
import { createScrapers } from './scrapers.ts'
import { type SessionDeps, sessionMethods } from './session.ts'
import { type SiteDeps, siteMethods } from './sites/batches.ts'
import { createTlsServer } from './tls/tls-server.ts'
import type { TlsWatch } from './tls/tls-watch.ts'

interface ServerDeps
  extends Omit<HealthDeps, 'writer'>,
    Omit<DialectDeps, 'sendDesired'>,
    SessionDeps,
    Omit<BackupDeps, 'database'>,
    Pick<SiteDeps, 'sites'>,
    Omit<GitDeps, 'findTip'> {
  readonly database: BackupDeps['database'] & HealthDeps['database'] & DialectDeps['database']
  readonly dialects: readonly Dialect[]
  readonly log: Log
  readonly metrics: Metrics
  /** Receives errors of requests that a database outage may have caused. */
  readonly databaseFailed: (error: unknown) => void
  readonly auth: Pick<ApiAuth, 'identify' | 'signIn' | 'signOut' | 'takesKeys' | 'isKey' | 'follow'>
  readonly admission: Admission
  /** The public URL of this server. Null: the Host of the request. */
  readonly publicUrl: string | null
  readonly timeouts?: Timeouts | undefined
  /** Further routes, by template. */
  readonly routes?: OwnRoutes
  /** Called with the template of the route of each request. */
  readonly routed?: ((template: string) => void) | undefined
  /** Null: plain HTTP. */
  readonly tls?: TlsWatch | null
  /** In an identity service. Null: none is configured. */
  readonly trust?: Trust | null
  /** `headers`: additional headers of the response. */
  readonly graphql: (
    request: IncomingMessage,
    response: ServerResponse,
    headers: Readonly<Record<string, string>>,
  ) => unknown
  /** Whether callers may read the schema. */
  readonly introspection: boolean
  /** Origins of other sites whose pages may use /graphql. */
  readonly origins: readonly string[]
}

export function createHttpServer(deps: ServerDeps): Server {
  const { log, metrics, admission, timeouts = defaultTimeouts, tls = null } = deps
  const requestId = createRequestIds()
  const sendMetrics = async (exchange: Exchange) => {
    const isOpen = prefers(exchange.request.headers.accept, 'application/openmetrics-text', 'text/plain')
    const [type, text] = isOpen
      ? [metrics.openMetricsType, await metrics.printOpenMetrics()]
      : [metrics.contentType, await metrics.print()]
    answer(exchange, 200, type, text, { vary: 'accept' })
  }
  const link = deps.introspection ? { link: contractLink } : null
  const suggested = suggestedRoutes(deps.dialects)
  const page = createPage()
  const showRoot = (exchange: Exchange): Promise<void> => {
    if (link) exchange.response.setHeader('link', link.link)
    return page.show(exchange)
  }
  const findTip = createLookup((names) => findTips(deps.database.session, names))
  const fetching = { ...deps, findTip }
  const serving = { ...deps, sendDesired: createDesired(fetching) }
  const routes: OwnRoutes = {
    '/': { GET: { access: 'public', handle: showRoot } },
    '/healthz': { GET: { access: 'public', handle: sendLiveness } },
    '/readyz': { GET: { access: 'public', handle: createReadiness(deps) } },
    ...(deps.introspection && {
      '/schema.graphql': { GET: { access: 'viewer', handle: sendSchema } },
      ...contractRoutes,
    }),
    '/version': { GET: { access: 'viewer', handle: sendVersion } },
    '/session': sessionMethods(deps),
    '/backup': backupMethods(deps),
    '/sites/v1/batches': siteMethods(deps),
    '/assets/*': { GET: { access: 'public', handle: page.sendAsset } },
    '/metrics': { GET: { access: 'viewer of all', handle: sendMetrics } },
  }

  /** The caller. Throws FORBIDDEN if its role does not allow the access. */
  async function identify({ request }: Exchange, access: Access): Promise<Principal> {
    const principal = await deps.auth.identify(deps.credentials.of(request))
    if (may(principal, access)) return principal
    throw new DomainError('FORBIDDEN', `this needs ${describeAccess(access)}`)
  }
  const identifyScraper = createScrapers(
    (exchange: Exchange) => identify(exchange, 'viewer of all'),
    ({ request }) => deps.credentials.of(request).token,
    deps.clock,
  )

  const methodsAt = createRouter<Methods>(
    [
      ...deps.dialects.flatMap(({ routes }) => mapRoutes(routes, (methods) => serveMethods(serving, methods))),
      ...Object.entries({ ...routes, ...deps.routes }).map(([template, methods]) => ({
        template,
        read: () => methods,
      })),
      { template: '/git/*', read: (_, path) => gitMethods(fetching, path) },
    ],
    deps.routed,
  )

  async function route(exchange: Exchange): Promise<void> {
    admit(admission, exchange.request, exchange.path)
    refuseTransferCoding(exchange.request)
    refuseForeignPage(exchange.request, deps.credentials)
    const methods = methodsAt(exchange.path)
    if (!methods && page.canShow(exchange)) return page.show(exchange)
    if (!methods)
      throw new DomainError('NOT_FOUND', `there is nothing at ${exchange.path}: ${adviceFor(exchange.path, suggested)}`)
    if (exchange.method === 'OPTIONS')
      return showMethods(exchange.response, { ...link }, Object.keys(methods), methods.POST?.media)
    const { [exchange.method]: named, GET: get }: Methods = methods
    const found = named ?? (exchange.method === 'HEAD' ? get : undefined)
    if (!found) throw methodNotAllowed(exchange, Object.keys(methods))
    if (found.access === 'public' || found.access === 'device') await found.handle(exchange)
    else if (exchange.path === '/metrics') await found.handle(exchange, await identifyScraper(exchange))
    else await found.handle(exchange, await identify(exchange, found.access))
  }

  function fail(exchange: Exchange, error: unknown): void {
    if (error instanceof ClientGone) return
    const problem = toProblem(error, exchange.id)
    const { status, headers, body } = problem
    if (status === 413) admission.refuse('bodySize', 'the body was not read')
    if (exchange.method === 'POST') metrics.reportRefused(status)
    if (incompleteness(error) !== null) deps.databaseFailed(error)
    else if (!(error instanceof DomainError)) {
      const facts = { requestId: exchange.id, path: exchange.path, error }
      if (isTransient(error)) deps.databaseFailed(error)
      else log.error(facts, 'a request failed with an unexpected error')
    }
    // The connection is closed, so the client does not take a partial response for a complete one.
    if (exchange.response.headersSent) return void exchange.response.destroy()
    const { 'content-type': type = 'application/problem+json', ...more } = headers
    answer(exchange, status, type, body, { ...link, ...more })
  }

  function askGraphql(
    request: IncomingMessage,
    response: ServerResponse,
    headers: Readonly<Record<string, string>>,
  ): void {
    try {
      if (deps.isClosing()) throw new DomainError('UNAVAILABLE', 'the server is shutting down: send the request again')
      admission.admit(request)
      deps.credentials.requireOwnName(request)
      refuseTransferCoding(request)
      if (request.method === 'POST') requireNoEncoding(request)
    } catch (error) {
      if (!(error instanceof DomainError)) throw error
      answerGraphql(response, error, { ...headers, ...crossOriginHeaders(request, deps.origins) })
      return
    }
    const isPreflight = request.headers['access-control-request-method'] !== undefined
    if (request.method === 'OPTIONS' && !isPreflight)
      showMethods(response, { ...headers, ...link }, ['GET', 'POST'], ['application/json'])
    else deps.graphql(request, response, headers)
  }

  const pipelines = limitPipelines()
  // The interval of Node's timeout checks: short relative to the timeout.
  const options = {
    IncomingMessage: CompactRequest,
    ServerResponse: admission.Response,
    connectionsCheckingInterval: Math.min(timeouts.headers / 3, 5_000),
    // The HTTP client of Java offers h2c with its first request. It is a request like any other (RFC 9110 §7.8). So is one behind others that wait:
    // Node would forget these, and an event stream among them would never end.
    shouldUpgradeCallback: ({ headers, socket }: IncomingMessage) =>
      /\bwebsocket\b/i.test(headers.upgrade ?? '') && !pipelines.isBusy(socket),
  }
  const listener: RequestListener = (request, response) => {
    if (!pipelines.begin(request, response)) return
    dropUnreadBody(request, admission.bodies)
    toOriginForm(request)
    const url = request.url ?? '/'
    const query = url.indexOf('?')
    const path = query < 0 ? url : url.slice(0, query)
    const id = requestId(request.headers['x-request-id'])
    const headers = { ...safeHeaders, 'x-request-id': id, ...(deps.isClosing() ? { connection: 'close' } : {}) }
    if (path === '/graphql') {
      askGraphql(request, response, headers)
      return
    }
    for (const [name, value] of Object.entries(headers)) response.setHeader(name, value)
    const exchange: Exchange = {
      request,
      response,
      bodies: admission.bodies,
      method: request.method ?? 'GET',
      path,
      id,
    }
    route(exchange).catch((error: unknown) => fail(exchange, error))
  }
  const server = tls
    ? createTlsServer(tls, deps.trust ?? null, { ...options, handshakeTimeout: timeouts.headers }, listener)
    : createServer(options, listener)
  // Not in Node's documentation. Otherwise Node ends a connection without a response as soon as the client sends no more.
  if (!tls) Object.assign(server, { httpAllowHalfOpen: true })
  // Before what accepts WebSockets.
  server.on('upgrade', toOriginForm)
  cutOffSlow(server, admission, timeouts, pipelines.refuseInTurn)
  server.keepAliveTimeout = 75_000
  return server
}

/** RFC 9110 §9.3.7. `media`: of a POST (Accept-Post, Linked Data Platform §7.1). */
function showMethods(
  response: ServerResponse,
  headers: Readonly<Record<string, string>>,
  methods: readonly string[],
  media: readonly string[] = [],
): void {
  const accepted = media.length > 0 ? { 'accept-post': media.join(', ') } : {}
  response.writeHead(204, { ...headers, ...accepted, allow: allowed(methods) }).end()
}

function allowed(methods: readonly string[]): string {
  return [...methods, ...(methods.includes('GET') ? ['HEAD'] : []), 'OPTIONS'].join(', ')
}

function methodNotAllowed({ method, path, response }: Exchange, methods: readonly string[]): DomainError {
  response.setHeader('allow', allowed(methods))
  return new DomainError('METHOD_NOT_ALLOWED', `${method} is not for ${path}: use ${methods.join(' or ')}`)
}
