/** Security headers, refusal of cross-site requests, and timeouts of slow connections. */
import type { IncomingMessage, Server } from 'node:http'
import type { Duplex } from 'node:stream'
import { DomainError } from '../../domain/errors.ts'
import { type Admission, bodyTimeout, readingTimeout } from '../../platform/limits/admission.ts'
import type { Bodies } from '../../platform/limits/bodies.ts'
import type { Credentials } from '../auth/api/credentials.ts'

/** Milliseconds. */
export interface Timeouts {
  /** Until the headers of a request are complete. */
  readonly headers: number
  /** Until the whole request is complete. */
  readonly request: number
  /** Without any progress of a peer that reads a response, and for each MiB of a complete one. */
  readonly reading: number
  /** Until a WebSocket sends connection_init. */
  readonly init: number
  /** Until more of a large body arrives. */
  readonly body?: number
  /** Until a batch is committed, including retries. */
  readonly commit?: number
  /** Between rounds of the background duties. */
  readonly duties?: number
  /** Until a notification that failed is sent again, for the first time. */
  readonly retry?: number
  /** Between requests with spans of requests to the collector. */
  readonly spans?: number
  /** Until each part of a closing server has finished its work. */
  readonly closing?: number
  /** Between checks of the TLS files. */
  readonly tlsFiles?: number
}

/** The request timeout allows for a backlog over a slow line. */
export const defaultTimeouts: Timeouts = {
  headers: 15_000,
  request: 60_000,
  reading: readingTimeout,
  init: 3_000,
  body: bodyTimeout,
}

/** Headers of every response. A page replaces the policy with its own. */
export const safeHeaders = {
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'same-origin',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
}

/**
 * No GET or HEAD has a body that is read. Node would keep the first 64 KiB of one as long as the response lasts, which is hours for an event stream,
 * and pieces of a byte need four hundred times as much.
 */
export function dropUnreadBody(request: IncomingMessage, bodies: Bodies): void {
  const { method, headers } = request
  const hasBody = headers['transfer-encoding'] !== undefined || headers['content-length'] !== undefined
  if (hasBody && (method === 'GET' || method === 'HEAD')) bodies.drop(request)
}

/**
 * Node decodes the last coding, which is always `chunked`, and would pass on a body in the others as if it had none (RFC 9112 §6.1). 501, which the
 * RFC suggests, would make a device send it again.
 */
export function refuseTransferCoding({ headers }: IncomingMessage): void {
  const coding = headers['transfer-encoding'] ?? 'chunked'
  if (coding.toLowerCase() === 'chunked') return
  const message = `Transfer-Encoding ${coding} is not supported: send the body in chunks only, or with a Content-Length`
  throw new DomainError('INVALID_REQUEST', message, { problems: [{ field: 'Transfer-Encoding', message }] })
}

/** Probes share addresses with other clients, and another client's rate must not fail them. */
const unlimited: ReadonlySet<string> = new Set(['/healthz', '/readyz'])

export function admit(admission: Admission, request: IncomingMessage, path: string): void {
  if (!unlimited.has(path)) admission.admit(request)
}

/** Refuses cross-site request forgery. Otherwise a form of another site could send JSON in a body without a type. */
export function refuseForeignPage(
  request: IncomingMessage,
  { mayAsk, requireOwnName }: Pick<Credentials, 'mayAsk' | 'requireOwnName'>,
): void {
  requireOwnName(request)
  if (request.method === 'GET' || request.method === 'HEAD' || mayAsk(request)) return
  throw new DomainError(
    'FORBIDDEN',
    'a page of another site cannot send this request: add its origin to CORS_ORIGINS to allow it',
  )
}

const answers: Readonly<Record<string, string>> = {
  ERR_HTTP_REQUEST_TIMEOUT: '408 Request Timeout',
  HPE_HEADER_OVERFLOW: '431 Request Header Fields Too Large',
  HPE_CHUNK_EXTENSIONS_OVERFLOW: '413 Payload Too Large',
}

/** Closes the connection of a client that sends or reads too slowly, or sends no HTTP. `inTurn` calls back when a refusal may be written. */
export function cutOffSlow(
  server: Server,
  admission: Admission,
  { headers: forHeaders, request, reading }: Timeouts,
  inTurn: (socket: Duplex, refuse: () => void) => void,
): void {
  server.headersTimeout = forHeaders
  server.requestTimeout = request
  // The idle time of a socket. A response must begin within it.
  server.timeout = reading
  server.on('clientError', (error: NodeJS.ErrnoException, socket: Duplex) => {
    if (error.code === 'ERR_HTTP_REQUEST_TIMEOUT') admission.refuse('slowRequest', 'the connection was closed')
    if (error.code === 'ECONNRESET' || !socket.writable) return void socket.destroy()
    const refusal = `HTTP/1.1 ${answers[error.code ?? ''] ?? '400 Bad Request'}\r\nConnection: close\r\n\r\n`
    inTurn(socket, () => {
      if (socket.writable) socket.end(refusal, () => socket.destroy())
      else socket.destroy()
    })
  })
}
