/** What a caller may hold open, as much as each limit of docs/graphql.md allows: connections, streams and unfinished bodies. */
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import type { WebSocket } from 'ws'
import { openSocket } from '../transports.ts'

interface HeldLimit {
  readonly limit: string
  /** Call the result to let go. */
  hold(url: string): Promise<() => void>
}

const caller = { 'x-forwarded-for': '192.0.2.7' }
const mib = 1 << 20

async function sockets(url: string, count: number): Promise<WebSocket[]> {
  const opened: WebSocket[] = []
  while (opened.length < count)
    opened.push(...(await Promise.all(Array.from({ length: 50 }, () => openSocket(url, caller)))))
  return opened
}

function subscribeTo(socket: WebSocket, count: number, query: string): void {
  for (let id = 0; id < count; id += 1)
    socket.send(JSON.stringify({ type: 'subscribe', id: String(id), payload: { query } }))
}

/** Resolves when so many results have arrived. */
export function results(all: readonly WebSocket[], count: number): Promise<void> {
  return new Promise((resolve) => {
    let told = 0
    for (const socket of all)
      socket.on('message', (text) => {
        if (String(text).includes('"next"')) told += 1
        if (told === count) resolve()
      })
  })
}

const ending = (all: readonly WebSocket[]) => (): void => {
  for (const socket of all) socket.terminate()
}

/** Sends the beginning of a request, and no more. */
async function begun(url: string, count: number, text: string): Promise<() => void> {
  const { hostname, port } = new URL(url)
  const all: Socket[] = []
  for (let index = 0; index < count; index += 1) {
    const socket = connect(Number(port), hostname).on('error', () => undefined)
    await once(socket, 'connect')
    if (!socket.write(text)) await once(socket, 'drain')
    all.push(socket)
  }
  return () => {
    for (const socket of all) socket.destroy()
  }
}

const post = (length: number, name = 'x'): string =>
  `POST /graphql HTTP/1.1\r\nHost: ${name}\r\nX-Forwarded-For: 192.0.2.7\r\nContent-Type: application/json\r\nContent-Length: ${length}\r\n\r\n`

/** So many sockets of one caller, with a subscription each that has had its first event. */
export async function holdStreams(url: string, count: number): Promise<readonly WebSocket[]> {
  const all = await sockets(url, count)
  const told = results(all, count)
  for (const socket of all) subscribeTo(socket, 1, 'subscription { deploymentCounts { cursor counts { total } } }')
  await told
  return all
}

export const heldLimits: readonly HeldLimit[] = [
  {
    limit: 'operationsPerSocket: 1,000 subscriptions',
    async hold(url) {
      const all = await sockets(url, 50)
      const [socket] = all
      const told = results(all, 1_000)
      if (socket) subscribeTo(socket, 1_000, 'subscription { deploymentCounts { cursor counts { total } } }')
      await told
      return ending(all)
    },
  },
  {
    limit: 'unread: answers of 32 MiB',
    async hold(url) {
      const [socket, ...others] = await sockets(url, 50)
      if (!socket) return () => undefined
      socket.pause()
      subscribeTo(socket, 4, '{ deployments(first: 20) { nodes { components { name error { message } } } } }')
      return ending([socket, ...others])
    },
  },
  {
    limit: 'streams: 1,000 sockets with a subscription each',
    hold: async (url) => ending(await holdStreams(url, 1_000)),
  },
  {
    limit: 'requestsPerAddress: 1,000 requests',
    async hold(url) {
      for (let sent = 0; sent < 1_000; sent += 50)
        await Promise.all(
          Array.from({ length: 50 }, () =>
            fetch(`${url}/graphql?query={deploymentCounts{total}}`, { headers: caller }).then((one) => one.text()),
          ),
        )
      return () => undefined
    },
  },
  {
    limit: 'slowRequest: 1,000 requests without the end of their headers',
    hold: (url) => begun(url, 1_000, 'POST /graphql HTTP/1.1\r\nHost: x\r\nX-Slow: '),
  },
  {
    limit: 'bufferedBytes: 63 bodies without their last byte',
    hold: (url) => begun(url, 63, post(mib + 1) + ' '.repeat(mib)),
  },
]
