/** Subscribers: the usual client libraries, one per transport. */
import { ApolloClient, ApolloLink, HttpLink, InMemoryCache } from '@apollo/client'
import { CombinedProtocolErrors, PROTOCOL_ERRORS_SYMBOL } from '@apollo/client/errors'
import { parse } from 'graphql'
import { createClient as createSseClient } from 'graphql-sse'
import { createClient as createWsClient } from 'graphql-ws'
import { WebSocket } from 'ws'
import { expectDescribed } from '../support/asyncapi.ts'
import type { Answer } from './harness.ts'

export interface Stream {
  /** The next result; null if the server completed the stream. Rejects if the connection was lost. */
  next(): Promise<Answer | null>
  /** The next result's data; fails on errors. */
  // biome-ignore lint/suspicious/noExplicitAny: a test knows the shape that it selected.
  data(): Promise<any>
  close(): Promise<void>
}

export interface Transport {
  readonly name: string
  /** `as`: the credential. */
  watch(url: string, query: string, variables?: Record<string, unknown>, as?: string): Stream
}

/** What the server sends is as the AsyncAPI document says. */
class DescribedSocket extends WebSocket {
  constructor(...given: ConstructorParameters<typeof WebSocket>) {
    super(...given)
    this.on('message', (data) => {
      const payload = JSON.parse(String(data))
      expectDescribed('graphqlSocket', payload.type, { payload })
    })
  }
}

/** Of one format: what stands between its events, and what a text of one is. */
const formats = {
  'text/event-stream': {
    between: '\n\n',
    expectDescribed(text: string) {
      const { data, ...headers } = Object.fromEntries(text.split('\n').map((line) => line.split(/: ?(.*)/s)))
      if (!headers.event) return
      expectDescribed('graphqlEvents', headers.event, { headers, ...(data && { payload: JSON.parse(data) }) })
    },
  },
  'multipart/mixed': {
    between: '\r\n--graphql',
    expectDescribed(text: string) {
      const [head = '', body] = text.split('\r\n\r\n')
      if (body === undefined) return
      const [, id] = /^Last-Event-ID: (.+)$/m.exec(head) ?? []
      const payload = JSON.parse(body)
      const kind = payload.payload === null ? 'failure' : payload.payload ? 'next' : 'heartbeat'
      expectDescribed('graphqlParts', kind, { payload, headers: id === undefined ? {} : { 'last-event-id': id } })
    },
  },
}

const fetchDescribed: typeof fetch = async (...given) => {
  const response = await fetch(...given)
  const type = response.headers.get('content-type')?.split(';')[0] ?? ''
  if (!(type in formats)) return response
  const format = formats[type as keyof typeof formats]
  let text = ''
  const check = new TransformStream<Uint8Array, Uint8Array>({
    transform(chunk, controller) {
      text += Buffer.from(chunk).toString('latin1')
      const events = text.split(format.between)
      text = events.pop() ?? ''
      for (const event of events) format.expectDescribed(event)
      controller.enqueue(chunk)
    },
  })
  return new Response(response.body?.pipeThrough(check) ?? null, response)
}

const webSocket: Transport = {
  name: 'WebSocket',
  watch(url, query, variables = {}, as) {
    const client = createWsClient({
      url: url.replace('http', 'ws'),
      webSocketImpl: DescribedSocket,
      retryAttempts: 0,
      ...(as === undefined ? {} : { connectionParams: { authorization: `Bearer ${as}` } }),
    })
    return toStream(client.iterate({ query, variables }), () => client.dispose())
  },
}

const serverSentEvents: Transport = {
  name: 'server-sent events',
  watch(url, query, variables = {}, as) {
    const headers = as === undefined ? {} : { authorization: `Bearer ${as}` }
    const client = createSseClient({ url, retryAttempts: 0, headers, fetchFn: fetchDescribed })
    return toStream(client.iterate({ query, variables }), () => client.dispose())
  },
}

/** Apollo's subscriptions over multipart HTTP, by Apollo's client. */
const multipart: Transport = {
  name: 'multipart',
  watch(url, query, variables = {}, as) {
    const headers = as === undefined ? {} : { authorization: `Bearer ${as}` }
    const link = new HttpLink({ uri: url, headers, fetch: fetchDescribed, includeUnusedVariables: true })
    const client = new ApolloClient({ link, cache: new InMemoryCache() })
    const results = iterate(ApolloLink.execute(link, { query: parse(query), variables }, { client }))
    return toStream(results, () => client.stop())
  },
}

function iterate(results: ReturnType<typeof ApolloLink.execute>): AsyncIterableIterator<unknown> {
  const over = { done: true, value: undefined } as const
  const arrived: (() => IteratorResult<unknown>)[] = []
  let wake = (): void => undefined
  const arrive = (one: () => IteratorResult<unknown>): void => {
    arrived.push(one)
    wake()
  }
  const subscription = results.subscribe({
    next(result) {
      const failure: unknown = Reflect.get(result.extensions ?? {}, PROTOCOL_ERRORS_SYMBOL)
      const value = failure instanceof CombinedProtocolErrors ? { errors: failure.errors } : result
      arrive(() => ({ done: false, value }))
    },
    error: (error) =>
      arrive(() => {
        throw error
      }),
    complete: () => arrive(() => over),
  })
  return {
    [Symbol.asyncIterator]() {
      return this
    },
    async next() {
      for (;;) {
        const next = arrived.shift()
        if (next) return next()
        await new Promise<void>((resolve) => (wake = resolve))
      }
    },
    async return() {
      subscription.unsubscribe()
      arrive(() => over)
      return over
    },
  }
}

export const transports: readonly Transport[] = [webSocket, serverSentEvents, multipart]

function toStream(results: AsyncIterableIterator<unknown>, dispose: () => void | Promise<void>): Stream {
  const next = async (): Promise<Answer | null> => {
    const { done, value } = await results.next()
    return done ? null : (value as Answer)
  }
  return {
    next,
    async data() {
      const result = await next()
      if (!result) throw new Error('the stream is complete')
      if (result.errors) throw new Error(result.errors.map(({ message }) => message).join('\n'))
      return result.data
    },
    async close() {
      await results.return?.()
      await dispose()
    },
  }
}
