/** One HTTP request and its response, as handlers see them. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { DomainError } from '../../domain/errors.ts'
import type { Access, Principal } from '../../domain/principal.ts'
import { type Command, traced } from '../../ingest/command.ts'
import type { Bodies } from '../../platform/limits/bodies.ts'
import { codingOf } from '../../platform/limits/content-coding.ts'
import { readTraceparent } from '../../platform/traceparent.ts'

export interface Exchange {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly bodies: Bodies
  readonly method: string
  /** Without the query. */
  readonly path: string
  /** The request id in the log. */
  readonly id: string
}

export type Handler = (exchange: Exchange) => Promise<void>

/**
 * The access rule of a route. `public`: any client. `device`: DEVICE_AUTH decides, and the handler authenticates the device. Others: API_AUTH
 * decides, and the handler receives the principal.
 */
export type Route = {
  /** The media types of its body. Absent: it has none, or takes any. */
  readonly media?: readonly string[]
  /** Bytes of its body. Absent: its handler says. */
  readonly limit?: number
} & (
  | { readonly access: 'public' | 'device'; readonly handle: Handler }
  | { readonly access: Access; readonly handle: (exchange: Exchange, principal: Principal) => Promise<void> }
)

/** By HTTP method. */
export type Methods = Readonly<Record<string, Route>>

/** A command of the request, with its trace context. */
export function tracedBy<Result>({ request }: Pick<Exchange, 'request'>, command: Command<Result>): Command<Result> {
  return traced(command, readTraceparent(request.headers.traceparent))
}

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

export function sendJson(exchange: Exchange, status: number, body: unknown): void {
  answer(exchange, status, 'application/json', JSON.stringify(body))
}

/** The query of a URL. It may contain question marks itself. */
export function searchOf(url = ''): string {
  const start = url.indexOf('?')
  return start < 0 ? '' : url.slice(start + 1)
}

/** Waits until the client has read what was written, or is gone. */
export function drained(response: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    const go = (): void => {
      response.off('drain', go).off('close', go)
      resolve()
    }
    if (response.destroyed) resolve()
    else response.on('drain', go).on('close', go)
  })
}

/** Reads the whole body, and decodes it. Throws the errors of `Bodies`. */
export async function readBody(exchange: Exchange, limit: number): Promise<Buffer> {
  const { bodies, request, response } = exchange
  return decodeBody(exchange, await bodies.read(request, response, limit), limit)
}

/** The body without its Content-Encoding. Throws the errors of `Bodies.decode`. */
export function decodeBody({ bodies, request, response }: Exchange, sent: Buffer, limit: number): Promise<Buffer> {
  return bodies.decode(request, response, sent, limit)
}

/** Reads the body as it was sent at the first call, so authentication by headers does not wait for it. */
export type ReadBody = (limit?: number) => Promise<Buffer>

/** The first call may lower the limit of `most` bytes. */
export function lazyBody({ bodies, request, response }: Exchange, most: number): ReadBody {
  let reading: Promise<Buffer> | null = null
  return (limit = most) => {
    reading ??= bodies.read(request, response, Math.min(limit, most))
    return reading
  }
}

/** Refuses a body of another media type, or in an unknown coding. A body without Content-Type is accepted. */
export function requireMediaType(request: IncomingMessage, accepted: readonly string[]): void {
  codingOf(request.headers['content-encoding'])
  const given = request.headers['content-type']
  if (given === undefined) return
  const type = (given.split(';')[0] ?? '').trim().toLowerCase()
  if (accepted.includes(type) || (accepted.includes('application/json') && /^application\/[\w.-]+\+json$/.test(type)))
    return
  throw unsupported('Content-Type', `${type || 'no type'} is not supported: send ${accepted.join(' or ')}`)
}

export function requireNoEncoding({ headers }: IncomingMessage): void {
  const coding = headers['content-encoding'] || 'identity'
  if (coding.toLowerCase() !== 'identity')
    throw unsupported('Content-Encoding', `${coding} is not supported: send the body without an encoding`)
}

function unsupported(field: string, message: string): DomainError {
  return new DomainError('UNSUPPORTED_MEDIA_TYPE', `a body of ${message}`, { problems: [{ field, message }] })
}
