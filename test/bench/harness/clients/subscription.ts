/** One subscription on a WebSocket of its own, by the graphql-transport-ws protocol. */
import { openWebSocket } from './websocket.ts'

export interface Subscription {
  close(): void
}

export interface Subscribed {
  readonly port: number
  readonly query: string
  readonly variables?: object
  /** Each `next` message, whole; the bytes are only good during the call. */
  hear(message: Buffer): void
  fail(problem: string): void
}

const next = Buffer.from('"type":"next"')

/** Resolves when the server has been sent the subscription. */
export function subscribe({ port, query, variables = {}, hear, fail }: Subscribed): Promise<Subscription> {
  return new Promise((resolve, reject) => {
    const opening = openWebSocket(port, '/graphql', 'graphql-transport-ws', (message) => {
      if (message.includes(next)) return hear(message)
      const text = message.toString()
      const { type } = JSON.parse(text) as { type: string }
      if (type === 'ping') return void opening.then((socket) => socket.send('{"type":"pong"}'))
      if (type !== 'connection_ack') return fail(text)
      void opening.then((socket) => {
        socket.send(JSON.stringify({ id: '1', type: 'subscribe', payload: { query, variables } }))
        resolve(socket)
      })
    })
    opening.then((socket) => socket.send('{"type":"connection_init"}'), reject)
  })
}
