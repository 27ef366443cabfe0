/** Authenticates an HTTP request once, before its document is parsed. WebSockets do so with their first message. */
import type { IncomingMessage } from 'node:http'
import { GraphQLError } from 'graphql'
import type { Plugin } from 'graphql-yoga'
import { createAttachment } from '../../attachment.ts'
import type { ApiAuth } from '../../auth/api/api-auth.ts'
import type { Credentials, Presented } from '../../auth/api/credentials.ts'
import { DomainError } from '../../domain/errors.ts'
import type { Principal } from '../../domain/principal.ts'

export interface Authentication {
  readonly plugin: Plugin
  /** Authenticates a request once; later calls return the same result. */
  identify(request: IncomingMessage | undefined, presented: Presented): Promise<Principal>
  /** Throws if the request was not authenticated. */
  principalOf(context: object): Principal
  /** Calls `end` when the credential of this request expires or is revoked. */
  follow(request: object, end: () => void): () => void
}

interface NodeContext {
  readonly req?: IncomingMessage
}

export function createAuthentication(
  auth: Pick<ApiAuth, 'identify' | 'follow'>,
  credentials: Credentials,
): Authentication {
  const principals = createAttachment<object, Principal>('principal')
  const asked = createAttachment<IncomingMessage, Promise<Principal>>('asked')

  function identify(request: IncomingMessage | undefined, presented: Presented): Promise<Principal> {
    const known = request && asked.get(request)
    if (known) return known
    const principal = auth.identify(presented)
    if (request) asked.set(request, principal)
    return principal
  }

  return {
    plugin: {
      async onRequestParse({ request, serverContext }) {
        const { req } = serverContext as NodeContext
        const asking = req ?? { headers: Object.fromEntries(request.headers), socket: {} }
        try {
          principals.set(request, await identify(req, credentials.of(asking)))
        } catch (error) {
          if (!(error instanceof DomainError)) throw error
          if (error.code === 'UNAUTHENTICATED') throw refusal('UNAUTHENTICATED', 401, error.message)
          throw error.code === 'FORBIDDEN' ? refusal('FORBIDDEN', 403, error.message) : error
        }
      },
    },
    identify,
    principalOf(context) {
      const { principal, request } = context as { readonly principal?: Principal; readonly request?: object }
      const found = principal ?? (request && principals.get(request))
      if (!found) throw new Error('the operation has no authenticated caller')
      return found
    },
    follow(request, end) {
      const principal = principals.get(request)
      if (!principal) throw new Error('the stream has no authenticated caller')
      return auth.follow(principal, end)
    },
  }
}

function refusal(code: string, status: number, message: string): GraphQLError {
  const headers = status === 401 ? { 'WWW-Authenticate': 'Bearer' } : {}
  return new GraphQLError(message, { extensions: { code, http: { status, headers } } })
}
