/**
 * Answers POST /mcp. Each request has a server of its own, for its caller: there are no sessions, so none can be taken over, and any server of an
 * installation answers any request. A response is one JSON value, or a stream of events while a tool waits.
 */
import type { ServerResponse } from 'node:http'
import { createMcpHandler } from '@modelcontextprotocol/server'
import { DomainError } from '../../domain/errors.ts'
import { describeAccess, may, type Principal } from '../../domain/principal.ts'
import { parseJson } from '../../platform/body/json.ts'
import type { Log } from '../../platform/log/log.ts'
import type { ApiAuth } from '../auth/api/api-auth.ts'
import { clientSdl } from '../graphql/federation/subgraph-sdl.ts'
import { schema } from '../graphql/schema.ts'
import type { DocumentCaller, OwnDocuments } from '../graphql/transport/own-documents.ts'
import { drained, type Exchange, readBody, requireMediaType } from '../rest/exchange.ts'
import { AskError, type Asking } from './asking.ts'
import { createAssistant } from './assistant.ts'
import { readPages } from './documentation.ts'
import { waitTool } from './tools/wait.ts'

export interface McpDeps {
  readonly documents: OwnDocuments
  readonly auth: Pick<ApiAuth, 'identify' | 'follow'>
  readonly isWriting: boolean
  /** Whether callers may read the schema. */
  readonly introspection: boolean
  readonly log: Log
  readonly clock: () => number
}

/** Bytes. The longest declaration has a hundred deployments. */
const largestBody = 256 << 10

/** Headers that the protocol reads. */
const passed = ['accept', 'content-type', 'mcp-protocol-version', 'mcp-method', 'mcp-name'] as const

let printed: string | null = null

async function readSchema(): Promise<string> {
  printed ??= clientSdl(schema)
  return printed
}

export async function serveMcp(
  { documents, auth, isWriting, introspection, log, clock }: McpDeps,
  exchange: Exchange,
  url: string,
  closing: AbortSignal,
  identify: () => Promise<Principal>,
): Promise<void> {
  const { request, response } = exchange
  requireMediaType(request, ['application/json'])
  const principal = await identify()
  if (!may(principal, 'viewer')) throw new DomainError('FORBIDDEN', `this needs ${describeAccess('viewer')}`)
  const parsedBody = messageOf(await readBody(exchange, largestBody))
  const [gone, ended] = [new AbortController(), new AbortController()]
  response.once('close', () => gone.abort())
  const leave = auth.follow(principal, () =>
    ended.abort(new AskError('UNAUTHENTICATED', 'the credential is not valid any more')),
  )
  const signal = AbortSignal.any([gone.signal, ended.signal, closing])
  const handler = createMcpHandler(
    () =>
      createAssistant(
        askingOf(documents, { principal, request, response }, url, isWriting && may(principal, 'operator')),
        {
          ...{ clock, signal, readPages },
          readSchema: introspection ? readSchema : null,
          report(error) {
            log.error({ requestId: exchange.id, path: exchange.path, error }, 'a tool failed with an unexpected error')
            return `Unexpected error ${exchange.id}. Details are in the server's log.`
          },
        },
      ),
    // Nothing is announced, so there is nothing to subscribe to. A stream has comments in between, without which proxies end what waits.
    { maxSubscriptions: 0, responseMode: isWaiting(parsedBody) ? 'sse' : 'auto' },
  )
  try {
    const headers = passed.flatMap((name): [string, string][] => {
      const value = request.headers[name]
      return typeof value === 'string' ? [[name, value]] : []
    })
    const answer = await handler.fetch(
      new Request('http://localhost/mcp', { method: 'POST', headers, signal: gone.signal }),
      {
        parsedBody,
      },
    )
    await send(answer, response, gone.signal)
  } finally {
    leave()
    gone.abort()
    await handler.close()
  }
}

/** One message. A list of them, which old revisions of the protocol had, would be many requests in one. */
function messageOf(body: Buffer): object {
  // It limits the nesting, and refuses what is not UTF-8. The protocol's numbers are plain ones.
  parseJson(body)
  const message: unknown = JSON.parse(body.toString('utf8'))
  if (typeof message === 'object' && message !== null && !Array.isArray(message)) return message
  throw new DomainError('INVALID_REQUEST', 'the body must be one JSON-RPC message')
}

function isWaiting(message: object): boolean {
  const { params } = message as { readonly params?: { readonly name?: unknown } | null }
  return params?.name === waitTool.name
}

interface Answered {
  readonly data?: unknown
  readonly errors?: readonly { readonly message: string; readonly extensions?: { readonly code?: unknown } }[]
}

function dataOf<Data>({ data, errors }: Answered): Data {
  const [error] = errors ?? []
  if (!error) return data as Data
  const { code } = error.extensions ?? {}
  throw new AskError(typeof code === 'string' ? code : 'BAD_USER_INPUT', error.message)
}

function askingOf(documents: OwnDocuments, caller: DocumentCaller, url: string, isWriting: boolean): Asking {
  return {
    url,
    isWriting,
    ask: async <Data>(document: string, variables = {}) =>
      dataOf<Data>((await documents.ask(caller, document, variables)) as Answered),
    async follow({ query, variables, next }, signal) {
      const failed = new AbortController()
      let failure: unknown = null
      const take = (result: unknown): void => {
        try {
          next(dataOf(result as Answered))
        } catch (error) {
          failure ??= error
          failed.abort()
        }
      }
      await documents.follow(caller, query, variables, take, AbortSignal.any([signal, failed.signal]))
      if (failure !== null) throw failure
    },
  }
}

/** Waits while the client reads slowly. */
async function send({ status, headers, body }: Response, response: ServerResponse, signal: AbortSignal): Promise<void> {
  if (response.destroyed) return
  response.writeHead(status, {
    ...Object.fromEntries(headers),
    'cache-control': 'private, no-store',
    'x-accel-buffering': 'no',
  })
  const reader = body?.getReader()
  const stop = (): void => void reader?.cancel().catch(() => undefined)
  signal.addEventListener('abort', stop, { once: true })
  for (let part = await reader?.read(); part?.value; part = await reader?.read()) {
    if (response.destroyed) return
    if (!response.write(part.value)) await drained(response)
  }
  // Cut off: the client must not take a part for the whole.
  if (signal.aborted) response.destroy()
  else response.end()
}
