/**
 * `/` and its assets: the dashboard. The first request prepares it, so the start of the server stays fast.
 * A client that does not ask for HTML gets a text about the routes.
 *
 *   /, /rollouts, …        the page: revalidated at each load, names its assets by their hashes
 *   /assets/<name>-<hash>  cached permanently, compressed once
 */
import { createHash } from 'node:crypto'
import { extname } from 'node:path'
import { promisify } from 'node:util'
import { brotliCompress, gzip } from 'node:zlib'
import { pageNames } from '../../../apps/dashboard/page-names.ts'
import { DomainError } from '../../../domain/errors.ts'
import { answer, type Exchange } from '../exchange.ts'
import { hasAlready } from '../negotiation.ts'
import { bundlePage, readBuiltPage } from './page-bundle.ts'
import { welcomeText } from './welcome-text.ts'

interface Asset {
  readonly type: string
  readonly bodies: Readonly<Record<Coding, Buffer>>
}

type Coding = 'br' | 'gzip' | 'identity'

interface Bundle {
  /** By the number of folders above the address: the page names its assets relative to it. */
  readonly pages: readonly Asset[]
  readonly assets: ReadonlyMap<string, Asset>
}

const types: Readonly<Record<string, string>> = {
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
}

/** Allows only files of this server, and no inline script or style. A style that a script sets is not inline. */
const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'self'",
  "frame-ancestors 'none'",
].join('; ')

interface Page {
  show(exchange: Exchange): Promise<void>
  /** A browser asks for an address, which need not be that of a page: then it shows so, with 404. Other clients get an error that names the nearest route. */
  canShow(exchange: Exchange): boolean
  sendAsset(exchange: Exchange): Promise<void>
}

/** Of the process: its page does not change, and to compress it takes half a second of processor time. */
let bundling: Promise<Bundle> | null = null

function bundle(): Promise<Bundle> {
  bundling ??= preparePage().catch((error: unknown) => {
    bundling = null
    throw error
  })
  return bundling
}

export function createPage(): Page {
  return {
    async show(exchange) {
      exchange.response.setHeader('vary', 'accept, accept-encoding')
      if (!wantsHtml(exchange))
        return answer(exchange, 200, 'text/plain; charset=utf-8', welcomeText(originOf(exchange)))
      const { pages } = await bundle()
      const page = pages[depthOf(exchange)]
      if (!page) throw new DomainError('NOT_FOUND', `there is no page at ${exchange.path}`)
      const isKnown = ['', ...pageNames].some((name) => name === exchange.path.split('/')[1])
      send(exchange, page, { 'cache-control': 'no-cache', 'content-security-policy': policy }, isKnown ? 200 : 404)
    },
    canShow: (exchange) =>
      (exchange.method === 'GET' || exchange.method === 'HEAD') && wantsHtml(exchange) && depthOf(exchange) <= deepest,
    async sendAsset(exchange) {
      const asset = (await bundle()).assets.get(exchange.path)
      if (!asset)
        throw new DomainError(
          'NOT_FOUND',
          `${exchange.path} does not belong to this version of the page: reload the page`,
        )
      send(exchange, asset, {
        'cache-control': 'public, max-age=31536000, immutable',
        vary: 'accept-encoding',
      })
    },
  }
}

async function preparePage(): Promise<Bundle> {
  const { html, assets } = (await readBuiltPage()) ?? (await bundlePage())
  const prepared = Object.entries(assets).map(
    async ([path, text]) => [path, await toAsset(path, Buffer.from(text))] as const,
  )
  const pages = Array.from({ length: deepest + 1 }, (_, depth) =>
    toAsset('.html', Buffer.from(html.replaceAll(/(href|src)="(assets|graphql)/g, `$1="${'../'.repeat(depth)}$2`))),
  )
  return { pages: await Promise.all(pages), assets: new Map(await Promise.all(prepared)) }
}

/** The address of a page has at most three parts: `/deployment/{reporter}/{deploymentId}`. */
const deepest = 2

const depthOf = ({ path }: Exchange): number => path.split('/').length - 2

async function toAsset(path: string, plain: Buffer): Promise<Asset> {
  const [br, gz] = await Promise.all([promisify(brotliCompress)(plain), promisify(gzip)(plain)])
  return { type: types[extname(path)] ?? 'text/html; charset=utf-8', bodies: { br, gzip: gz, identity: plain } }
}

function send(
  exchange: Exchange,
  { type, bodies }: Asset,
  headers: Readonly<Record<string, string>>,
  status = 200,
): void {
  const coding = acceptedCoding(String(exchange.request.headers['accept-encoding'] ?? ''))
  const body = bodies[coding]
  const tag = `"${createHash('sha256').update(body).digest('base64url').slice(0, 16)}"`
  const more = { ...headers, etag: tag, ...(coding === 'identity' ? {} : { 'content-encoding': coding }) }
  if (status === 200 && hasAlready(exchange.request.headers['if-none-match'], tag)) {
    exchange.response.writeHead(304, more).end()
    return
  }
  answer(exchange, status, type, body, more)
}

function acceptedCoding(header: string): Coding {
  const accepts = (coding: string): boolean =>
    header.split(',').some((part) => {
      const [name = '', ...parameters] = part.split(';').map((one) => one.trim().toLowerCase())
      return name === coding && !parameters.some((parameter) => /^q=0(\.0*)?$/.test(parameter))
    })
  return accepts('br') ? 'br' : accepts('gzip') ? 'gzip' : 'identity'
}

/** Browsers list text/html in Accept. curl accepts any type. */
function wantsHtml({ request }: Exchange): boolean {
  return /\b(text\/html|application\/xhtml\+xml)\b/.test(request.headers.accept ?? '')
}

/** The origin that the client used. The Host is only copied into plain text. */
function originOf({ request }: Exchange): string {
  return `http://${request.headers.host ?? '127.0.0.1:4000'}`
}
