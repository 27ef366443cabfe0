import { request } from 'node:http'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type RunningApp, startApp } from '../support/servers/app.ts'

describe('a request with a whole URL', () => {
  let server: RunningApp
  beforeAll(async () => {
    server = await startApp()
  })
  afterAll(() => server.stop())

  /** `target`: the request target, as sent. */
  function send(target: string, body?: object): Promise<{ status: number | undefined; text: string }> {
    return new Promise((resolve, reject) => {
      const { port } = server
      const headers = { host: 'other.localhost', 'content-type': 'application/json', accept: 'application/json' }
      const method = body ? 'POST' : 'GET'
      request({ host: '127.0.0.1', port, path: target, method, headers, agent: false }, async (response) => {
        resolve({ status: response.statusCode, text: (await response.setEncoding('utf8').toArray()).join('') })
      })
        .on('error', reject)
        .end(body && JSON.stringify(body))
    })
  }

  it('is one for its path', async () => {
    const report = { deploymentId: 'a/b', status: { state: 'installed' }, components: [] }
    const path = '/device/edge-1/deployment/a%2Fb/status'
    expect(await send(`http://rollcall.localhost:4000${path}`, report)).toMatchObject({ status: 201 })
    expect(await send(`HTTPS://rollcall.localhost${path}?a=b`, report)).toMatchObject({ status: 201 })
    expect((await send('http://rollcall.localhost/graphql?query={__typename}')).text).toContain('Query')
    expect(await send('http://rollcall.localhost/healthz')).toMatchObject({ status: 200 })
    expect(await send('http://rollcall.localhost?verbose')).toMatchObject({ status: 200 })
  })

  it('may ask for a WebSocket', async () => {
    const status = await new Promise((resolve, reject) => {
      const headers = {
        ...{ connection: 'Upgrade', upgrade: 'websocket', 'sec-websocket-version': '13' },
        'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==',
        'sec-websocket-protocol': 'graphql-transport-ws',
      }
      request({
        host: '127.0.0.1',
        port: server.port,
        path: 'http://rollcall.localhost/graphql',
        headers,
        agent: false,
      })
        .on('upgrade', ({ statusCode }, socket) => {
          socket.destroy()
          resolve(statusCode)
        })
        .on('response', ({ statusCode }) => resolve(statusCode))
        .on('error', reject)
        .end()
    })
    expect(status).toBe(101)
  })

  it('is none for what is not a URL of HTTP', async () => {
    for (const target of ['ftp://rollcall.localhost/healthz', 'http:///healthz', 'http://a@rollcall.localhost/healthz'])
      expect(await send(target), target).toMatchObject({ status: 404 })
  })
})
