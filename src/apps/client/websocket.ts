/** One WebSocket for all subscriptions of a client, by graphql-ws. It is open while there are any. */
import { type ClientOptions, createClient } from 'graphql-ws'
import { ApiError, type GraphqlError, isCloseEvent, reasonOf, toApiError, toUnreachable } from './errors.ts'
import { tooLarge } from './request.ts'
import type { Result, Transport } from './transport.ts'

/** Milliseconds between pings. */
const keepAlive = 10_000
/** Events that wait for the caller. Then the subscription is left, and goes on after the last of them. */
const mostWaiting = 1_000
/** The close codes of graphql-transport-ws after which the same client must not reconnect. */
const refusals: readonly number[] = [4400, 4401, 4403, 4406, 4409]

export function webSocket(options: Pick<ClientOptions, 'webSocketImpl' | 'on'> = {}): Transport {
  return ({ url, headers }) => {
    const client = createClient({
      ...{ url: url.replace(/^http/, 'ws'), connectionParams: headers, retryAttempts: 0, keepAlive },
      ...options,
    })
    const active = new Set<(error: unknown) => void>()
    let overdue: ReturnType<typeof setTimeout> | undefined
    let isAccepted = false
    let wasAccepted = false
    /** The last subscription has left this connection, so the client closes it. */
    let isLeft = false
    client.on('connecting', () => {
      isLeft = false
    })
    client.on('connected', () => {
      isAccepted = true
    })
    // A peer that vanishes without closing is found by its missing pong.
    client.on('ping', (isReceived) => {
      if (!isReceived) overdue = setTimeout(() => client.terminate(), keepAlive / 2)
    })
    client.on('message', () => clearTimeout(overdue))
    client.on('closed', (event) => {
      clearTimeout(overdue)
      wasAccepted = isAccepted
      isAccepted = false
      // After this code graphql-ws would subscribe again at once, after a cursor that the events that wait have passed.
      if (isCloseEvent(event) && event.code === 1000 && !isLeft) for (const fail of active) fail(event)
    })

    function problemOf(error: unknown): ApiError {
      if (Array.isArray(error)) return toApiError(error as readonly GraphqlError[])
      // The server ends a connection whose rights have changed. It refuses the next one if the token is not valid any more.
      if (isCloseEvent(error) && refusals.includes(error.code) && !(error.code === 4403 && wasAccepted))
        return new ApiError('REFUSED', reasonOf(error))
      const { code } = (error as { error?: { code?: unknown } }).error ?? {}
      return code === 'WS_ERR_UNSUPPORTED_MESSAGE_LENGTH' ? tooLarge() : toUnreachable(error)
    }

    return async function* open(operation, signal) {
      const waiting: Result[] = []
      let problem: ApiError | null = null
      let isOver = false
      let wake = (): void => undefined
      const end = (): void => {
        isOver = true
        wake()
      }
      const fail = (error: unknown): void => {
        problem ??= problemOf(error)
        end()
      }
      active.add(fail)
      signal.addEventListener('abort', end)
      const leave = client.subscribe(operation as { query: string }, {
        next(result) {
          if (!isOver) waiting.push(result as Result)
          if (waiting.length < mostWaiting) return wake()
          end()
          leave()
        },
        error: fail,
        complete: end,
      })
      try {
        while (!signal.aborted) {
          const result = waiting.shift()
          if (result) yield result
          else if (problem) throw problem
          else if (isOver) return
          else await new Promise<void>((resolve) => (wake = resolve))
        }
      } finally {
        signal.removeEventListener('abort', end)
        active.delete(fail)
        isLeft ||= active.size === 0
        isOver = true
        leave()
      }
    }
  }
}
