/** Which pages of the web may talk to us: ours, and those that were named. Whatever is not a browser sends no Origin. */
import type { IncomingHttpHeaders } from 'node:http'

type Get = (name: string) => string | null | undefined

/** Browsers apply no same-origin policy to WebSockets: the server has to. */
export function isAllowedOrigin(headers: IncomingHttpHeaders, allowed: readonly string[]): boolean {
  const { origin, host } = headers
  if (origin === undefined || allowed.includes('*') || allowed.includes(origin)) return true
  return isOf(origin, host)
}

/** Whether what asks with our cookie is our page, or one that was named; `*` names nobody. What is no browser says nothing. */
export function isOwnPage(get: Get, allowed: readonly string[]): boolean {
  const origin = get('origin') ?? null
  if (origin !== null) return allowed.includes(origin) || isOf(origin, get('host'))
  return ['same-origin', 'none', null].includes(get('sec-fetch-site') ?? null)
}

function isOf(origin: string, host: string | null | undefined): boolean {
  return URL.parse(origin)?.host === host
}
