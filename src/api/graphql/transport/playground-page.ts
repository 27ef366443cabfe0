/** The page of GraphiQL. It has 9 MB, so all responses share its bytes: Yoga would make them anew for each request, also of a client that does not read. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import type { Headers } from './entity-tag.ts'
import { defaultQuery } from './playground.ts'

/** One page with inline script and style; its editor creates workers. It connects to this server only. */
const pagePolicy = [
  "default-src 'none'",
  "script-src 'unsafe-inline'",
  "style-src 'unsafe-inline'",
  'worker-src blob:',
  'img-src data:',
  'font-src data:',
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')

/** What is below the editor of a narrow window is cut. Without this it is a white strip, also in GraphiQL's dark colours. */
const style = `<style>
  :root { color-scheme: light dark; background: light-dark(#fff, hsl(219, 28%, 18%)); }
  body { height: 100vh; overflow: hidden; }
</style>`

/** As Yoga decides it. */
export const asksForPlayground = ({ method, headers }: IncomingMessage): boolean =>
  method === 'GET' && (headers.accept ?? '').includes('text/html')

export function createPlaygroundPage(): (
  request: IncomingMessage,
  response: ServerResponse,
  headers: Headers,
) => Promise<void> {
  let rendering: Promise<{ readonly plain: Buffer; readonly zipped: Buffer }> | null = null
  const render = async () => {
    // Its 9 MB are loaded with the first request.
    const { renderGraphiQL } = await import('@graphql-yoga/render-graphiql')
    // Yoga's own page loads scripts from a CDN: it needs the internet and runs third-party code.
    const page = renderGraphiQL({ title: 'GraphiQL · Rollcall', defaultQuery })
    const plain = Buffer.from(page.replace('</head>', `${style}</head>`))
    return { plain, zipped: await promisify(gzip)(plain) }
  }
  return async (request, response, headers) => {
    rendering ??= render()
    const { plain, zipped } = await rendering
    if (response.destroyed) return
    const isZipped = /\bgzip\b/.test(String(request.headers['accept-encoding'] ?? ''))
    response.writeHead(200, {
      ...headers,
      'content-type': 'text/html',
      'content-security-policy': pagePolicy,
      'cache-control': 'private, no-cache',
      vary: 'Accept, Accept-Encoding',
      'content-length': isZipped ? zipped.length : plain.length,
      ...(isZipped ? { 'content-encoding': 'gzip' } : {}),
    })
    response.end(isZipped ? zipped : plain)
  }
}
