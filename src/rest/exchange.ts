/** One request and its answer: what the handlers see of HTTP. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { DomainError } from '../domain/errors.ts'
import type { Access, Principal } from '../domain/principal.ts'
import type { Bodies } from '../limits/bodies.ts'

export interface Exchange {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly bodies: Bodies
  readonly method: string
  /** Without the query. */
  readonly path: string
  /** Finds this request in the log. */
  readonly id: string
}

export type Handler = (exchange: Exchange) => Promise<void>

/**
 * Who may call a route. `public`: whoever reaches it; `device`: who may report says (DEVICE_AUTH), its handler asks; anything else:
 * who may ask says (API_AUTH), and its handler is told who it is.
 */
export type Route =
  | { readonly access: 'public' | 'device'; readonly handle: Handler }
  | { readonly access: Access; readonly handle: (exchange: Exchange, principal: Principal) => Promise<void> }

/** By HTTP method. */
export type Methods = Readonly<Record<string, Route>>

export function answer(
  { response, method }: Exchange,
  status: number,
  contentType: string,
  body: string | Buffer,
  headers: Readonly<Record<string, string>> = {},
): void {
  if (response.headersSent || response.destroyed) return
  response.writeHead(status, { ...headers, 'content-type': contentType, 'content-length': Buffer.byteLength(body) })
  response.end(method === 'HEAD' ? undefined : body)
}

/** The whole body. Throws what Bodies does. */
export function readBody({ bodies, request, response }: Exchange, limit: number): Promise<Buffer> {
  return bodies.read(request, response, limit)
}

/** The body, read when it is first asked for: whose credential is in the headers is not made to wait for it. */
export type ReadBody = (limit?: number) => Promise<Buffer>

/** `limit` when it is asked for the first time: less than is otherwise taken. */
export function lazyBody(exchange: Exchange, most: number): ReadBody {
  let reading: Promise<Buffer> | null = null
  return (limit = most) => {
    reading ??= readBody(exchange, Math.min(limit, most))
    return reading
  }
}

/** Refuses a body of another kind; one that says nothing of its kind is taken at its word. */
export function requireMediaType(request: IncomingMessage, accepted: readonly string[]): void {
  const coding = request.headers['content-encoding'] ?? 'identity'
  if (coding !== 'identity')
    throw unsupported('Content-Encoding', `${coding} is not understood here: send the body as it is`)
  const given = request.headers['content-type']
  if (given === undefined) return
  const type = (given.split(';')[0] ?? '').trim().toLowerCase()
  if (accepted.includes(type) || (accepted.includes('application/json') && /^application\/[\w.-]+\+json$/.test(type)))
    return
  throw unsupported('Content-Type', `${type || 'no type'} is not understood here: send ${accepted.join(' or ')}`)
}

function unsupported(field: string, message: string): DomainError {
  return new DomainError('UNSUPPORTED_MEDIA_TYPE', `a body of ${message}`, { problems: [{ field, message }] })
}
