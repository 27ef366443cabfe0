import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { describe, expect, it, onTestFinished } from 'vitest'
import { type WebSocket, WebSocketServer } from 'ws'
import { createSocket } from '../../src/apps/client/client.ts'
import { expectNoUnhandledRejections } from '../support/rejections.ts'

const rejections = expectNoUnhandledRejections()

describe('a socket', () => {
  it.each(['leaves its last subscription', 'still has a subscription'])(
    'that waits to connect again and %s is closed without an unhandled rejection',
    async (how) => {
      const lost = Promise.withResolvers<void>()
      const closed = Promise.withResolvers<void>()
      // No server listens on the port of this address.
      const socket = createSocket({ url: 'http://127.0.0.1:1/graphql', retryAt: () => lost.resolve() })
      const leave = socket.follow('subscription { revision }', {}, { next: () => undefined })
      socket.on('error', () => closed.resolve())
      await lost.promise
      if (how === 'leaves its last subscription') leave()
      else await closed.promise
      socket.close()
      // The wait ends at once.
      for (let turn = 0; turn < 20; turn += 1) await new Promise<void>((resolve) => setImmediate(resolve))
      leave()
      expect(await rejections()).toEqual([])
    },
  )
})

it('an event with an error ends its subscription before the next one begins', async () => {
  const sockets = new WebSocketServer({ port: 0, host: '127.0.0.1' })
  await once(sockets, 'listening')
  onTestFinished(() => sockets.close())
  const url = `http://127.0.0.1:${(sockets.address() as AddressInfo).port}/graphql`
  const open = new Set<string>()
  const counts: number[] = []
  const again = Promise.withResolvers<void>()
  const event = (id: string) => JSON.stringify({ id, type: 'next', payload: { errors: [{ message: 'failed' }] } })
  const handle = (socket: WebSocket, { type, id }: { type: string; id: string }): void => {
    if (type === 'connection_init') socket.send(JSON.stringify({ type: 'connection_ack' }))
    if (type === 'complete') open.delete(id)
    if (type !== 'subscribe') return
    open.add(id)
    counts.push(open.size)
    if (counts.length === 3) again.resolve()
    else socket.send(event(id))
  }
  sockets.on('connection', (socket) => socket.on('message', (text) => handle(socket, JSON.parse(String(text)))))
  const socket = createSocket({ url, lazy: false })
  const leave = socket.follow('subscription { revision }', {}, { next: () => undefined })
  await again.promise
  leave()
  socket.close()
  expect(counts).toEqual([1, 1, 1])
})
