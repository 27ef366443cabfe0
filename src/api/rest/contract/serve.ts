/**
 * The contracts that machines read: OpenAPI, AsyncAPI, the JSON Schema of each body, and their catalog (RFC 9727). They are the same on each server of a
 * version. The package has their text, and a checkout makes it with the first request.
 */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { DomainError } from '../../../domain/errors.ts'
import { isBundled, root } from '../../../platform/installation.ts'
import { entityTagOf } from '../../graphql/transport/entity-tag.ts'
import { answer, type Exchange } from '../exchange.ts'
import { hasAlready } from '../negotiation.ts'
import type { OwnRoutes } from './own.ts'

/** In the folder of the bundle. */
export const builtContracts = 'contracts.json'

/** RFC 8631. */
export const contractLink = '</openapi.json>; rel="service-desc"; type="application/json"'

const catalog = '/.well-known/api-catalog'
const profile = 'application/linkset+json; profile="https://www.rfc-editor.org/info/rfc9727"'

interface Served {
  readonly headers: Readonly<Record<string, string>>
  readonly type: string
  readonly body: Buffer
}

let reading: Promise<ReadonlyMap<string, Served>> | null = null

async function readContracts(): Promise<ReadonlyMap<string, Served>> {
  const texts = isBundled
    ? new Map<string, string>(JSON.parse(await readFile(join(root, 'dist', builtContracts), 'utf8')))
    : await (await import('./document.ts')).makeContracts()
  return new Map([...texts].map(([path, text]) => [path, serve(path, Buffer.from(text))]))
}

function serve(path: string, body: Buffer): Served {
  const type = path === catalog ? profile : path.startsWith('/schemas/') ? 'application/schema+json' : typeOf(path)
  const link = path === catalog && { link: `<${catalog}>; rel="api-catalog"` }
  const headers = {
    etag: entityTagOf({ headers: { 'content-type': type }, body }),
    'cache-control': 'no-cache',
    ...link,
  }
  return { headers, type, body }
}

const typeOf = (path: string): string => (path.endsWith('.yaml') ? 'application/yaml' : 'application/json')

async function send(exchange: Exchange): Promise<void> {
  reading ??= readContracts().catch((error: unknown) => {
    reading = null
    throw error
  })
  const found = (await reading).get(exchange.path)
  if (!found) throw new DomainError('NOT_FOUND', `there is no contract at ${exchange.path}: ${catalog} lists them`)
  const { headers, type, body } = found
  if (hasAlready(exchange.request.headers['if-none-match'], headers.etag ?? ''))
    exchange.response.writeHead(304, headers).end()
  else answer(exchange, 200, type, body, headers)
}

const methods = { GET: { access: 'public', handle: send } } as const

export const contractRoutes: OwnRoutes = {
  '/openapi.json': methods,
  '/openapi.yaml': methods,
  '/asyncapi.json': methods,
  '/asyncapi.yaml': methods,
  '/schemas/*': methods,
  [catalog]: methods,
}
