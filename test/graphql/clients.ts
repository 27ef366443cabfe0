/** Subscribers: the usual client libraries, one per transport. */
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

const fetchDescribed: typeof fetch = async (...given) => {
  const response = await fetch(...given)
  if (!response.headers.get('content-type')?.startsWith('text/event-stream')) return response
  let text = ''
  const check = new TransformStream<Uint8Array, Uint8Array>({
    transform(chunk, controller) {
      text += Buffer.from(chunk).toString('latin1')
      const blocks = text.split('\n\n')
      text = blocks.pop() ?? ''
      for (const block of blocks) {
        const { data, ...headers } = Object.fromEntries(block.split('\n').map((line) => line.split(/: ?(.*)/s)))
        if (headers.event)
          expectDescribed('graphqlEvents', headers.event, { headers, ...(data && { payload: JSON.parse(data) }) })
      }
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

export const transports: readonly Transport[] = [webSocket, serverSentEvents]

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
