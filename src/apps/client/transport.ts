/** What carries subscriptions: server-sent events, or a WebSocket. */
import type { GraphqlError } from './errors.ts'

export interface Operation {
  readonly query: string
  /** With the latest cursor. A transport sends them as they are when it connects. */
  readonly variables: Record<string, unknown>
}

export interface Result {
  readonly data?: Readonly<Record<string, unknown>> | null
  readonly errors?: readonly GraphqlError[]
}

export interface Endpoint {
  readonly url: string
  /** With the present credential. Throws an ApiError. */
  readonly headers: () => Promise<Record<string, string>>
  readonly fetch: typeof fetch
}

/** One subscription on one connection. It ends if the server ends it or the signal is aborted, and throws an ApiError if the connection is lost. */
export type Open = (operation: Operation, signal: AbortSignal) => AsyncIterable<Result>

export type Transport = (endpoint: Endpoint) => Open
