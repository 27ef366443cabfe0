/** `/session`: a browser signs in with a key or a token, and from then on sends a cookie that no script can read. */
import type { ApiAuth } from '../auth/api/api-auth.ts'
import { cookieName, ofHeaders, readCredentials } from '../auth/api/credentials.ts'
import { DomainError } from '../domain/errors.ts'
import type { Gate } from '../limits/gate.ts'
import { answer, type Exchange, type Methods, readBody, requireMediaType } from './exchange.ts'

export interface SessionDeps {
  readonly auth: Pick<ApiAuth, 'identify' | 'signIn' | 'signOut'>
  readonly gate: Pick<Gate, 'addresses'>
  /** How the world reaches this server; null: as it was asked. */
  readonly publicUrl: string | null
}

const most = 16_384

export function sessionMethods({ auth, gate, publicUrl }: SessionDeps): Methods {
  const presentedBy = ({ request }: Exchange) => readCredentials(ofHeaders(request.headers), gate.addresses.of(request))

  /** Only over TLS may the cookie have the name that browsers guard. */
  function isSecure({ request }: Exchange): boolean {
    if (publicUrl !== null) return publicUrl.startsWith('https:')
    if ('encrypted' in request.socket) return true
    return gate.addresses.isTrusted(request) && request.headers['x-forwarded-proto'] === 'https'
  }

  function cookieOf(exchange: Exchange, value: string, seconds: number): Record<string, string> {
    const secure = isSecure(exchange)
    const attributes = ['Path=/', 'HttpOnly', 'SameSite=Strict', `Max-Age=${seconds}`, ...(secure ? ['Secure'] : [])]
    return { 'set-cookie': [`${cookieName(secure)}=${value}`, ...attributes].join('; '), 'cache-control': 'no-store' }
  }

  return {
    /** Who the cookie makes of whoever has it. */
    GET: {
      access: 'public',
      async handle(exchange) {
        const { name, roles, credential } = await auth.identify(presentedBy(exchange))
        const body = JSON.stringify({ name, roles, isSession: credential.kind === 'session' })
        answer(exchange, 200, 'application/json', body, { 'cache-control': 'no-store' })
      },
    },
    POST: {
      access: 'public',
      async handle(exchange) {
        const presented = presentedBy(exchange)
        const token = presented.token ?? (await readCredential(exchange))
        const { identity, cookie, seconds } = await auth.signIn({ ...presented, token })
        const body = JSON.stringify({ name: identity.name, roles: identity.roles, seconds })
        answer(exchange, 201, 'application/json', body, cookieOf(exchange, cookie, seconds))
      },
    },
    DELETE: {
      access: 'public',
      async handle(exchange) {
        await auth.signOut(presentedBy(exchange))
        answer(exchange, 200, 'application/json', '{}', cookieOf(exchange, '', 0))
      },
    },
  }
}

async function readCredential({ request }: Exchange): Promise<string> {
  requireMediaType(request, ['application/json'])
  const text = (await readBody(request, most)).toString('utf8')
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
