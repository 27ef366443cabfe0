/**
 * What a request shows to say whose it is, read in one place for every route and transport.
 *
 * Browsers send a cookie along whichever page asks, and apply no same-origin policy to WebSockets. So a cookie counts only for our own
 * page and for pages that CORS_ORIGINS names one by one: `*` lets any page ask, as nobody or with a token of its own, never with the
 * session of the person before the screen.
 *
 * Over https only the name is read that browsers guard (`__Host-`, RFC 6265bis, 4.1.3.2). A cookie without that prefix can be set by
 * any host of the same domain and by anyone on a plain http connection, and would be sent along just the same.
 */
import type { IncomingHttpHeaders } from 'node:http'
import { DomainError } from '../../domain/errors.ts'

export interface Presented {
  /** Of `Authorization: Bearer …` or `X-API-Key: …`; null: neither. */
  readonly token: string | null
  /** Of our cookie. */
  readonly cookie: string | null
  /** For the audit log. */
  readonly address: string
}

/** What is looked at: of HTTP, and of the request that a WebSocket began with. */
export interface Asking {
  readonly headers: IncomingHttpHeaders
  readonly socket: { readonly remoteAddress?: string | undefined }
}

export interface Credentials {
  /** `payload`: `connectionInit`'s, whose members may be a token, named as the headers. Throws FORBIDDEN for a cookie that another site's page sends. */
  of(request: Asking, payload?: unknown): Presented
  /** Whether a page may ask at all, as nobody or with a token of its own: ours, one that is named, or any. What is no browser names no page. */
  mayAsk(request: Asking): boolean
  /** Throws FORBIDDEN where a page of another site asks: it must neither open nor end a session. */
  requireOwnPage(request: Asking): void
  /** Whether the browser's connection is https, as far as can be told. */
  isSecure(request: Asking): boolean
}

export interface CredentialsDeps {
  readonly addresses: {
    of(request: Asking): string
    /** Whether it comes from a proxy whose headers may be believed. */
    isTrusted(request: Asking): boolean
  }
  /** How the world reaches this server; null: as it was asked. */
  readonly publicUrl: string | null
  /** Of other sites whose pages may ask; `*`: all. */
  readonly origins: readonly string[]
}

export function createCredentials({ addresses, publicUrl, origins }: CredentialsDeps): Credentials {
  // Behind a proxy the Host may be another one than the world knows.
  const named = [...origins, ...(publicUrl === null ? [] : [new URL(publicUrl).origin])]

  function isOverTls(request: Asking): boolean {
    if ('encrypted' in request.socket) return true
    return addresses.isTrusted(request) && request.headers['x-forwarded-proto'] === 'https'
  }

  function isSecure(request: Asking): boolean {
    return publicUrl?.startsWith('https:') || isOverTls(request)
  }

  /** What is no browser says nothing of an origin. */
  function isOwnPage(request: Asking): boolean {
    const { origin, host, 'sec-fetch-site': site = 'none' } = request.headers
    if (origin === undefined) return site === 'same-origin' || site === 'none'
    if (named.includes(origin)) return true
    const page = URL.parse(origin)
    // A page that came in the clear may be anybody's, also under our name.
    return page?.host === host && (page?.protocol === 'https:' || !isOverTls(request))
  }

  function requireOwnPage(request: Asking): void {
    if (isOwnPage(request)) return
    throw new DomainError('FORBIDDEN', 'a page of another site cannot use the session of this one')
  }

  return {
    isSecure,
    mayAsk: (request) => request.headers.origin === undefined || origins.includes('*') || isOwnPage(request),
    requireOwnPage,
    of(request, payload) {
      const token = readToken(ofPayload(payload)) ?? tokenOf(request)
      const cookie = readCookie(request.headers.cookie ?? '', cookieName(isSecure(request)))
      if (cookie !== null && token === null) requireOwnPage(request)
      return { token, cookie: isOwnPage(request) ? cookie : null, address: addresses.of(request) }
    },
  }
}

export function cookieName(isSecure: boolean): string {
  return isSecure ? '__Host-rollcall' : 'rollcall'
}

export function tokenOf({ headers }: Pick<Asking, 'headers'>): string | null {
  return readToken((name) => headers[name])
}

function readToken(get: (name: string) => unknown): string | null {
  const [authorization, key] = [get('authorization'), get('x-api-key')]
  const [, bearer = null] = /^Bearer +(\S+) *$/i.exec(typeof authorization === 'string' ? authorization : '') ?? []
  return bearer ?? ((typeof key === 'string' && key.trim()) || null)
}

/** Members in any case. */
function ofPayload(payload: unknown): (name: string) => unknown {
  const members = Object.entries(typeof payload === 'object' && payload !== null ? payload : {})
  return (name) => members.find(([member]) => member.toLowerCase() === name)?.[1]
}

/** Of several with one name, one was set by somebody else, and the order does not say which: none is believed. */
function readCookie(header: string, name: string): string | null {
  const values = header.split(';').flatMap((part) => {
    const cut = part.indexOf('=')
    return cut > 0 && part.slice(0, cut).trim() === name ? [part.slice(cut + 1).trim()] : []
  })
  return values.length === 1 ? values[0] || null : null
}
