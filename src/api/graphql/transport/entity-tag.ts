/** Complete responses with an ETag, sent whole or as 304. */
import { createHash } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'

export type Headers = Readonly<Record<string, string>>

export interface CompleteResponse {
  readonly headers: Headers
  readonly body: Buffer
}

/** A response that is sent many times. A body that is text has one byte in each character. */
export interface RepeatedResponse {
  readonly headers: Headers
  readonly body: string | Buffer
}

/**
 * Bytes. Node sends a short text with its headers in one piece, which is faster. Of a longer one, each client that reads slowly would keep a copy, where all
 * share a buffer.
 */
const longestText = 12 << 10

export function toRepeated({ headers, body }: CompleteResponse): RepeatedResponse {
  return { headers, body: body.length <= longestText ? body.toString('latin1') : body }
}

export function entityTagOf({ headers, body }: CompleteResponse): string {
  const hash = createHash('sha256').update(headers['content-type'] ?? '')
  return `"${hash.update(body).digest('base64url').slice(0, 27)}"`
}

export function matchesEntityTag(
  { method, headers }: IncomingMessage,
  { headers: { etag = '' } }: Pick<CompleteResponse, 'headers'>,
): boolean {
  return (
    method === 'GET' && (headers['if-none-match'] ?? '').split(/, */).some((one) => one.replace(/^W\//, '') === etag)
  )
}

/** Sets all headers in one call, which is cheaper than one by one. */
export function sendComplete(
  request: IncomingMessage,
  response: ServerResponse,
  complete: RepeatedResponse,
  headers: Headers,
): void {
  if (!matchesEntityTag(request, complete)) {
    response.writeHead(200, { ...headers, ...complete.headers }).end(complete.body, 'latin1')
    return
  }
  const { 'content-type': _, 'content-length': __, ...kept } = complete.headers
  response.writeHead(304, { ...headers, ...kept }).end()
}

/** Ends a response whose headers are set already with 304. */
export function endNotModified(response: ServerResponse, { headers: { etag = '' } }: CompleteResponse): ServerResponse {
  response.removeHeader('content-type')
  response.setHeader('etag', etag)
  response.statusCode = 304
  return response.end()
}
