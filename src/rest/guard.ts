/** What every answer says to browsers, what no page of another site may do, and how a connection ends that says nothing. */
import type { IncomingMessage, Server } from 'node:http'
import type { Duplex } from 'node:stream'
import type { Credentials } from '../auth/api/credentials.ts'
import { DomainError } from '../domain/errors.ts'
import { type Admission, bodyTimeout } from '../limits/admission.ts'

/** Milliseconds. */
export interface Timeouts {
  /** For a request's headers. */
  readonly headers: number
  /** For all of it. */
  readonly request: number
  /** For a peer to take anything of what it is told. */
  readonly reading: number
  /** For a WebSocket to say who it is. */
  readonly init: number
  /** For some more of a large body. */
  readonly body?: number
  /** For a batch to reach the database, with retries. */
  readonly commit?: number
  /** Between two looks at the files of TLS. */
  readonly tlsFiles?: number
}

/** A backlog over a slow line takes a while. */
export const defaultTimeouts: Timeouts = {
  headers: 15_000,
  request: 60_000,
  reading: 60_000,
  init: 3_000,
  body: bodyTimeout,
}

/** What every answer says. Nothing here is a page unless it says so: a page brings a policy of its own. */
export const safeHeaders = {
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'same-origin',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
}

/** Probes come from everywhere, and must not be told that somebody else was too fast. */
const unlimited: ReadonlySet<string> = new Set(['/healthz', '/readyz'])

export function admit(admission: Admission, request: IncomingMessage, path: string): void {
  if (!unlimited.has(path)) admission.admit(request)
}

/** What a form or a script of another site sends without being asked (CSRF): a body without a type would pass for JSON. */
export function refuseForeignPage(request: IncomingMessage, { mayAsk }: Pick<Credentials, 'mayAsk'>): void {
  if (request.method === 'GET' || request.method === 'HEAD' || mayAsk(request)) return
  throw new DomainError('FORBIDDEN', 'a page of another site may not do this: name it in CORS_ORIGINS if it should')
}

const answers: Readonly<Record<string, string>> = {
  ERR_HTTP_REQUEST_TIMEOUT: '408 Request Timeout',
  HPE_HEADER_OVERFLOW: '431 Request Header Fields Too Large',
  HPE_CHUNK_EXTENSIONS_OVERFLOW: '413 Payload Too Large',
}

/** Who sends, or reads, so slowly that he holds a connection and nothing else is cut off. */
export function cutOffSlow(
  server: Server,
  admission: Admission,
  { headers: forHeaders, request, reading }: Timeouts,
): void {
  server.headersTimeout = forHeaders
  server.requestTimeout = request
  // Of a socket on which nothing moves. An answer that is waited for must come before.
  server.timeout = reading
  server.on('clientError', (error: NodeJS.ErrnoException, socket: Duplex) => {
    if (error.code === 'ERR_HTTP_REQUEST_TIMEOUT') admission.refuse('slowRequest', 'the connection was closed')
    if (error.code === 'ECONNRESET' || !socket.writable) return void socket.destroy()
    socket.end(`HTTP/1.1 ${answers[error.code ?? ''] ?? '400 Bad Request'}\r\nConnection: close\r\n\r\n`, () =>
      socket.destroy(),
    )
  })
}
