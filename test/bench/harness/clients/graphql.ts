/** GraphQL requests, both ready to be sent many times and asked once. */
import { buildRequest } from './http-connection.ts'

export function buildQuery(path: string, query: string, variables: object): Buffer {
  return buildRequest('POST', path, JSON.stringify({ query, variables }), ['Accept: application/json'])
}

const unasked = Buffer.from('"nonce":"00000000"')
let asked = 0

/** As buildQuery, and never the same bytes twice, so that no cache has the answer. Call the result for each request. */
export function buildFreshQuery(path: string, query: string, variables: object): () => Buffer {
  const body = JSON.stringify({ query, variables, extensions: { nonce: '00000000' } })
  const request = buildRequest('POST', path, body, ['Accept: application/json'])
  const at = request.lastIndexOf(unasked) + 9
  return () => {
    asked += 1
    const own = Buffer.from(request)
    own.write(String(asked % 100_000_000).padStart(8, '0'), at, 'latin1')
    return own
  }
}

/** The data; throws at any error. */
export async function ask<Data>(url: string, query: string, variables: object = {}): Promise<Data> {
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'application/json' },
    body: JSON.stringify({ query, variables }),
  })
  const { data, errors } = (await response.json()) as { data?: Data; errors?: unknown }
  if (errors || data === undefined) throw new Error(`a query failed: ${JSON.stringify(errors)}`)
  return data
}
