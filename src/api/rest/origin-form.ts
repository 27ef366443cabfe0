import type { IncomingMessage } from 'node:http'

const absolute = /^https?:\/\/([^/?#@]+)([^#]*)$/i

/**
 * Makes `POST http://host/path` a request for `/path` at that host. A client that takes the server for its proxy sends the whole URL, and
 * every server must accept it and ignore the header Host (RFC 9112 §3.2.2).
 */
export function toOriginForm(request: IncomingMessage): void {
  const [, host, rest] = absolute.exec(request.url ?? '') ?? []
  if (host === undefined || rest === undefined) return
  request.url = rest.startsWith('/') ? rest : `/${rest}`
  request.headers.host = host
}
