/**
 * Reads a large body after authentication, within the bounds of held bodies, and parses it in slices. Yoga, which would
 * read it at once, finds the result in `request.body`.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { DomainError, errorCodes } from '../../../domain/errors.ts'
import { readJson } from '../../../platform/body/json-reader.ts'
import { retryAfter } from '../../../platform/limits/admission.ts'
import type { Bodies } from '../../../platform/limits/bodies.ts'
import { paced } from '../../../platform/limits/pace.ts'
import { formatError } from '../execution/errors.ts'
import { asRefusal, maxBodySize, maxDocumentSize } from '../guards/limits.ts'

/** Nesting depth. It is above the limit for variables, which has its own error. */
const maxDepth = 1_024

/** Bytes of a body that is a document, which has at most four for each character. */
const maxDocumentBody = 4 * maxDocumentSize

/** How Yoga would read the body. Null: it refuses the request. */
export function bodyKind({ method, headers }: IncomingMessage): 'JSON' | 'document' | null {
  if (method !== 'POST') return null
  const [type = ''] = (headers['content-type'] ?? '').split(';')
  const name = type.trim().toLowerCase()
  if (name === 'application/graphql') return 'document'
  return name === 'application/json' || name === 'application/graphql+json' ? 'JSON' : null
}

/** Throws the errors of `Bodies`. */
export async function receiveDocument(
  bodies: Bodies,
  request: IncomingMessage & { body?: unknown },
  response: ServerResponse,
): Promise<void> {
  request.body = await bodies.read(request, response, maxDocumentBody)
}

/** Throws the errors of `Bodies`, INVALID_REQUEST for an empty body, and TOO_LARGE for too many values. Yoga reports all other errors. */
export async function receiveJson(
  bodies: Bodies,
  request: IncomingMessage & { body?: unknown },
  response: ServerResponse,
): Promise<void> {
  const bytes = await bodies.read(request, response, maxBodySize)
  if (bytes.length === 0) throw new DomainError('INVALID_REQUEST', 'the body is empty: send {"query": "…"}')
  const value = await paced(readJson(bytes, { deepest: maxDepth, room: 'anywhere', keepsDigits: false })).catch(
    (error: unknown) => {
      if (error instanceof DomainError && error.code === 'INVALID_REQUEST') return undefined
      throw error
    },
  )
  const isRequest =
    typeof value === 'object' && value !== null && !Array.isArray(value) && Object.keys(value).length > 0
  // For invalid JSON or a wrong type: a small body that Yoga refuses for the same reason.
  request.body = isRequest ? value : Buffer.from(value === undefined ? '{' : Array.isArray(value) ? '[]' : '0')
}

/** Responds to a request that is refused before Yoga sees it, in GraphQL's error format. */
export function answerGraphql(
  response: ServerResponse,
  error: DomainError,
  headers: Readonly<Record<string, string>>,
): void {
  const { status, retryable } = errorCodes[error.code]
  const { extensions, ...rest } = formatError(asRefusal(error))
  // The same in both: a client that retries by either is part of the spread.
  const retryAfterSeconds = retryAfter(error.facts)
  response.writeHead(status, {
    ...headers,
    'content-type': 'application/json; charset=utf-8',
    ...(retryable && { 'retry-after': String(retryAfterSeconds) }),
  })
  const shown = { ...rest, extensions: { ...extensions, ...(retryable && { retryAfterSeconds }) } }
  response.end(JSON.stringify({ errors: [shown] }))
}
