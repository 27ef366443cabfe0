/** Which handler a request goes to, and what is said when there is none or when it fails. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { matchK8spluginRoute } from '../dialects/k8splugin/routes.ts'
import { matchMargoRoute } from '../dialects/margo/routes.ts'
import { DomainError } from '../domain/errors.ts'
import { createRequestIds, type Log } from '../log.ts'
import type { Metrics } from '../metrics.ts'
import { answer, ClientGone, type Exchange, type Handler } from './exchange.ts'
import { type HealthDeps, tellAlive, tellReady } from './health.ts'
import { type K8spluginDeps, k8spluginMethods } from './k8splugin.ts'
import { landingPage } from './landing-page.ts'
import { toProblem } from './problem.ts'
import { type ReportDeps, takeBacklog, takeReport } from './reports.ts'
import { keepInventory } from './subscriptions.ts'

export interface ServerDeps extends ReportDeps, HealthDeps, K8spluginDeps {
  readonly log: Log
  readonly metrics: Metrics
  readonly graphql: (request: IncomingMessage, response: ServerResponse) => unknown
}

export function createHttpServer(deps: ServerDeps): Server {
  const { log, metrics } = deps
  const requestId = createRequestIds()
  const routes: Readonly<Record<string, Readonly<Record<string, Handler>>>> = {
    '/': { GET: async (exchange) => answer(exchange, 200, 'text/html; charset=utf-8', landingPage) },
    '/reports': { POST: (exchange) => takeBacklog(deps, exchange) },
    '/healthz': { GET: tellAlive },
    '/readyz': { GET: (exchange) => tellReady(deps, exchange) },
    '/api/cnf-adapter/v1/aai-update/': { POST: (exchange) => keepInventory(deps, exchange, false) },
    '/api/cnf-adapter/v1/aai-update': { POST: (exchange) => keepInventory(deps, exchange, false) },
    '/api/cnf-adapter/v1/aai-delete/': { POST: (exchange) => keepInventory(deps, exchange, true) },
    '/api/cnf-adapter/v1/aai-delete': { POST: (exchange) => keepInventory(deps, exchange, true) },
    '/metrics': { GET: async (exchange) => answer(exchange, 200, metrics.contentType, await metrics.print()) },
  }

  async function route(exchange: Exchange): Promise<void> {
    const margo = matchMargoRoute(exchange.path)
    const k8splugin = margo ? null : matchK8spluginRoute(exchange.path)
    const methods = margo
      ? { POST: () => takeReport(deps, exchange, margo) }
      : k8splugin
        ? k8spluginMethods(deps, k8splugin)
        : routes[exchange.path]
    if (!methods)
      throw new DomainError('NOT_FOUND', `there is nothing at ${exchange.path}: the README lists what there is`)
    const handler = methods[exchange.method] ?? (exchange.method === 'HEAD' ? methods.GET : undefined)
    if (!handler) throw methodNotAllowed(exchange, Object.keys(methods))
    await handler(exchange)
  }

  function fail(exchange: Exchange, error: unknown): void {
    if (error instanceof ClientGone) return
    const problem = toProblem(error, exchange.id)
    const { status, headers, body } = problem
    if (exchange.method === 'POST') metrics.reportRefused(status)
    if (!(error instanceof DomainError))
      log.error({ requestId: exchange.id, path: exchange.path, error }, 'a request met an unexpected error')
    const { 'content-type': type = 'application/problem+json', ...more } = headers
    answer(exchange, status, type, body, more)
  }

  const server = createServer((request, response) => {
    const url = request.url ?? '/'
    const query = url.indexOf('?')
    const path = query < 0 ? url : url.slice(0, query)
    const id = requestId(request.headers['x-request-id'])
    response.setHeader('x-request-id', id)
    if (deps.isClosing()) response.setHeader('connection', 'close')
    if (path === '/graphql') return void deps.graphql(request, response)
    const exchange: Exchange = { request, response, method: request.method ?? 'GET', path, id }
    route(exchange).catch((error: unknown) => fail(exchange, error))
  })
  server.requestTimeout = 60_000
  server.headersTimeout = 15_000
  server.keepAliveTimeout = 75_000
  return server
}

function methodNotAllowed({ method, path, response }: Exchange, allowed: readonly string[]): DomainError {
  response.setHeader('allow', allowed.join(', '))
  return new DomainError('METHOD_NOT_ALLOWED', `${method} is not for ${path}: use ${allowed.join(' or ')}`)
}
