/** Who asks over HTTP: known before a document is parsed, and remembered with the request. WebSockets know it from their first message. */
import type { IncomingMessage } from 'node:http'
import { GraphQLError } from 'graphql'
import type { Plugin } from 'graphql-yoga'
import { createAttachment } from '../attachment.ts'
import type { ApiAuth } from '../auth/api/api-auth.ts'
import { type Presented, readCredentials } from '../auth/api/credentials.ts'
import { DomainError } from '../domain/errors.ts'
import type { Identity } from '../domain/identity.ts'
import type { Addresses } from '../limits/address.ts'
import { isOwnPage } from './origin.ts'

export interface Authentication {
  readonly plugin: Plugin
  /** Once for each request, whoever asks it. */
  identify(request: IncomingMessage | undefined, presented: Presented): Promise<Identity>
  /** Throws when nobody asked who it is. */
  identityOf(context: object): Identity
  /** Calls `end` when the credential of this request is no longer good. */
  follow(request: object, end: () => void): () => void
}

interface NodeContext {
  readonly req?: IncomingMessage
}

export function createAuthentication(
  auth: Pick<ApiAuth, 'identify' | 'follow'>,
  origins: readonly string[],
  addresses: Pick<Addresses, 'of'>,
): Authentication {
  const identities = createAttachment<object, Identity>('identity')
  const asked = createAttachment<IncomingMessage, Promise<Identity>>('asked')

  function identify(request: IncomingMessage | undefined, presented: Presented): Promise<Identity> {
    const known = request && asked.get(request)
    if (known) return known
    const identity = auth.identify(presented)
    if (request) asked.set(request, identity)
    return identity
  }

  return {
    plugin: {
      async onRequestParse({ request, serverContext }) {
        const { req } = serverContext as NodeContext
        const presented = readCredentials((name) => request.headers.get(name), req ? addresses.of(req) : '')
        // A cookie comes along whoever's page asks.
        if (
          presented.cookie !== null &&
          presented.token === null &&
          !isOwnPage((name) => request.headers.get(name), origins)
        )
          throw refusal('FORBIDDEN', 403, 'a page of another site cannot use the session of this one')
        const identity = await identify(req, presented).catch((error: unknown) => {
          if (!(error instanceof DomainError) || error.code !== 'UNAUTHENTICATED') throw error
          throw refusal('UNAUTHENTICATED', 401, error.message)
        })
        identities.set(request, identity)
      },
    },
    identify,
    identityOf(context) {
      const { identity, request } = context as { readonly identity?: Identity; readonly request?: object }
      const found = identity ?? (request && identities.get(request))
      if (!found) throw new Error('an operation is executed for nobody')
      return found
    },
    follow(request, end) {
      const identity = identities.get(request)
      if (!identity) throw new Error('a stream is opened for nobody')
      return auth.follow(identity, end)
    },
  }
}

function refusal(code: string, status: number, message: string): GraphQLError {
  const headers = status === 401 ? { 'WWW-Authenticate': 'Bearer' } : {}
  return new GraphQLError(message, { extensions: { code, http: { status, headers } } })
}
