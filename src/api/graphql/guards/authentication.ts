/** Authenticates an HTTP request before its document is parsed. WebSockets do so with their first message. */
import { GraphQLError } from 'graphql'
import type { Plugin } from 'graphql-yoga'
import { DomainError } from '../../../domain/errors.ts'
import type { Principal } from '../../../domain/principal.ts'

/** `authenticate`: authenticates the caller of the request with this context. */
export function useAuthentication(authenticate: (context: object) => Promise<Principal>): Plugin {
  return {
    async onRequestParse({ serverContext }) {
      try {
        await authenticate(serverContext)
      } catch (error) {
        if (!(error instanceof DomainError)) throw error
        if (error.code === 'UNAUTHENTICATED') throw refusal('UNAUTHENTICATED', 401, error.message)
        throw error.code === 'FORBIDDEN' ? refusal('FORBIDDEN', 403, error.message) : error
      }
    },
  }
}

function refusal(code: string, status: number, message: string): GraphQLError {
  const headers = status === 401 ? { 'WWW-Authenticate': 'Bearer' } : {}
  return new GraphQLError(message, { extensions: { code, http: { status, headers } } })
}
