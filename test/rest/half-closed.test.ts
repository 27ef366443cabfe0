/** A client that sends no more after its request, as `nc -N` does: it is answered, and one that is gone is noticed. */
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { limitPipelines } from '../../src/api/rest/pipelines.ts'
import { type RunningApp, startApp } from '../support/servers/app.ts'

const body = JSON.stringify({ deploymentId: 'd-1', status: { state: 'installed' }, components: [] })
const report = `POST /device/edge-1/deployment/d-1/status HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`
const query = 'GET /graphql?query=%7Brevision%7D HTTP/1.1\r\nHost: a\r\nAccept: application/json\r\n\r\n'

describe('a client that sends no more', () => {
  let server: RunningApp
  beforeAll(async () => {
    server = await startApp()
  })
  afterAll(() => server.stop())

  it.each([
    ['a report', report, ['201']],
    ['a query', query, ['200']],
    ['an export', 'GET /export/changes HTTP/1.1\r\nHost: a\r\n\r\n', ['200']],
    ['several requests', query + report + query, ['200', '201', '200']],
  ])('is answered: %s', async (_, text, statuses) => {
    const socket = connect({ port: server.port, host: '127.0.0.1', allowHalfOpen: true })
    socket.end(text)
    const answer = (await socket.setEncoding('utf8').toArray()).join('')
    const all = [...answer.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => status)
    expect(all.filter((status) => status !== '100')).toEqual(statuses)
    // The server has closed the connection.
    expect(answer).toMatch(/"acknowledgement"|"revision"|rollcall-cursor/)
  })
})

describe('a client that is waited for', () => {
  async function begin(version: string, answered = false) {
    const pipelines = limitPipelines()
    const server = createServer((request, response) => {
      pipelines.begin(request, response)
      if (answered) response.write('x')
    }).listen(0, '127.0.0.1')
    Object.assign(server, { httpAllowHalfOpen: true })
    onTestFinished(async () => {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    })
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo
    const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true })
    socket.write(`GET / HTTP/${version}\r\nHost: a\r\n\r\n`)
    const [, response] = (await once(server, 'request')) as [IncomingMessage, ServerResponse]
    return { socket, response }
  }

  it('is noticed when it is gone', async () => {
    const { socket, response } = await begin('1.1')
    socket.destroy()
    await once(response, 'close')
  })

  it('is taken to be gone in the midst of a response, and in HTTP/1.0, which has no interim responses', async () => {
    for (const { socket, response } of [await begin('1.1', true), await begin('1.0')]) {
      socket.end()
      await once(response, 'close')
    }
  })

  it('is not taken to be gone when it waits', async () => {
    const { socket, response } = await begin('1.1')
    socket.end()
    const [interim] = await once(socket.setEncoding('utf8'), 'data')
    expect(interim).toBe('HTTP/1.1 100 Continue\r\n\r\n')
    response.end('here')
    expect((await socket.toArray()).join('')).toMatch(/^HTTP\/1\.1 200 OK.*here/s)
  })
})
