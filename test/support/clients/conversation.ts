/** Connections of a client to a server, over HTTP, server-sent events and WebSockets. */
import { connect } from 'node:net'
import { createClient } from 'graphql-ws'
import { WebSocket } from 'ws'
import type { RunningApp } from '../servers/app.ts'

/** A WebSocket that does not answer, so that a closing server waits for it. */
export async function connectDeaf({ url }: RunningApp): Promise<WebSocket> {
  const socket = new WebSocket(`${url.replace('http', 'ws')}/graphql`, 'graphql-transport-ws')
  await new Promise((resolve) => socket.once('open', resolve))
  socket.pause()
  return socket
}

export function requestOf(method: string, address: string, content = '', more: readonly string[] = []): string {
  const headers = [...more, 'Host: rollcall', 'Content-Type: application/json', `Content-Length: ${content.length}`]
  return [`${method} ${address} HTTP/1.1`, ...headers, '', content].join('\r\n')
}

/** One connection, on which several requests may be under way. */
export async function converse({ port }: RunningApp): Promise<{ write(text: string): void; ended: Promise<string> }> {
  const socket = connect(port, '127.0.0.1').setEncoding('utf8')
  let text = ''
  socket.on('data', (chunk: string) => {
    text += chunk
  })
  await new Promise<void>((resolve) => socket.once('connect', resolve))
  const ended = new Promise<string>((resolve) => socket.once('close', () => resolve(text)))
  return { write: (request) => void socket.write(request), ended }
}

export const subscription = 'subscription { changes { cursor } }'

export async function subscribe({ url }: RunningApp) {
  let ready = (): void => {}
  const acknowledged = new Promise<void>((resolve) => {
    ready = resolve
  })
  let over = (_: unknown): void => {}
  const closed = new Promise<unknown>((resolve) => {
    over = resolve
  })
  const client = createClient({
    url: `${url.replace('http', 'ws')}/graphql`,
    webSocketImpl: WebSocket,
    retryAttempts: 0,
    lazy: false,
    onNonLazyError: () => {},
    on: { connected: () => ready(), closed: (event) => over(event) },
  })
  await acknowledged
  const events = client.iterate({ query: subscription })
  const first = events.next()
  first.catch(() => {})
  // What it subscribed to comes before what it asks afterwards.
  await client.iterate({ query: '{ revision }' }).next()
  return { closed, next: async () => (await first).value }
}

interface ServerSent {
  readonly id: string | undefined
  readonly event: string | undefined
  readonly data: unknown
}

/** Null: the stream is over. */
export async function listen({ url }: RunningApp): Promise<{ next(): Promise<ServerSent | null> }> {
  const response = await fetch(`${url}/graphql?query=${encodeURIComponent(subscription)}`, {
    headers: { accept: 'text/event-stream' },
  })
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader()
  let text = ''
  const block = async (): Promise<string | null> => {
    while (!text.includes('\n\n')) {
      const part = await reader?.read()
      if (!part || part.done) return null
      text += part.value
    }
    const end = text.indexOf('\n\n')
    const found = text.slice(0, end)
    text = text.slice(end + 2)
    return found
  }
  const field = (from: string, name: string): string | undefined =>
    from
      .split('\n')
      .find((line) => line.startsWith(`${name}: `))
      ?.slice(name.length + 2)
  await block()
  return {
    async next() {
      for (;;) {
        const found = await block()
        if (found === null) return null
        const data = field(found, 'data')
        if (data !== undefined) return { id: field(found, 'id'), event: field(found, 'event'), data: JSON.parse(data) }
      }
    },
  }
}
