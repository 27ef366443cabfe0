/**
 * Reads the credentials of a request, for every route and transport.
 *
 * A browser attaches a cookie to a request of any page, and applies no same-origin policy to WebSockets. So a cookie counts only for the
 * dashboard and for pages that CORS_ORIGINS names. `*` lets any page send requests, anonymously or with its own token, but never with the
 * session of the browser's user.
 *
 * Over https only the cookie with the `__Host-` prefix is read, which browsers protect (RFC 6265bis, 4.1.3.2). Any host of the same domain,
 * or an attacker on a plain http connection, can set a cookie without that prefix, and the browser would send it.
 *
 * A page of `evil.example` is of this server's own origin as soon as that name resolves to 127.0.0.1 (DNS rebinding). Where no credential is
 * needed, only the header Host shows it. An IP address as Host cannot be rebound.
 */
import type { IncomingHttpHeaders } from 'node:http'
import { isIP } from 'node:net'
import { DomainError } from '../../../domain/errors.ts'

export interface Presented {
  /** From `Authorization: Bearer …` or `X-API-Key: …`. Null: neither header is present. */
  readonly token: string | null
  /** From the session cookie. */
  readonly cookie: string | null
  /** For the audit log. */
  readonly address: string
}

/** An HTTP request, or the upgrade request of a WebSocket. */
interface Asking {
  readonly headers: IncomingHttpHeaders
  /** Names and values, as they were sent. */
  readonly rawHeaders?: readonly string[]
  readonly socket: { readonly remoteAddress?: string | undefined }
}

export interface Credentials {
  /** `payload`: that of `connectionInit`, which may have a token under the names of the headers. Throws FORBIDDEN for a cookie that a page of another site sends. */
  of(request: Asking, payload?: unknown): Presented
  /** Whether the page of the request may send requests, anonymously or with its own token. A request without an origin is not from a page, and is allowed. */
  mayAsk(request: Asking): boolean
  /**
   * Throws INVALID_REQUEST for headers that a proxy and this server can read differently, and if Host is a name of another server, where only the
   * name keeps pages of other sites away.
   */
  requireOwnName(request: Asking): void
  /** Throws FORBIDDEN for a page of another site: it must neither open nor end a session. */
  requireOwnPage(request: Asking): void
  /** For the audit log. */
  addressOf(request: Asking): string
  /** The header that gives a browser its session. 0 seconds end it. */
  setSession(request: Asking, value: string, seconds: number): string
  /** Whether the browser's connection uses https, as far as the server can detect. */
  isSecure(request: Asking): boolean
}

interface CredentialsDeps {
  readonly addresses: {
    of(request: Asking): string
    /** Whether the peer is a trusted proxy, whose headers are used. */
    isTrusted(request: Asking): boolean
  }
  /** The public URL of this server. Null: the Host of the request. */
  readonly publicUrl: string | null
  /** Origins whose pages may send requests. `*`: all. */
  readonly origins: readonly string[]
  /** Whether callers or devices need no credential and the address is a loopback one, so that the browsers of this machine are the only danger. */
  readonly isOpenOnLoopback?: boolean
}

/** A name that the public DNS does not have, so that no other site can own it. IPv6 addresses in brackets are among them. */
const privateName = /^[^.]+$|\.(localhost|internal|test)$/

