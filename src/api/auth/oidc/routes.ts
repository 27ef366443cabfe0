/**
 * The routes of OIDC sign-in. Persons see a page, programs problem+json.
 *
 *   GET  /session/oidc                whether and with whom one can sign in
 *   GET  /session/oidc/login          sends the browser to the issuer
 *   GET  /session/oidc/callback       the issuer sends the browser back
 *   POST /session/oidc/logout         ends the session; the answer says where the issuer ends its own
 *   POST /session/oidc/backchannel    the issuer ends sessions
 *   POST /session/oidc/device         a terminal begins; /device/token: it polls
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { DomainError, errorCodes } from '../../../domain/errors.ts'
import type { Bodies } from '../../../platform/limits/bodies.ts'
import { type Credentials, cookieOf, setCookie } from '../api/credentials.ts'
import { failurePage } from './failure-page.ts'
import { readReturnTo } from './return-to.ts'
import { loginSeconds, type SignIn } from './sign-in.ts'
import type { TerminalSignIn } from './terminal-sign-in.ts'

interface OidcExchange {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly bodies: Bodies
}

type Handle = (exchange: OidcExchange) => Promise<void>
export type OidcRoutes = Readonly<Record<string, Readonly<Record<string, { access: 'public'; handle: Handle }>>>>

interface OidcRouteDeps {
  readonly issuer: string
  readonly name: string
  readonly credentials: Credentials
  /** Null: the Host of the request, which names a loopback address. */
  readonly publicUrl: string | null
  readonly signIn: SignIn
  readonly terminalSignIn: TerminalSignIn
  /** Returns the issuer's address that ends its own session. */
  readonly signOut: (cookie: string, address: string, returnTo: string) => Promise<string | null>
  /** Throws TOO_MANY. Called before the issuer is asked. */
  readonly admit: (address: string) => void
  readonly acceptLogoutToken: (token: string, address: string) => Promise<void>
  readonly refused: (address: string, why: string) => void
}

/** Characters of a query. Codes of some issuers have thousands. */
const longestQuery = 8_192
/** Bytes. */
const longestBody = 16_384
const uncached = { 'cache-control': 'no-store' }

