/** Subscribers that come, receive the present, and leave: each in one of the ways in which clients leave. */
import { connect } from 'node:net'
import { openWebSocket, type RawSocket } from './clients/websocket.ts'
import { deploymentName } from './fleet.ts'

export const farewells = ['complete', 'end', 'reset', 'event stream', 'silence'] as const
export type Farewell = (typeof farewells)[number]

/** Milliseconds that a server may take for the first update. */
const patience = 60_000

/** Documents of several kinds, no two of which are equal. */
export function visitorDocument(number: number): string {
  const id = deploymentName(number % 1_000)
  const kinds = [
    `deployment(deploymentId: "${id}") { cursor deployment { state${number}: state components { name state } } changes { kind } }`,
    `rollout(key: { name: "${id}" }) { cursor rollout { name${number}: name deploymentCounts { total installed } } }`,
    `deploymentCounts { cursor counts { total${number}: total failed installed } }`,
    `deployments(first: 20) { cursor removed rows { position deployment { id${number}: id state } } }`,
  ]
  return `subscription { ${kinds[number % kinds.length]} }`
}

/** Resolves after the first update. */
export async function openSubscription(port: number, query: string, hear: () => void = () => {}): Promise<RawSocket> {
  const { promise: heard, resolve, reject } = Promise.withResolvers<void>()
  // It may be rejected before the socket is open.
  heard.catch(() => undefined)
  const timer = setTimeout(() => reject(new Error('no update came')), patience)
  try {
    const socket = await openWebSocket(port, '/graphql', 'graphql-transport-ws', (message) => {
      if (message.includes('"type":"ping"')) socket.send('{"type":"pong"}')
      else if (message.includes('connection_ack'))
        socket.send(JSON.stringify({ id: '1', type: 'subscribe', payload: { query } }))
      else if (message.includes('"errors"') || message.includes('"type":"error"')) reject(new Error(message.toString()))
      else if (message.includes('"type":"next"')) {
        resolve()
        hear()
      }
    })
    void socket.closed.then(() => reject(new Error('the server closed a socket')))
    socket.send('{"type":"connection_init"}')
    await heard
    return socket
  } finally {
    clearTimeout(timer)
  }
}

/** Resolves when the visitor has left. The socket of one that falls silent stays open: it does not notice its end. */
export async function visit(port: number, number: number, farewell: Farewell): Promise<RawSocket | null> {
  const query = visitorDocument(number)
  if (farewell === 'event stream') {
    await visitEventStream(port, query)
    return null
  }
  const socket = await openSubscription(port, query)
  if (farewell === 'silence') {
    socket.stall()
    return socket
  }
  if (farewell === 'complete') socket.send('{"id":"1","type":"complete"}')
  if (farewell === 'reset') socket.reset()
  else socket.close()
  return null
}

function visitEventStream(port: number, query: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket = connect({ port, host: '127.0.0.1' })
    const timer = setTimeout(() => socket.destroy(new Error('no event came')), patience)
    let text = ''
    const path = `/graphql?query=${encodeURIComponent(query)}`
    socket.write(`GET ${path} HTTP/1.1\r\nHost: bench\r\nAccept: text/event-stream\r\n\r\n`)
    socket.on('data', (chunk: Buffer) => {
      text += chunk
      if (text.includes('event: next')) socket.destroy()
    })
    socket.on('error', reject)
    socket.on('close', () => {
      clearTimeout(timer)
      if (text.includes('event: next') && !text.includes('"errors"')) resolve()
      else reject(new Error(`an event stream ended: ${text.slice(-300)}`))
    })
  })
}
