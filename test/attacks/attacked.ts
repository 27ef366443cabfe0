/** A server under attack: connections to it are closed with it, and it must answer other callers meanwhile. */
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { expect } from 'vitest'
import type { WebSocket } from 'ws'
import type { Timeouts } from '../../src/api/rest/guard.ts'
import { pglite } from '../support/databases/stores.ts'
import { type RunningApp, startApp } from '../support/servers/app.ts'
import { openSocket, subscribe } from './transports.ts'

const report = { deploymentId: 'd-1', status: { state: 'installed' }, components: [] }
/** Milliseconds. Long enough for clients that are not slow on purpose, on a busy machine too. */
const shortTimeouts: Timeouts = { headers: 1_500, request: 3_000, reading: 500, init: 1_500 }

export interface Attacked {
  readonly server: RunningApp
  /** A connection whose bytes a test writes and reads. */
  open(): Promise<{ socket: Socket; ended: Promise<string> }>
  /** Terminates the socket after the test. */
  kept(socket: WebSocket): WebSocket
  answersOthers(): Promise<void>
  limited(limit: string): Promise<number>
  stop(): Promise<void>
}

export async function startAttacked(
  env: Record<string, string> = {},
  clock?: () => number,
  timeouts = shortTimeouts,
): Promise<Attacked> {
  const server = await startApp({
    // Tests count sockets, and its database has none.
    store: pglite,
    env: { TRUSTED_PROXIES: '127.0.0.1', ...env },
    timeouts,
    ...(clock ? { clock } : {}),
  })
  // It answers when GraphQL is loaded: until then, a stream of events would have no head.
  await fetch(`${server.url}/readyz`)
  const sockets: { destroy(): void }[] = []
  const kept = (socket: WebSocket): WebSocket => {
    sockets.push({ destroy: () => socket.terminate() })
    return socket
  }
  return {
    server,
    kept,
    async open() {
      const socket = connect(server.port, '127.0.0.1')
      sockets.push(socket)
      let text = ''
      socket.setEncoding('utf8').on('data', (chunk: string) => {
        text += chunk
      })
      socket.on('error', () => undefined)
      const ended = new Promise<string>((resolve) => socket.once('close', () => resolve(text)))
      await once(socket, 'connect')
      return { socket, ended }
    },
    async answersOthers() {
      const others = { 'x-forwarded-for': '198.51.100.77' }
      expect(
        (await server.post('/device/other/deployment/o-1/status', { ...report, deploymentId: 'o-1' }, others)).status,
      ).toBe(201)
      const asked = await server.post('/graphql', { query: '{ deploymentCounts { total } }' }, others)
      expect(await asked.json()).toEqual({ data: { deploymentCounts: { total: 1 } } })
      const socket = kept(await openSocket(server.url, others))
      expect(await subscribe(socket, '1', { query: 'subscription { deploymentCounts { counts { total } } }' })).toEqual(
        {
          data: { deploymentCounts: { counts: { total: 1 } } },
        },
      )
    },
    async limited(limit) {
      const text = await server.app.metrics.print()
      return Number(new RegExp(`rollcall_limited_total\\{limit="${limit}"\\} (\\d+)`).exec(text)?.[1] ?? 0)
    },
    async stop() {
      for (const socket of sockets) socket.destroy()
      expect(server.logged.filter(({ level }) => level === 'error')).toEqual([])
      await server.stop()
    },
  }
}
