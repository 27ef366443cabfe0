/** Which pages of the web may talk to us: ours, and those that were named. Whatever is not a browser sends no Origin. */
import type { IncomingHttpHeaders } from 'node:http'

/** Browsers apply no same-origin policy to WebSockets: the server has to. */
export function isAllowedOrigin(headers: IncomingHttpHeaders, allowed: readonly string[]): boolean {
  const { origin, host } = headers
  if (origin === undefined || allowed.includes('*') || allowed.includes(origin)) return true
  return URL.parse(origin)?.host === host
}
