/** The client of the API as terminals need it: with errors that say what to do, and subscriptions that end by a signal. */

import { WebSocket } from 'ws'
import { escapeLine } from '../../domain/look-alike.ts'
import { ApiError, connect } from '../client/client.ts'
import { isPassing, toUnreachable } from '../client/errors.ts'
import { largestAnswer } from '../client/request.ts'
import { webSocket } from '../client/websocket.ts'

type Variables = object

export interface Api {
  /** The server's address, without a trailing slash. */
  readonly url: string
  /** The answer's data. Throws an ApiError, or the reason of the aborted signal. */
  ask<Data>(document: string, variables?: Variables, signal?: AbortSignal): Promise<Data>
  /** Calls `next` with each result until the signal is aborted, and resumes when the connection is lost. Rejects with an ApiError only when a retry cannot succeed. */
  follow<Data>(subscription: Subscription<Data>, signal: AbortSignal): Promise<void>
}

export interface Subscription<Data> {
  readonly query: string
  readonly variables?: Variables
  readonly next: (data: Data) => void
  /** The connection is lost (with the reason) or restored (null). */
  readonly interrupted?: (reason: string | null) => void
}

type ApiProblem = 'unreachable' | 'busy' | 'refused' | 'invalid'

export function problemOf(error: ApiError): ApiProblem {
  const { code, status } = error
  if (code === 'UNREACHABLE') return 'unreachable'
  if (isPassing(error)) return 'busy'
  return status === 401 || status === 403 || ['FORBIDDEN', 'REFUSED'].includes(code) ? 'refused' : 'invalid'
}

const requestTimeout = 30_000
/** That of Node has no limit. */
class BoundedSocket extends WebSocket {
  constructor(address: string, protocols: string) {
    super(address, protocols, { maxPayload: largestAnswer, perMessageDeflate: false, followRedirects: false })
    // It would wait for the other side to close it.
    this.on('error', () => this.terminate())
  }
}

/** `token`: an API key or a JWT, sent as a bearer token. */
export function createApi(address: string, token?: string): Api {
  const url = address.replace(/\/+$/, '')
  const client = connect({ url, token, transport: webSocket({ webSocketImpl: BoundedSocket }) })

  function explain({ code, status, message }: ApiError): string {
    if (code === 'REFUSED') return `the server at ${url} rejects the token, or requires one: ${message}`
    if (code === 'UNREACHABLE') return `can't reach the server at ${url}: ${message}`
    if (status === 429 || status >= 500) {
      const reason = code === 'NO_ANSWER' ? '' : `: ${message}`
      return `the server at ${url} is overloaded or unavailable (HTTP ${status})${reason}. Try again later`
    }
    if (code !== 'NO_ANSWER') return message
    return status === 401 || status === 403
      ? `the server at ${url} requires a token: use rollcall login, --token or ROLLCALL_TOKEN`
      : `${url} is not a Rollcall server (HTTP ${status}): check the address`
  }

  const explained = (failure: unknown): ApiError => {
    const error = toUnreachable(failure)
    return new ApiError(error.code, explain(error), error)
  }

  return {
    url,
    async ask<Data>(query: string, variables: Variables = {}, signal?: AbortSignal) {
      const late = AbortSignal.timeout(requestTimeout)
      try {
        return await client.query<Data>(query, variables, { signal: signal ? AbortSignal.any([signal, late]) : late })
      } catch (error) {
        signal?.throwIfAborted()
        throw explained(error)
      }
    },
    async follow<Data>({ query, variables = {}, interrupted, next }: Subscription<Data>, signal: AbortSignal) {
      // The server may have chosen the reason, and it is shown in JSON mode too.
      const tell = (reason: string | null): void => interrupted?.(reason && escapeLine(reason))
      const updates = client.watch<Data>(query, variables, { signal, interrupted: tell })
      for (;;) {
        const { value } = await updates.next().catch((error: unknown) => {
          throw explained(error)
        })
        if (!value) return
        next(value.data)
      }
    },
  }
}

/** The same until the signal is aborted, which ends its requests. */
export function until(signal: AbortSignal, api: Api): Api {
  return {
    ...api,
    ask: (document, variables, own) => api.ask(document, variables, own ? AbortSignal.any([own, signal]) : signal),
  }
}

/** The same for output that a person reads: hidden characters of IDs, names and messages are escaped, so they can neither move the terminal's cursor nor reverse its text. */
export function forTerminal(api: Api): Api {
  return {
    ...api,
    ask: async <Data>(document: string, variables?: Variables, signal?: AbortSignal) =>
      inLines(await api.ask<Data>(document, variables, signal)),
    follow: <Data>(subscription: Subscription<Data>, signal: AbortSignal) =>
      api.follow<Data>({ ...subscription, next: (data) => subscription.next(inLines(data)) }, signal),
  }
}

function inLines<T>(value: T): T
function inLines(value: unknown): unknown {
  if (typeof value === 'string') return escapeLine(value)
  if (Array.isArray(value)) return value.map(inLines)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([name, part]) => [name, inLines(part)]))
}
