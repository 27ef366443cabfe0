/** One operation on each transport, by hand: client libraries would repair what an attacker does not. */
import { once } from 'node:events'
import { WebSocket } from 'ws'

export interface Answer {
  // biome-ignore lint/suspicious/noExplicitAny: what a test asked for, it knows.
  readonly data?: any
  readonly errors?: readonly { readonly message: string; readonly extensions?: Record<string, unknown> }[]
}

/** As GraphQL's transports name them. */
export interface Request {
  readonly query?: unknown
  readonly variables?: unknown
  readonly operationName?: unknown
  readonly extensions?: unknown
  readonly documentId?: unknown
}

export interface Transport {
  readonly name: string
  /** The first answer to it. `headers`: of the request, or of the upgrade. */
  ask(url: string, request: Request, headers?: Record<string, string>): Promise<Answer>
}

const http: Transport = {
  name: 'HTTP',
  async ask(url, request, headers = {}) {
    const response = await post(url, request, { accept: 'application/json', ...headers })
    return (await response.json()) as Answer
  },
}

const serverSentEvents: Transport = {
  name: 'server-sent events',
  async ask(url, request, headers = {}) {
    const response = await post(url, request, { accept: 'text/event-stream', ...headers })
    let text = ''
    for await (const chunk of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
      text += chunk
      const [, data] = chunk.includes('\n') ? (/^data: (.+)\n/m.exec(text) ?? []) : []
      if (data !== undefined) return JSON.parse(data) as Answer
    }
    // A refusal that came before the stream.
    return JSON.parse(text) as Answer
  },
}

const webSocket: Transport = {
  name: 'WebSocket',
  async ask(url, request, headers = {}) {
    const socket = await openSocket(url, headers)
    try {
      return await subscribe(socket, '1', request)
    } finally {
      socket.terminate()
    }
  },
}

const multipart: Transport = {
  name: 'multipart',
  async ask(url, request, headers = {}) {
    const response = await post(url, request, { accept: 'multipart/mixed;subscriptionSpec=1.0', ...headers })
    let text = ''
    for await (const chunk of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
      text += chunk
      const [, told] = /\r\n\r\n(\{"payload".+\})\r\n--graphql/.exec(text) ?? []
      if (told !== undefined) return JSON.parse(told).payload ?? { errors: JSON.parse(told).errors }
    }
    return JSON.parse(text) as Answer
  },
}

export const transports: readonly Transport[] = [http, serverSentEvents, webSocket, multipart]

function post(url: string, request: Request, headers: Record<string, string>): Promise<Response> {
  return fetch(`${url}/graphql`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(request),
  })
}

export interface Message {
  readonly type: string
  readonly id?: string
  // biome-ignore lint/suspicious/noExplicitAny: what a test asked for, it knows.
  readonly payload?: any
}

/** Rejects when the server does not want it. */
export async function openSocket(url: string, headers: Record<string, string> = {}): Promise<WebSocket> {
  const socket = await openSilentSocket(url, headers)
  socket.send('{"type":"connection_init"}')
  const { type } = await nextMessage(socket)
  if (type !== 'connection_ack') throw new Error(`the first message was ${type}`)
  return socket
}

/** It does not say who it is. */
export async function openSilentSocket(url: string, headers: Record<string, string> = {}): Promise<WebSocket> {
  const socket = new WebSocket(`${url.replace('http', 'ws')}/graphql`, 'graphql-transport-ws', { headers })
  await once(socket, 'open')
  socket.on('error', () => undefined)
  return socket
}

export function closed(socket: WebSocket): Promise<{ readonly code: number; readonly reason: string }> {
  return new Promise((resolve) => socket.once('close', (code, reason) => resolve({ code, reason: String(reason) })))
}

async function nextMessage(socket: WebSocket, isWanted: (message: Message) => boolean = () => true) {
  return new Promise<Message>((resolve, reject) => {
    const read = (text: unknown): void => {
      const message = JSON.parse(String(text)) as Message
      if (!isWanted(message)) return
      socket.off('message', read).off('close', gone)
      resolve(message)
    }
    const gone = (code: number): void => reject(new Error(`the socket was closed with ${code}`))
    socket.on('message', read).on('close', gone)
  })
}

export async function subscribe(socket: WebSocket, id: string, payload: Request): Promise<Answer> {
  const answer = nextMessage(socket, (message) => message.id === id)
  socket.send(JSON.stringify({ type: 'subscribe', id, payload }))
  const { type, payload: told } = await answer
  return type === 'error' ? { errors: told } : told
}