export function createCredentials(deps: CredentialsDeps): Credentials {
  const { addresses, publicUrl, origins, isOpenOnLoopback = false } = deps
  // Behind a proxy the Host may differ from the public one.
  const named = [...origins, ...(publicUrl === null ? [] : [new URL(publicUrl).origin])]

  /** A request without the header, or with one that is no host, is not from a browser. */
  function hasOwnName({ headers: { host } }: Asking): boolean {
    if (!isOpenOnLoopback || host === undefined) return true
    const name = URL.parse(`http://${host}`)?.hostname
    return name === undefined || isIP(name) !== 0 || privateName.test(name) || isPublicName(name)
  }

  function isPublicName(name: string): boolean {
    return publicUrl !== null && new URL(publicUrl).hostname === name
  }

  function requireOwnName(request: Asking): void {
    const ambiguity = ambiguityOf(request)
    if (ambiguity !== null) throw new DomainError('INVALID_REQUEST', ambiguity)
    if (hasOwnName(request)) return
    throw new DomainError(
      'INVALID_REQUEST',
      'the header Host names another server: without authentication, this one answers to localhost, to IP addresses and to the host of PUBLIC_URL only',
    )
  }

  function isOverTls(request: Asking): boolean {
    if ('encrypted' in request.socket) return true
    return addresses.isTrusted(request) && request.headers['x-forwarded-proto'] === 'https'
  }

  function isSecure(request: Asking): boolean {
    return publicUrl?.startsWith('https:') || isOverTls(request)
  }

  /** A client that is not a browser sends no origin. */
  function isOwnPage(request: Asking): boolean {
    const { origin, host, 'sec-fetch-site': site = 'none' } = request.headers
    if (origin === undefined) return site === 'same-origin' || site === 'none'
    if (named.includes(origin)) return true
    const page = URL.parse(origin)
    // An attacker on the network can forge a page that was loaded over plain http, even under the name of this server.
    return page?.host === host && (page?.protocol === 'https:' || !isOverTls(request))
  }

  function requireOwnPage(request: Asking): void {
    if (isOwnPage(request)) return
    throw new DomainError('FORBIDDEN', 'a page of another site cannot use the session of this one')
  }

  return {
    isSecure,
    addressOf: (request) => addresses.of(request),
    setSession(request, value, seconds) {
      const secure = isSecure(request)
      return setCookie(cookieName(secure), value, { seconds, isSecure: secure, sameSite: 'Strict' })
    },
    mayAsk: (request) =>
      ambiguityOf(request) === null &&
      hasOwnName(request) &&
      (request.headers.origin === undefined || origins.includes('*') || isOwnPage(request)),
    requireOwnName,
    requireOwnPage,
    of(request, payload) {
      const token = readToken(ofPayload(payload)) ?? tokenOf(request)
      const cookie = cookieOf(request, cookieName(isSecure(request)))
      if (cookie !== null && token === null) requireOwnPage(request)
      return { token, cookie: isOwnPage(request) ? cookie : null, address: addresses.of(request) }
    },
  }
}

/** Those that may be there once. */
const singles = ['Host', 'Origin', 'Authorization', 'Content-Type', 'X-API-Key'] as const
/** A name or an address, and a port. */
const hostAndPort = /^(?:[\w.-]+|\[[0-9a-f:.]+\])(?::\d{0,5})?$/i

/**
 * Why a proxy can have read another request than this server. Of two headers Node takes the first, and a proxy may have taken the second
 * (RFC 9112 §3.2, RFC 9110 §5.3). URL would take what is after an `@` of a Host for the host. Null: all read the same.
 */
function ambiguityOf({ headers: { host }, rawHeaders = [] }: Asking): string | null {
  let seen = 0
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index] ?? ''
    const single = singles.findIndex((one) => one.length === name.length && one.toLowerCase() === name.toLowerCase())
    if (single < 0) continue
    if (seen & (1 << single)) return `the header ${singles[single]} is there twice: send it once`
    seen |= 1 << single
  }
  return host === undefined || hostAndPort.test(host)
    ? null
    : 'the header Host must be a host name with an optional port'
}

function cookieName(isSecure: boolean): string {
  return isSecure ? '__Host-rollcall' : 'rollcall'
}

/** A header that sets a cookie which no script can read. */
export function setCookie(
  name: string,
  value: string,
  { seconds, isSecure, sameSite }: { seconds: number; isSecure: boolean; sameSite: 'Strict' | 'Lax' },
): string {
  const attributes = ['Path=/', 'HttpOnly', `SameSite=${sameSite}`, `Max-Age=${seconds}`]
  return [`${name}=${value}`, ...attributes, ...(isSecure ? ['Secure'] : [])].join('; ')
}

export function tokenOf({ headers }: Pick<Asking, 'headers'>): string | null {
  return readToken((name) => headers[name])
}

function readToken(get: (name: string) => unknown): string | null {
  const [authorization, key] = [get('authorization'), get('x-api-key')]
  const [, bearer = null] = /^Bearer +(\S+) *$/i.exec(typeof authorization === 'string' ? authorization : '') ?? []
  return bearer ?? ((typeof key === 'string' && key.trim()) || null)
}

/** Reads members without regard to case. */
function ofPayload(payload: unknown): (name: string) => unknown {
  const members = Object.entries(typeof payload === 'object' && payload !== null ? payload : {})
  return (name) => members.find(([member]) => member.toLowerCase() === name)?.[1]
}

/** Null for several cookies of one name: another site set one of them, and the order does not show which. */
export function cookieOf({ headers }: Pick<Asking, 'headers'>, name: string): string | null {
  const values = (headers.cookie ?? '').split(';').flatMap((part) => {
    const cut = part.indexOf('=')
    return cut > 0 && part.slice(0, cut).trim() === name ? [part.slice(cut + 1).trim()] : []
  })
  return values.length === 1 ? values[0] || null : null
}
