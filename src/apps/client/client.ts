/** The client of Rollcall's GraphQL API, for browsers and Node.js: queries, and subscriptions that miss nothing. */
import { type Document, type Given, type Print, textOf } from './document.ts'
import { isRefused, toApiError, toUnreachable } from './errors.ts'
import { serverSentEvents } from './events.ts'
import { live, type RowOf } from './live.ts'
import { createPause } from './pause.ts'
import { readResult, send } from './request.ts'
import type { Result, Transport } from './transport.ts'
import { type Update, type WatchOptions, watch } from './watch.ts'

export type { Document } from './document.ts'
export { ApiError } from './errors.ts'
export { applyUpdate, type ListUpdate, type RowOf } from './live.ts'
export type { Result, Transport } from './transport.ts'
export type { Update, WatchOptions } from './watch.ts'

type Token = string | null | undefined

export interface ClientOptions {
  /** The address of the server. */
  readonly url: string | URL
  /** A key of the API or a JWT. A function is asked before each request and connection, so that it can renew one. Absent: a browser sends its cookie. */
  readonly token?: Token | (() => Token | Promise<Token>)
  /** Of subscriptions. Absent: server-sent events; `webSocket()` of rollcall/client/websocket has one connection for all. */
  readonly transport?: Transport
  /** Is called when a connection is lost, with the time of the next attempt. */
  readonly retryAt?: (time: number) => void
  /** `print` of the package graphql, for documents without a text. */
  readonly print?: Print
  readonly fetch?: typeof fetch
}

interface QueryOptions {
  readonly signal?: AbortSignal | undefined
}

export interface Client {
  /** The answer of a query or a mutation. Throws an ApiError, or the reason of the signal. */
  query<Data, Variables = object>(
    document: Document<Data, Variables>,
    ...given: Given<Variables, QueryOptions>
  ): Promise<Data>
  /** The same with GraphQL's errors beside the data, as libraries expect it. */
  execute(document: Document<unknown, never>, variables?: object, options?: QueryOptions): Promise<Result>
  /**
   * The events of a subscription, each once, across lost connections, until the signal is aborted. One that selects `cursor` and declares `$after`
   * goes on there. Any other begins anew, with the present state. Throws an ApiError if no retry can succeed.
   */
  watch<Data, Variables = object>(
    document: Document<Data, Variables>,
    ...given: Given<Variables, WatchOptions>
  ): AsyncGenerator<Update<Data>, void, undefined>
  /** The rows of a live list, after each of its updates. */
  live<Data, Variables = object>(
    document: Document<Data, Variables>,
    ...given: Given<Variables, WatchOptions>
  ): AsyncGenerator<readonly RowOf<Data>[], void, undefined>
  /** Ends the pause before the next attempt. */
  reconnect(): void
}

export function connect({ url, token, transport = serverSentEvents, retryAt, print, ...own }: ClientOptions): Client {
  const present = async (): Promise<string | null> => {
    try {
      return (typeof token === 'function' ? await token() : token) ?? null
    } catch (error) {
      throw toUnreachable(error)
    }
  }
  const endpoint = {
    url: `${String(url).replace(/\/+(graphql)?\/*$/, '')}/graphql`,
    async headers(): Promise<Record<string, string>> {
      const credential = await present()
      return credential === null ? {} : { authorization: `Bearer ${credential}` }
    },
    fetch: own.fetch ?? ((...question: Parameters<typeof fetch>) => fetch(...question)),
  }
  const pause = createPause(retryAt)
  const connection = { open: transport(endpoint), token: present, pause }
  const operationOf = (document: Document<unknown, never>, variables: unknown) => ({
    query: textOf(document, print),
    variables: { ...(variables as object) },
  })

  const client: Client = {
    async execute(document, variables, { signal } = {}) {
      const ask = async () =>
        readResult(await send(endpoint, operationOf(document, variables), 'application/json', signal))
      const used = await present()
      try {
        return await ask()
      } catch (error) {
        signal?.throwIfAborted()
        if (!isRefused(toUnreachable(error)) || (await present()) === used) throw error
        return ask()
      }
    },
    async query(document, ...[variables, options]) {
      const { data, errors } = await client.execute(document, variables as object, options)
      if (errors?.[0]) throw toApiError(errors)
      return data as never
    },
    watch: (document, ...[variables, options]) => watch(connection, operationOf(document, variables), options),
    live: (document, ...given) => live(client.watch(document, ...given)),
    reconnect: pause.end,
  }
  return client
}
