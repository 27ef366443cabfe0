/** The client of the API as terminals need it: with errors that say what to do, and subscriptions that end by a signal. */

import { WebSocket } from 'ws'
import { escapeLine } from '../../domain/look-alike.ts'
import {
  ApiError,
  createSocket,
  isCloseEvent,
  largestAnswer,
  reasonOf,
  request,
  type Variables,
} from '../client/client.ts'

export interface Api {
  /** The server's address, without a trailing slash. */
  readonly url: string
  /** The answer's data. Throws an ApiError, or the reason of the aborted signal. */
  ask<Data>(document: string, variables?: Variables, signal?: AbortSignal): Promise<Data>
  /**
   * Calls `next` with each result until the signal is aborted, and reconnects when the connection is lost. `resume` derives the
   * variables to resume with from the latest result; without it the subscription starts over, as state subscriptions do.
   * Rejects with an ApiError only when a retry cannot succeed.
   */
  follow<Data>(subscription: Subscription<Data>, signal: AbortSignal): Promise<void>
}

export interface Subscription<Data> {
  readonly query: string
  readonly variables?: Variables
  readonly resume?: (latest: Data) => Variables
  readonly next: (data: Data) => void
  /** The connection is lost (with the reason) or restored (null). */
  readonly interrupted?: (reason: string | null) => void
}

type ApiProblem = 'unreachable' | 'busy' | 'refused' | 'invalid'

export function problemOf({ code, status }: ApiError): ApiProblem {
  if (code === 'UNREACHABLE') return 'unreachable'
  if (status === 429 || status >= 500 || code === 'UNAVAILABLE' || code === 'TOO_MANY') return 'busy'
  return status === 401 || status === 403 || code === 'FORBIDDEN' ? 'refused' : 'invalid'
}

/** Whether a retry can succeed. */
export const isPassing = (error: ApiError): boolean => ['unreachable', 'busy'].includes(problemOf(error))

const requestTimeout = 30_000
/** The close codes of graphql-transport-ws after which the same client must not reconnect. */
const refusals: readonly number[] = [4400, 4401, 4403, 4406, 4409]

/** That of Node has no limit. */
class BoundedSocket extends WebSocket {
  constructor(address: string, protocols: string) {
    super(address, protocols, { maxPayload: largestAnswer, perMessageDeflate: false, followRedirects: false })
    // It would wait for the other side to close it.
    this.on('error', () => this.terminate())
  }
}
const isTooLarge = (event: unknown): boolean =>
  (event as { error?: { code?: unknown } } | null)?.error?.code === 'WS_ERR_UNSUPPORTED_MESSAGE_LENGTH'

/** `token`: an API key or a JWT, sent as a bearer token. */
export function createApi(address: string, token?: string): Api {
  const url = address.replace(/\/+$/, '')
  const endpoint = `${url}/graphql`
  const headers: Record<string, string> = token === undefined ? {} : { authorization: `Bearer ${token}` }

  function explain({ code, status, message }: ApiError): string {
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

  return {
    url,
    async ask<Data>(query: string, variables: Variables = {}, signal?: AbortSignal) {
      const late = AbortSignal.timeout(requestTimeout)
      try {
        return await request<Data>(
          endpoint,
          { query, variables },
          headers,
          signal ? AbortSignal.any([signal, late]) : late,
        )
      } catch (error) {
        signal?.throwIfAborted()
        throw error instanceof ApiError ? new ApiError(error.code, explain(error), error) : error
      }
    },
    follow<Data>({ query, variables = {}, interrupted, next, resume }: Subscription<Data>, signal: AbortSignal) {
      const { promise, resolve, reject } = Promise.withResolvers<void>()
      let isInterrupted = false
      const interrupt = (reason: string | null): void => {
        if (signal.aborted) return
        isInterrupted = reason !== null
        // The server may have chosen it, and it is shown in JSON mode too.
        interrupted?.(reason && escapeLine(reason))
      }
      const socket = createSocket({ url: endpoint, connectionParams: headers, webSocketImpl: BoundedSocket })
      socket.on('error', (event) => {
        if (!isTooLarge(event)) return
        reject(new ApiError('TOO_LARGE', `the server sends a message of more than ${largestAnswer >> 20} MiB`))
      })
      let isAccepted = false
      socket.on('connected', () => {
        isAccepted = true
      })
      socket.on('closed', (event) => {
        const reason = reasonOf(event)
        // The server ends a connection whose rights have changed. It refuses the next one if the token is not valid any more.
        const isRefused = isCloseEvent(event) && refusals.includes(event.code) && !(isAccepted && event.code === 4403)
        isAccepted = false
        if (!isRefused) return interrupt(reason)
        reject(new ApiError('FORBIDDEN', `the server at ${url} rejects the token, or requires one: ${reason}`))
      })
      const leave = socket.follow<Data>(query, variables, {
        next(data) {
          if (isInterrupted) interrupt(null)
          next(data)
        },
        resume,
        failed(error) {
          if (isPassing(error)) interrupt(error.message)
          else reject(error)
        },
        ended: () => interrupt('the server ended the stream'),
      })
      const stop = (): void => resolve()
      signal.addEventListener('abort', stop, { once: true })
      if (signal.aborted) stop()
      return promise.finally(() => {
        signal.removeEventListener('abort', stop)
        leave()
        socket.close()
      })
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
