/** One request and its answer: what the handlers see of HTTP. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { DomainError } from '../domain/errors.ts'
import type { Access, Identity } from '../domain/identity.ts'

export interface Exchange {
  readonly request: IncomingMessage
  readonly response: ServerResponse
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
  | { readonly access: Access; readonly handle: (exchange: Exchange, identity: Identity) => Promise<void> }

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

/** The request broke off before its body was whole: nobody is there any more to be answered. */
export class ClientGone extends Error {}

/** The whole body, or TOO_LARGE as soon as that is certain. The rest of it is read and dropped, so that whoever sends first hears of it too. */
export function readBody(request: IncomingMessage, limit: number): Promise<Buffer> {
  const announced = Number(request.headers['content-length'] ?? 0)
  if (announced > limit) return Promise.reject(tooLarge(limit))
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    let size = 0
    request.on('data', (chunk: Buffer) => {
      size += chunk.length
      if (size <= limit) return void chunks.push(chunk)
      chunks.length = 0
      reject(tooLarge(limit))
    })
    request.on('end', () => resolve(chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks)))
    request.on('error', (cause) => reject(new ClientGone('the request broke off', { cause })))
  })
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

function tooLarge(limit: number): DomainError {
  return new DomainError('TOO_LARGE', `the body is larger than the ${limit} bytes that are taken here`)
}
