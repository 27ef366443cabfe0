/** Requests of programs: one JSON body or query string, one JSON response. The response cache answers only these. */
import type { IncomingMessage } from 'node:http'
import { asksForCost, costHeader } from './cost-header.ts'

/** Bytes of a request. */
const maxRequestSize = 16 * 1024

/** Whether a request is plain. `origins`: for other sites' origins, the CORS headers depend on the origin. */
export function isPlain({ method, headers, url = '' }: IncomingMessage, origins: readonly string[]): boolean {
  const { accept = '*/*', origin } = headers
  if (asksForCost(headers[costHeader])) return false
  if (accept.length > 200 || /text\/|multipart/.test(accept)) return false
  if (origin !== undefined && origins.length > 0) return false
  if (method === 'GET') return url.includes('query=') && url.length <= maxRequestSize
  if (method !== 'POST' || url !== '/graphql' || headers['content-encoding'] !== undefined) return false
  const length = Number(headers['content-length'])
  return (
    length > 0 &&
    length <= maxRequestSize &&
    /^application\/json(; *charset=utf-8)?$/i.test(headers['content-type'] ?? '')
  )
}

/** Never resolves if the body is never finished. Leaves the body in `request.body`, where Yoga looks for it. */
export function readPlain(request: IncomingMessage & { body?: Buffer }): Promise<string> {
  if (request.method === 'GET') return Promise.resolve(request.url ?? '')
  const parts: Buffer[] = []
  return new Promise((resolve) => {
    request.on('data', (part: Buffer) => void parts.push(part))
    request.on('end', () => {
      const [first] = parts
      request.body = parts.length === 1 && first ? first : Buffer.concat(parts)
      resolve(request.body.toString('latin1'))
    })
  })
}

export interface Question {
  readonly query: string
  readonly variables: Readonly<Record<string, unknown>> | undefined
  readonly operationName: string | undefined
}

/** Null: the request has parts that Yoga must handle or refuse. */
export function questionOf({ method, body }: IncomingMessage & { readonly body?: Buffer }): Question | null {
  if (method !== 'POST' || !body) return null
  const asked = parse(body)
  if (!isObject(asked)) return null
  const { query, variables, operationName, extensions, ...others } = asked
  if (typeof query !== 'string' || Object.keys(others).length > 0) return null
  if (!isObject(variables ?? {}) || typeof (operationName ?? '') !== 'string') return null
  if (!isObject(extensions ?? {}) || 'persistedQuery' in Object(extensions)) return null
  return {
    query,
    variables: (variables ?? undefined) as Question['variables'],
    operationName: (operationName ?? undefined) as string | undefined,
  }
}

function parse(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString())
  } catch {
    return null
  }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
