/**
 * Requests over HTTP:
 *
 *   a browser             ──▶ the page of GraphiQL
 *   a plain request       ──▶ the response cache ──▶ Yoga
 *   a large JSON body     ──▶ read within the limits and parsed in slices ──▶ Yoga
 *   anything else         ──▶ Yoga
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { DomainError } from '../../../domain/errors.ts'
import type { Principal } from '../../../domain/principal.ts'
import { type Bodies, ClientGone } from '../../../platform/limits/bodies.ts'
import type { LogHead } from '../../../store/database.ts'
import { maxBodySize } from '../guards/limits.ts'
import { crossOriginHeaders } from './cross-origin.ts'
import type { Headers } from './entity-tag.ts'
import { isPlain } from './plain-request.ts'
import { asksForPlayground, createPlaygroundPage } from './playground-page.ts'
import { answerGraphql, bodyKind, receiveDocument, receiveJson } from './request-body.ts'
import { createRequestState } from './request-state.ts'
import type { Exchange, ResponseCache, YogaHandler } from './response-cache.ts'

interface HttpDeps {
  readonly cache: ResponseCache
  readonly yoga: YogaHandler
  readonly identify: (request: IncomingMessage, seen: (head: LogHead) => void) => Promise<Principal>
  readonly bodies: Bodies
  readonly origins: readonly string[]
  readonly graphiql: boolean
}

/** `headers`: additional response headers. */
type HandleHttp = (request: IncomingMessage, response: ServerResponse, headers?: Headers) => void

export function createHttp({ cache, yoga, identify, bodies, origins, graphiql }: HttpDeps): HandleHttp {
  const sendPlayground = createPlaygroundPage()

  /** Reads no body without authentication or above the size limit: Yoga reports these errors. */
  async function receive({ request, response, state }: Exchange, kind: 'JSON' | 'document'): Promise<void> {
    if (Number(request.headers['content-length'] ?? 0) > maxBodySize) return
    const isAuthenticated = await state.authenticate().then(
      () => true,
      () => false,
    )
    if (isAuthenticated) await (kind === 'JSON' ? receiveJson : receiveDocument)(bodies, request, response)
  }

  return (request, response, headers = {}) => {
    if (graphiql && asksForPlayground(request)) {
      sendPlayground(request, response, headers).catch((error: unknown) =>
        fail(response, error, { ...headers, ...crossOriginHeaders(request, origins) }),
      )
      return
    }
    const state = createRequestState({ request, response, identify: async (seen) => identify(request, seen) })
    const exchange = { request, response, state }
    const kind = bodyKind(request)
    if (isPlain(request, origins)) {
      cache(exchange, headers).catch(() => {
        // The database or the client is gone. The execution reports the error.
        if (!response.headersSent && !response.destroyed) yoga(exchange, headers)
      })
    } else if (kind) {
      receive(exchange, kind).then(
        () => yoga(exchange, headers),
        (error: unknown) => fail(response, error, { ...headers, ...crossOriginHeaders(request, origins) }),
      )
    } else yoga(exchange, headers)
  }
}

function fail(response: ServerResponse, error: unknown, headers: Headers): void {
  if (response.headersSent || response.destroyed || error instanceof ClientGone) return
  answerGraphql(
    response,
    error instanceof DomainError ? error : new DomainError('UNAVAILABLE', 'the body was not read'),
    headers,
  )
}
