/** `/session`: a browser signs in with a key or a token and receives a cookie that no script can read. */

import { scopesOf } from '../../domain/access-scope.ts'
import { DomainError } from '../../domain/errors.ts'
import type { ApiAuth } from '../auth/api/api-auth.ts'
import type { Credentials } from '../auth/api/credentials.ts'
import { answer, type Exchange, type Methods, readBody, requireMediaType } from './exchange.ts'

export interface SessionDeps {
  readonly auth: Pick<ApiAuth, 'identify' | 'signIn' | 'signOut'>
  readonly credentials: Credentials
  /** The methods of API_AUTH and DEVICE_AUTH: which credentials callers and devices need. */
  readonly authMethods: { readonly api: readonly string[]; readonly device: readonly string[] }
  /** How the command lines start: an installed package and a checkout differ. */
  readonly commands: { readonly rollcall: string; readonly simulate: string }
  /** Where persons sign in without a key. Null: nowhere. */
  readonly oidc: { readonly name: string } | null
}

const most = 16_384

export function sessionMethods({ auth, credentials, authMethods, commands, oidc }: SessionDeps): Methods {
  const presentedBy = ({ request }: Exchange) => credentials.of(request)

  /** Whether a key or a token opens a session too. */
  const takesKeys = authMethods.api.some((method) => method === 'key' || method === 'jwt')

  /** The refusal says with whom to sign in. */
  function offer(error: unknown): never {
    if (oidc === null || !(error instanceof DomainError) || error.code !== 'UNAUTHENTICATED') throw error
    throw new DomainError(error.code, error.message, { facts: { signIn: { name: oidc.name, takesKeys } } })
  }

  function cookieOf({ request }: Exchange, value: string, seconds: number): Record<string, string> {
    return { 'set-cookie': credentials.setSession(request, value, seconds), 'cache-control': 'no-store' }
  }

  return {
    /** The principal of the request, and what it needs to explain to others which credentials they need. */
    GET: {
      access: 'public',
      async handle(exchange) {
        const { name, roles, accessScope, credential } = await auth.identify(presentedBy(exchange)).catch(offer)
        const body = JSON.stringify({
          name,
          roles,
          scopes: scopesOf(accessScope),
          isSession: credential.kind === 'session',
          ...(credential.kind === 'session' && credential.of === 'oidc' ? { signedInWith: 'oidc' } : {}),
          apiAuth: authMethods.api,
          deviceAuth: authMethods.device,
          commands,
        })
        answer(exchange, 200, 'application/json', body, { 'cache-control': 'no-store' })
      },
    },
    POST: {
      access: 'public',
      async handle(exchange) {
        // Without this check, a page of another site could sign the user in to an account of its choice.
        credentials.requireOwnPage(exchange.request)
        const presented = presentedBy(exchange)
        const token = presented.token ?? (await readCredential(exchange))
        const { principal, cookie, seconds } = await auth.signIn({ ...presented, token })
        const body = JSON.stringify({ name: principal.name, roles: principal.roles, seconds })
        answer(exchange, 201, 'application/json', body, cookieOf(exchange, cookie, seconds))
      },
    },
    DELETE: {
      access: 'public',
      async handle(exchange) {
        credentials.requireOwnPage(exchange.request)
        await auth.signOut(presentedBy(exchange))
        answer(exchange, 200, 'application/json', '{}', cookieOf(exchange, '', 0))
      },
    },
  }
}

async function readCredential(exchange: Exchange): Promise<string> {
  requireMediaType(exchange.request, ['application/json'])
  const text = (await readBody(exchange, most)).toString('utf8')
  const credential = parse(text)?.credential
  if (typeof credential === 'string' && credential.trim() !== '') return credential.trim()
  const message = 'send {"credential": "…"}: an API key or a token'
  throw new DomainError('INVALID_REQUEST', message, { problems: [{ field: 'credential', message }] })
}

function parse(text: string): { readonly credential?: unknown } | null {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}
