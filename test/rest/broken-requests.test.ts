/** A request that is not HTTP, behind valid requests of its connection that wait for their responses. */
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { limitPipelines } from '../../src/api/rest/pipelines.ts'
import { type RunningApp, startApp } from '../support/servers/app.ts'

const body = JSON.stringify({ deploymentId: 'd-1', status: { state: 'installed' }, components: [] })
const path = '/device/edge-1/deployment/d-1/status'
const head = `POST ${path} HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n`
const report = `${head}Content-Length: ${body.length}\r\n\r\n${body}`
const broken = 'no such thing\r\n\r\n'
const brokenBody = `${head}Transfer-Encoding: chunked\r\n\r\nno length\r\n`

const statusesOf = (text: string): readonly (string | undefined)[] =>
  [...text.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => status).filter((status) => status !== '100')

describe('a broken request', () => {
  let server: RunningApp
  beforeAll(async () => {
    server = await startApp()
  })
  afterAll(() => server.stop())

  async function send(text: string): Promise<string> {
    const socket = connect({ port: server.port, host: '127.0.0.1', allowHalfOpen: true })
    socket.write(text)
    const answer = (await socket.setEncoding('utf8').toArray()).join('')
    socket.destroy()
    return answer
  }

  it.each([
    ['alone', broken, ['400']],
    ['with a broken body', brokenBody, ['400']],
    ['behind a report', report + broken, ['201', '400']],
    ['with a broken body, behind two reports', report + report + brokenBody, ['201', '201', '400']],
    ['with too large a header', `${report}GET /${'x'.repeat(100_000)}`, ['201', '431']],
  ])('is refused after the responses to the requests before it: %s', async (_, text, statuses) => {
    expect(statusesOf(await send(text))).toEqual(statuses)
  })

  it('that is not complete is refused in its turn when the client sends no more', async () => {
    const socket = connect({ port: server.port, host: '127.0.0.1', allowHalfOpen: true })
    socket.end(`${report}GET /healthz HTTP/1.1\r\nHo`)
    expect(statusesOf((await socket.setEncoding('utf8').toArray()).join(''))).toEqual(['201', '400'])
  })
})

describe('a connection with a broken request', () => {
  /** The server begins to answer when a test does. */
  async function begin(text: string, requests: number) {
    const pipelines = limitPipelines()
    const server = createServer((request, response) => pipelines.begin(request, response)).listen(0, '127.0.0.1')
    const refused = Promise.withResolvers<void>()
    server.on('clientError', (_, to) => {
      pipelines.refuseInTurn(to, () => to.end('HTTP/1.1 400 Bad Request\r\n\r\n', () => to.destroy()))
      refused.resolve()
    })
    onTestFinished(async () => {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    })
    await once(server, 'listening')
    const socket = connect((server.address() as AddressInfo).port, '127.0.0.1')
    const responses: ServerResponse[] = []
    const all = Promise.withResolvers<void>()
    server.on('request', (_: IncomingMessage, response: ServerResponse) => {
      if (responses.push(response) === requests) all.resolve()
    })
    socket.write(text)
    await all.promise
    const statuses = async (): Promise<unknown> => statusesOf((await socket.setEncoding('utf8').toArray()).join(''))
    return { socket, responses, refused: refused.promise, statuses }
  }

  const get = 'GET / HTTP/1.1\r\nHost: a\r\n\r\n'

  it('answers in order, whichever response ends first and whatever is sent meanwhile', async () => {
    const { socket, responses, refused, statuses } = await begin(get + get + broken, 2)
    await refused
    socket.write(broken)
    const [first, second] = responses
    second?.end()
    first?.end()
    expect(await statuses()).toEqual(['200', '200', '400'])
  })

  it('closes without a second response to the broken request', async () => {
    const { responses, refused, statuses } = await begin(get + brokenBody, 2)
    await refused
    const [first, second] = responses
    second?.writeHead(413).end()
    first?.end()
    expect(await statuses()).toEqual(['200', '413'])
  })

  it('closes without a second response after the first has left, too', async () => {
    const { socket, responses, statuses } = await begin(`${head}Transfer-Encoding: chunked\r\n\r\n`, 1)
    const [response] = responses
    response?.writeHead(413).end()
    if (response) await once(response, 'close')
    socket.write('no length\r\n')
    expect(await statuses()).toEqual(['413'])
  })

  it('closes in the midst of a response to the broken request', async () => {
    const { responses, refused, statuses } = await begin(get + brokenBody, 2)
    await refused
    const [first, second] = responses
    second?.write('a part')
    first?.end()
    expect(await statuses()).toEqual(['200', '200'])
  })
})