export function createOidcRoutes(deps: OidcRouteDeps): OidcRoutes {
  const { credentials, publicUrl, signIn, terminalSignIn } = deps

  const loginCookie = (request: IncomingMessage) =>
    credentials.isSecure(request) ? '__Host-rollcall-login' : 'rollcall-login'

  /** `Lax`: the issuer's redirect must carry it. The session's cookie is `Strict`. */
  function setLogin(request: IncomingMessage, record: string, seconds: number): string {
    return setCookie(loginCookie(request), record, {
      seconds,
      isSecure: credentials.isSecure(request),
      sameSite: 'Lax',
    })
  }

  function baseOf(request: IncomingMessage): string {
    if (publicUrl !== null) return publicUrl
    const url = URL.parse(`http://${request.headers.host ?? ''}`)
    if (url !== null && /^(localhost|127(\.\d+){3}|\[::1\])$/.test(url.hostname)) return url.origin
    throw new DomainError('INVALID_REQUEST', 'this server is known by a loopback address only: set PUBLIC_URL')
  }

  /** A person made this request: the answer to an error is a page. */
  function forPersons(handle: Handle): Handle {
    return async (exchange) => {
      try {
        await handle(exchange)
      } catch (error) {
        if (!(error instanceof DomainError)) throw error
        const { request } = exchange
        if (['UNAUTHENTICATED', 'FORBIDDEN'].includes(error.code))
          deps.refused(credentials.addressOf(request), error.message)
        const { status } = errorCodes[error.code]
        const headers = { ...uncached, ...(status === 503 ? { 'retry-after': '5' } : {}), ...failurePage.headers }
        send(exchange, status, failurePage.show(error.message), headers)
      }
    }
  }

  async function formOf(exchange: OidcExchange, type: string): Promise<string> {
    const given = (exchange.request.headers['content-type'] ?? '').split(';')[0]?.trim().toLowerCase()
    if (given !== type) throw new DomainError('UNSUPPORTED_MEDIA_TYPE', `send ${type}`)
    return (await exchange.bodies.read(exchange.request, exchange.response, longestBody)).toString('utf8')
  }

  const login = forPersons(async (exchange) => {
    const { request } = exchange
    // Another site must not begin a sign-in: it would replace the session of the browser.
    credentials.requireOwnPage(request)
    const returnTo = readReturnTo(new URLSearchParams(queryOf(request)).get('returnTo'))
    if (returnTo === null) throw new DomainError('INVALID_REQUEST', 'returnTo must be a path of this server')
    const { cookie } = credentials.of(request)
    const { url, record } = await signIn.begin(baseOf(request), returnTo, cookie)
    send(exchange, 302, '', { ...uncached, location: url, 'set-cookie': setLogin(request, record, loginSeconds) })
  })

  const callback = forPersons(async (exchange) => {
    const { request } = exchange
    const record = cookieOf(request, loginCookie(request))
    const address = credentials.addressOf(request)
    deps.admit(address)
    const opened = await signIn.end(record, queryOf(request), address)
    const session = credentials.setSession(request, opened.text, opened.seconds)
    const location = opened.returnTo
    send(exchange, 302, '', { ...uncached, location, 'set-cookie': [session, setLogin(request, '', 0)] })
  })

  const logout: Handle = async (exchange) => {
    const { request } = exchange
    credentials.requireOwnPage(request)
    const { cookie, address } = credentials.of(request)
    const location = cookie === null ? null : await deps.signOut(cookie, address, `${baseOf(request)}/`)
    const body = JSON.stringify({ location })
    const headers = { ...uncached, 'content-type': 'application/json' }
    send(exchange, 200, body, { ...headers, 'set-cookie': credentials.setSession(request, '', 0) })
  }

  const backchannel: Handle = async (exchange) => {
    const address = credentials.addressOf(exchange.request)
    const form = new URLSearchParams(await formOf(exchange, 'application/x-www-form-urlencoded'))
    const [token, ...more] = form.getAll('logout_token')
    try {
      if (token === undefined || more.length > 0) throw new DomainError('INVALID_REQUEST', 'send one logout_token')
      await deps.acceptLogoutToken(token, address)
    } catch (error) {
      if (!(error instanceof DomainError) || error.code === 'UNAVAILABLE') throw error
      deps.refused(address, error.message)
      const body = JSON.stringify({ error: 'invalid_request', error_description: error.message })
      return send(exchange, 400, body, { ...uncached, 'content-type': 'application/json' })
    }
    send(exchange, 200, '', uncached)
  }

  const beginTerminal: Handle = async (exchange) => {
    credentials.requireOwnPage(exchange.request)
    deps.admit(credentials.addressOf(exchange.request))
    sendJson(exchange, 200, await terminalSignIn.begin())
  }

  const pollTerminal: Handle = async (exchange) => {
    const { request } = exchange
    credentials.requireOwnPage(request)
    const text = await formOf(exchange, 'application/json')
    const address = credentials.addressOf(request)
    deps.admit(address)
    const opened = await terminalSignIn.poll(handleIn(text), address).catch((error: unknown) => {
      if (error instanceof DomainError && ['UNAUTHENTICATED', 'FORBIDDEN'].includes(error.code))
        deps.refused(address, error.message)
      throw error
    })
    if (typeof opened === 'string') return sendJson(exchange, 202, { status: opened })
    const { text: token, name, roles, seconds } = opened
    sendJson(exchange, 201, { token, name, roles, seconds })
  }

  const show: Handle = async (exchange) => sendJson(exchange, 200, { name: deps.name, issuer: deps.issuer })
  const at = (method: string, handle: Handle) => ({ [method]: { access: 'public' as const, handle } })
  return {
    '/session/oidc': at('GET', show),
    '/session/oidc/login': at('GET', login),
    '/session/oidc/callback': at('GET', callback),
    '/session/oidc/logout': at('POST', logout),
    '/session/oidc/backchannel': at('POST', backchannel),
    '/session/oidc/device': at('POST', beginTerminal),
    '/session/oidc/device/token': at('POST', pollTerminal),
  }
}

function queryOf({ url = '' }: IncomingMessage): string {
  const cut = url.indexOf('?')
  const query = cut < 0 ? '' : url.slice(cut + 1)
  if (query.length > longestQuery) throw new DomainError('INVALID_REQUEST', 'the query is too long')
  return query
}

function handleIn(text: string): string {
  try {
    const { handle } = JSON.parse(text) as { readonly handle?: unknown }
    if (typeof handle === 'string') return handle
  } catch {
    // The message below says what to send.
  }
  throw new DomainError('INVALID_REQUEST', 'send {"handle": "…"}: that of POST /session/oidc/device')
}

function sendJson(exchange: OidcExchange, status: number, body: object): void {
  send(exchange, status, JSON.stringify(body), { ...uncached, 'content-type': 'application/json' })
}

function send(
  { request, response }: OidcExchange,
  status: number,
  body: string,
  headers: Readonly<Record<string, string | string[]>>,
): void {
  if (response.headersSent || response.destroyed) return
  response.writeHead(status, { ...headers, 'content-length': Buffer.byteLength(body) })
  response.end(request.method === 'HEAD' ? undefined : body)
}
