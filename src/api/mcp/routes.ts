/** The routes of assistants: `POST /mcp`, and where its OAuth clients find the issuer. What serves `/mcp` is loaded with the first request. */
import { DomainError } from '../../domain/errors.ts'
import type { Principal } from '../../domain/principal.ts'
import type { Credentials } from '../auth/api/credentials.ts'
import { looksLikeJwt } from '../auth/signed-token.ts'
import type { OwnRoutes } from '../rest/contract/own.ts'
import { answer, type Exchange } from '../rest/exchange.ts'
import { AskError } from './asking.ts'
import type { McpDeps } from './serve.ts'

export interface McpConfig {
  /** Whether the tools that write are offered. */
  readonly isWriting: boolean
}

export interface McpRoutesDeps extends McpDeps {
  readonly credentials: Pick<Credentials, 'of' | 'isSecure'>
  /** By an access token of the issuer that persons sign in with. Null: such tokens are not accepted. */
  readonly identifyPerson: ((token: string, address: string) => Promise<Principal>) | null
  /** Whose tokens are accepted. None: clients are given a key. */
  readonly issuers: readonly string[]
  readonly publicUrl: string | null
}

const metadata = '/.well-known/oauth-protected-resource'

export interface Mcp {
  readonly routes: OwnRoutes
  /** Ends what waits, and says so. */
  close(): void
}

export function openMcp({ credentials, identifyPerson, issuers, publicUrl, ...deps }: McpRoutesDeps): Mcp {
  const closing = new AbortController()
  const originOf = ({ request }: Exchange): string =>
    publicUrl ?? `${credentials.isSecure(request) ? 'https' : 'http'}://${request.headers.host ?? 'localhost'}`

  const describe = async (exchange: Exchange): Promise<void> => {
    // RFC 9728, 2.
    const body = {
      resource: `${originOf(exchange)}/mcp`,
      authorization_servers: issuers,
      bearer_methods_supported: ['header'],
    }
    answer(exchange, 200, 'application/json', JSON.stringify(body))
  }

  /** RFC 9728, 5.1: a client that has no token learns where it gets one. */
  const challengeFor = (exchange: Exchange): string =>
    issuers.length === 0 ? 'Bearer' : `Bearer resource_metadata="${originOf(exchange)}${metadata}/mcp"`

  return {
    routes: {
      '/mcp': {
        POST: {
          access: 'public',
          media: ['application/json'],
          async handle(exchange) {
            const { serveMcp } = await import('./serve.ts')
            await serveMcp(deps, exchange, originOf(exchange), closing.signal, async () => {
              try {
                const presented = credentials.of(exchange.request)
                const { token, address } = presented
                return identifyPerson && token !== null && looksLikeJwt(token)
                  ? await identifyPerson(token, address)
                  : await deps.auth.identify(presented)
              } catch (error) {
                if (error instanceof DomainError && error.code === 'UNAUTHENTICATED')
                  exchange.response.setHeader('www-authenticate', challengeFor(exchange))
                throw error
              }
            })
          },
        },
      },
      ...(issuers.length > 0 && {
        [metadata]: { GET: { access: 'public', handle: describe } },
        [`${metadata}/mcp`]: { GET: { access: 'public', handle: describe } },
      }),
    },
    close: () => closing.abort(new AskError('UNAVAILABLE', 'the server is shutting down: ask again')),
  }
}
