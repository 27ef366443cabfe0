/**
 * Requests that a proxy and this server can read differently: a header or a parameter that may be there once is there twice, or the Host is more than
 * a host and a port (RFC 9112 §3.2).
 */
import { connect } from 'node:net'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { type RunningApp, startApp } from '../support/servers/app.ts'

let server: RunningApp
beforeAll(async () => {
  server = await startApp({ env: { CORS_ORIGINS: '*' } })
})
afterAll(() => server.stop())

/** The status and the body. */
async function send(head: string, body = ''): Promise<string> {
  const socket = connect(server.port, '127.0.0.1').setEncoding('utf8')
  socket.write(`${head}\r\nConnection: close\r\nContent-Length: ${body.length}\r\n\r\n${body}`)
  const answer = (await socket.toArray()).join('')
  return `${answer.split(' ')[1]} ${answer.slice(answer.indexOf('\r\n\r\n'))}`
}

const twice = 'Host: 127.0.0.1\r\nhOST: board.example'
const query = JSON.stringify({ query: '{ revision }' })
const report = JSON.stringify({ deploymentId: 'd', status: { state: 'installed' }, components: [] })
const json = 'Content-Type: application/json'
const head = `POST /graphql HTTP/1.1\r\nHost: 127.0.0.1\r\n`

it.each([
  ['Content-Type', json, 'content-TYPE: text/plain'],
  ['Authorization', 'Authorization: Bearer one', 'authorization: Bearer two'],
  ['X-API-Key', 'X-API-Key: one', 'x-api-key: two'],
  ['Origin', 'Origin: https://board.example', 'origin: https://other.example'],
])('is refused with two headers %s', async (name, one, two) => {
  const type = name === 'Content-Type' ? '' : `${json}\r\n`
  expect(await send(`${head}${type}${one}`, query)).toMatch(/^200 /)
  const refusal = new RegExp(`^400 [\\s\\S]*the header ${name} is there twice: send it once`)
  expect(await send(`${head}${type}${one}\r\n${two}`, query)).toMatch(refusal)
  expect(await send(`GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n${one}\r\n${two}`)).toMatch(refusal)
})

it.each([
  'a@127.0.0.1',
  '127.0.0.1/x',
  '127.0.0.1?x',
  '127.0.0.1#x',
  '',
  '127.0.0.1:80:80',
  '127.0.0.1:655360',
  '[::1',
  'a b',
  'a,b',
  '127.0.0.1\\x',
])('is refused with the Host %s', async (host) => {
  const refusal = /^400 [\s\S]*the header Host must be a host name with an optional port/
  expect(await send(`GET /healthz HTTP/1.1\r\nHost: ${host}`)).toMatch(refusal)
  expect(await send(`POST /graphql HTTP/1.1\r\nHost: ${host}\r\n${json}`, query)).toMatch(refusal)
})

it.each(['[::1]:4000', 'localhost', 'edge_1:80', 'xn--mnchen-3ya.internal', 'LOCALHOST:'])(
  'is answered with the Host %s',
  async (host) => {
    expect(await send(`GET /healthz HTTP/1.1\r\nHost: ${host}`)).toMatch(/^200 /)
  },
)

it.each([
  ['query', '/graphql?query={revision}&query={revision}'],
  ['variables', '/graphql?query={revision}&variables={}&variables={}'],
  ['documentId', '/graphql?documentId=a&query={revision}&documentId=b'],
  ['rb-name', '/v1/instance?rb-name=a&rb-name=b'],
  ['kind', '/v1/instance/i/status?kind=a&kind=b'],
  ['type', '/v2/projects/p/composite-apps/c/v1/deployment-intent-groups/d/status?type=rsync&type=cluster'],
  ['instance', '/v2/projects/p/composite-apps/c/v1/deployment-intent-groups/d/status?instance=a&instance=b'],
  ['service', '/git/edge.git/info/refs?service=git-upload-pack&service=git-upload-pack'],
  ['format', '/export/changes?format=csv&format=ndjson'],
])('is refused with two parameters %s', async (name, path) => {
  const answer = await send(`GET ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAccept: application/graphql-response+json, */*`)
  expect(answer).toMatch(/^400 /)
  expect(answer).toMatch(
    new RegExp(`${name} (must be|is) given (once|more than once)|"field":"${name}","message":"must be given once"`),
  )
})

it.each([
  ['a page', 'GET / HTTP/1.1', ''],
  ['a probe', 'GET /healthz HTTP/1.1', ''],
  ['a query', `POST /graphql HTTP/1.1\r\n${json}`, query],
  ['a report', `POST /device/edge/deployment/d/status HTTP/1.1\r\n${json}`, report],
])('is refused in one sentence: %s', async (_, line, body) => {
  const [first, ...more] = line.split('\r\n')
  const headOf = (host: string): string => [first, host, ...more].join('\r\n')
  expect(await send(headOf(twice), body)).toMatch(/^400 [\s\S]*the header Host is there twice: send it once/)
  expect(await send(headOf('Host: 127.0.0.1'), body)).toMatch(/^20[01] /)
})

it('opens no WebSocket', async () => {
  const upgrade = (host: string): Promise<string> =>
    new Promise((resolve) => {
      const socket = connect(server.port, '127.0.0.1').setEncoding('utf8')
      socket.once('data', (text) => {
        resolve(String(text).split(' ')[1] ?? '')
        socket.destroy()
      })
      socket.write(
        `GET /graphql HTTP/1.1\r\n${host}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Protocol: graphql-transport-ws\r\n\r\n`,
      )
    })
  expect(await upgrade('Host: 127.0.0.1')).toBe('101')
  for (const host of [
    twice,
    'Host: a@127.0.0.1',
    'Host: 127.0.0.1\r\nOrigin: http://127.0.0.1\r\norigin: http://127.0.0.1',
  ])
    expect(await upgrade(host)).toBe('403')
})
