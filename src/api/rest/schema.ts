/** `GET /schema.graphql`: the schema of this server in GraphQL's schema definition language, for generators of code. */
import { clientSdl } from '../graphql/federation/subgraph-sdl.ts'
import { schema } from '../graphql/schema.ts'
import { entityTagOf } from '../graphql/transport/entity-tag.ts'
import { answer, type Exchange } from './exchange.ts'
import { hasAlready } from './negotiation.ts'

const type = 'text/plain; charset=utf-8'
let printed: { readonly body: Buffer; readonly etag: string } | null = null

export async function sendSchema(exchange: Exchange): Promise<void> {
  printed ??= print()
  const { body, etag } = printed
  const headers = { etag, 'cache-control': 'no-cache' }
  if (hasAlready(exchange.request.headers['if-none-match'], etag)) exchange.response.writeHead(304, headers).end()
  else answer(exchange, 200, type, body, headers)
}

function print(): typeof printed & object {
  const body = Buffer.from(clientSdl(schema))
  return { body, etag: entityTagOf({ headers: { 'content-type': type }, body }) }
}
