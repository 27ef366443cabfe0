/** GraphQL requests, both ready to be sent many times and asked once. */
import { buildRequest } from './http-connection.ts'

export function buildQuery(path: string, query: string, variables: object): Buffer {
  return buildRequest('POST', path, JSON.stringify({ query, variables }), ['Accept: application/json'])
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
