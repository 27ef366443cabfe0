/** Both transports, and a network between a client and a server that a test can cut. */
import { connect as connectTo, createServer, type Socket } from 'node:net'
import { onTestFinished } from 'vitest'
import { type Client, type ClientOptions, connect, type Transport, type Update } from '../../src/apps/client/client.ts'
import { serverSentEvents } from '../../src/apps/client/events.ts'
import { webSocket } from '../../src/apps/client/websocket.ts'

export const transports: readonly { readonly name: string; readonly transport: () => Transport }[] = [
  { name: 'WebSocket', transport: () => webSocket() },
  { name: 'server-sent events', transport: () => serverSentEvents },
]

export interface Changes {
  readonly changes: {
    readonly cursor: string
    readonly reset: { readonly reason: string } | null
    readonly change: { readonly revision: string } | null
  }
}

export const changes = `subscription ($after: Revision) {
  changes(after: $after) { cursor reset { reason } change { revision } }
}`

/** Follows the changes; what arrived: revisions, resets, and interruptions (`lost`, `back`). */
export function follow(options: ClientOptions, after: string, document = changes) {
  const told: string[] = []
  const stop = new AbortController()
  onTestFinished(() => stop.abort())
  const client: Client = connect(options)
  const interrupted = (reason: string | null): void => void told.push(reason === null ? 'back' : 'lost')
  const read = async (): Promise<void> => {
    for await (const update of client.watch<Changes>(document, { after }, { signal: stop.signal, interrupted }))
      told.push(describe(update))
  }
  const ended = read()
  ended.catch(() => undefined)
  return { told, stop, ended, revisions: () => told.filter((one) => /^\d+$/.test(one)) }
}

const describe = ({ data, reset }: Update<Changes>): string => reset ?? data.changes.change?.revision ?? 'nothing'

/** The revisions from one to another. */
export const revisionsTo = (last: string | number, first: string | number): string[] =>
  Array.from({ length: Number(last) - Number(first) + 1 }, (_, index) => String(Number(first) + index))

/** A network that passes bytes on to the server until it is cut. */
export async function startNetwork(url: string) {
  const { port, hostname } = new URL(url)
  const sockets = new Set<Socket>()
  let isCut = false
  let refused = 0
  const server = createServer((socket) => {
    if (isCut) {
      refused += 1
      return void socket.destroy()
    }
    const onward = connectTo(Number(port), hostname)
    for (const [one, other] of [
      [socket, onward],
      [onward, socket],
    ] as const) {
      sockets.add(one)
      one.on('error', () => undefined).on('close', () => other.destroy())
      one.pipe(other)
    }
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const cut = (): void => {
    isCut = true
    for (const socket of sockets) socket.destroy()
    sockets.clear()
  }
  onTestFinished(() => {
    cut()
    server.close()
  })
  const address = server.address()
  return {
    url: `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}`,
    cut,
    mend() {
      isCut = false
    },
    refused: () => refused,
  }
}
