/** A request for a WebSocket on a connection whose earlier requests wait for their responses. */
import { once } from 'node:events'
import { connect } from 'node:net'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { type RunningApp, startApp } from '../support/servers/app.ts'

let server: RunningApp
beforeAll(async () => {
  server = await startApp()
})
afterAll(() => server.stop())

const subscription =
  'GET /graphql?query=subscription%7Bchanges%7Bcursor%7D%7D HTTP/1.1\r\nHost: a\r\nAccept: text/event-stream\r\n\r\n'

function upgrade(path: string): string {
  return `GET ${path} HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Protocol: graphql-transport-ws\r\n\r\n`
}

async function subscribers(): Promise<number> {
  const text = await server.app.metrics.print()
  return Number(/rollcall_subscribers\{kind="changes"\} (\d+)/.exec(text)?.[1])
}

it.each(['/graphql', '/elsewhere'])('leaves no subscription open: %s', async (path) => {
  const socket = connect(server.port, '127.0.0.1')
  socket.write(subscription + subscription + upgrade(path))
  const [answer] = await once(socket.setEncoding('utf8'), 'data')
  expect(answer).toMatch(/^HTTP\/1\.1 200 OK/)
  await expect.poll(subscribers).toBe(2)
  socket.destroy()
  await expect.poll(subscribers).toBe(0)
})

it('is answered in its turn', async () => {
  const socket = connect(server.port, '127.0.0.1')
  socket.write(`GET /export/changes HTTP/1.1\r\nHost: a\r\n\r\n${upgrade('/elsewhere')}`)
  let received = ''
  socket.setEncoding('utf8').on('data', (text: string) => {
    received += text
  })
  await expect.poll(() => received.match(/^HTTP\/1\.1 \d+/gm)).toEqual(['HTTP/1.1 200', 'HTTP/1.1 404'])
  socket.destroy()
})
