/** CORS: which pages of other sites may read the responses of /graphql. `origins` are those of CORS_ORIGINS; `*` is all. */
import type { IncomingMessage } from 'node:http'
import type { YogaServerOptions } from 'graphql-yoga'
import { revisionHeader } from './revision-header.ts'

/** What a page needs to retry, to continue, and to report a problem. */
const exposed = [revisionHeader, 'retry-after', 'x-request-id']

/** Seconds for which a browser need not ask again whether it may send. */
const preflightAge = 600

/**
 * Yoga's options. With a list of origins, Yoga answers `null` to all others. That is the origin of each sandboxed frame, which a page of any site
 * can make. So the answer to others names an origin that is not theirs.
 */
export function crossOrigin(origins: readonly string[]): YogaServerOptions<object, object>['cors'] {
  const [first] = origins
  if (first === undefined) return false
  return (request) => ({
    origin: isAdmitted(request.headers.get('origin'), origins) ? '*' : first,
    credentials: false,
    exposedHeaders: exposed,
    maxAge: preflightAge,
  })
}

/** The same for a response that Yoga does not make. Without it, a page sees a failed connection, not the reason of a refusal. */
export function crossOriginHeaders({ headers }: IncomingMessage, origins: readonly string[]): Record<string, string> {
  const { origin = null } = headers
  if (origin === null || !isAdmitted(origin, origins)) return {}
  return { 'access-control-allow-origin': origin, 'access-control-expose-headers': exposed.join(', '), vary: 'Origin' }
}

function isAdmitted(origin: string | null, origins: readonly string[]): boolean {
  return origin !== null && (origins.includes('*') || origins.includes(origin))
}
