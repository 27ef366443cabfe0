/** A client that sends many requests on one connection, and waits for no response. */
import { connect } from 'node:net'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { type RunningApp, startApp } from '../support/servers/app.ts'

let server: RunningApp
beforeAll(async () => {
  server = await startApp()
})
afterAll(() => server.stop())

const stream =
  'GET /graphql?query=subscription%7Bchanges%7Bcursor%7D%7D HTTP/1.1\r\nHost: a\r\nAccept: text/event-stream\r\n\r\n'
const probe = 'GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n'

it('gets 32 responses, and that the next request is one too many', async () => {
  const socket = connect(server.port, '127.0.0.1')
  socket.write(probe.repeat(500))
  const text = (await socket.setEncoding('utf8').toArray()).join('')
  const statuses = text.match(/HTTP\/1\.1 \d+/g) ?? []
  expect(statuses).toHaveLength(33)
  expect(statuses.at(-1)).toBe('HTTP/1.1 429')
})

it('is cut off before their number takes memory, also behind a response without an end', async () => {
  const { promise: closed, resolve } = Promise.withResolvers<boolean>()
  // The end may be a reset.
  const socket = connect(server.port, '127.0.0.1').on('error', () => undefined)
  socket.on('close', resolve).resume()
  socket.write(stream + probe.repeat(3_000))
  await closed
})
