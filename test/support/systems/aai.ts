/** An A&AI that minds what the real one minds: headers, required fields, resource-versions, thirty operations, all or nothing. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

type Node = Record<string, unknown> & { 'resource-version': string }

export interface Aai {
  readonly url: string
  /** By URI below /aai/vN. */
  readonly nodes: Map<string, Node>
  readonly transactions: number
  /** All that it was ever asked to do. */
  readonly operations: readonly object[]
  /** Answers the next requests with this status instead. */
  fail(status: number, times: number): void
  /** Another client changes a node immediately before the next transaction. */
  race(uri: string): void
  put(uri: string, body: object): void
  close(): Promise<void>
}

const required = ['id', 'name', 'group', 'version', 'kind', 'namespace', 'selflink']

export async function startAai(): Promise<Aai> {
  const nodes = new Map<string, Node>()
  const asked: object[] = []
  let clock = 0
  let failing = { status: 500, times: 0 }
  let raced: string | null = null
  let transactions = 0
  const put = (uri: string, body: object): void => {
    clock += 1
    nodes.set(uri, { ...body, 'resource-version': String(clock) })
  }

  const refuse = (response: ServerResponse, status: number, code: string): void => {
    response.writeHead(status, { 'content-type': 'application/json' })
    response.end(
      JSON.stringify({ requestError: { serviceException: { messageId: 'SVC3000', text: code, variables: [code] } } }),
    )
  }

  function check(action: string, uri: string, body: Record<string, unknown>): [number, string] | null {
    const [path = '', query = ''] = uri.split('?')
    const known = nodes.get(path)
    const version = action === 'delete' ? new URLSearchParams(query).get('resource-version') : body['resource-version']
    if (action !== 'put' && !known) return [404, 'AAI_6114']
    if (known && version === undefined && action !== 'patch') return [412, 'AAI_6130']
    if (known && version !== undefined && version !== known['resource-version']) return [412, 'AAI_6131']
    if (!known && version !== undefined) return [412, 'AAI_6135']
    const isResource = path.includes('/k8s-resource/')
    if (action === 'put' && isResource && required.some((field) => typeof body[field] !== 'string'))
      return [400, 'AAI_6118']
    const { relationship = [] } = (body['relationship-list'] ?? {}) as { relationship?: { 'related-link': string }[] }
    if (relationship.some((link) => !nodes.has(link['related-link'].replace(/^\/aai\/v\d+/, ''))))
      return [404, 'AAI_6129']
    return null
  }

  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    let text = ''
    for await (const chunk of request) text += chunk
    if (failing.times > 0) {
      failing = { ...failing, times: failing.times - 1 }
      return refuse(response, failing.status, 'AAI_4000')
    }
    if (!request.headers['x-fromappid'] || !request.headers['x-transactionid']) return refuse(response, 400, 'AAI_4009')
    if (!request.headers.authorization?.startsWith('Basic ')) return refuse(response, 401, 'AAI_3300')
    const uri = (request.url ?? '').replace(/^\/aai\/v\d+/, '')
    if (request.method === 'GET') {
      const node = nodes.get(uri)
      if (!node) return refuse(response, 404, 'AAI_6114')
      response.writeHead(200, { 'content-type': 'application/json' })
      response.end(JSON.stringify(node))
      return
    }
    if (uri !== '/bulk/single-transaction') return refuse(response, 405, 'AAI_3010')
    if (raced !== null) {
      const { 'resource-version': _, ...body } = nodes.get(raced) ?? { 'resource-version': '' }
      put(raced, body)
      raced = null
    }
    const { operations } = JSON.parse(text) as {
      operations: { action: string; uri: string; body: Record<string, unknown> }[]
    }
    asked.push(...operations)
    if (operations.length > 30) return refuse(response, 400, 'AAI_6149')
    const problem = operations.map(({ action, uri: on, body }) => check(action, on, body)).find((one) => one !== null)
    if (problem) return refuse(response, ...problem)
    transactions += 1
    for (const { action, uri: on, body } of operations) {
      const [path = ''] = on.split('?')
      if (action === 'delete') nodes.delete(path)
      else put(path, action === 'patch' ? { ...nodes.get(path), ...body } : body)
    }
    response.writeHead(201, { 'content-type': 'application/json' })
    response.end('{}')
  }

  const server = createServer((request, response) => void handle(request, response))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    nodes,
    operations: asked,
    get transactions() {
      return transactions
    },
    fail(status, times) {
      failing = { status, times }
    },
    race(uri) {
      raced = uri
    },
    put,
    close: () =>
      new Promise((resolve) => {
        server.closeAllConnections()
        server.close(() => resolve())
      }),
  }
}
