/** A body or message in pieces of a byte costs no more memory than others, and is cut off when it has too many. */
import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { expect, it, onTestFinished } from 'vitest'
import { defaultTimeouts } from '../../src/api/rest/guard.ts'
import { collect } from '../support/garbage.ts'
import { casesOf, isWhole } from '../support/runner/depth.ts'
import { startAttacked } from './attacked.ts'
import { closed, openSocket } from './transports.ts'

async function start(env: Record<string, string> = {}) {
  const attacked = await startAttacked(env, undefined, defaultTimeouts)
  onTestFinished(attacked.stop)
  return attacked
}

/** `pieces` of one byte, in front of an empty backlog. */
async function send({ open }: Awaited<ReturnType<typeof start>>, pieces: number): Promise<string> {
  const { socket, ended } = await open()
  const head = 'POST /reports HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nConnection: close\r\n'
  socket.write(`${head}Transfer-Encoding: chunked\r\n\r\n`)
  for (let left = pieces; left > 0 && !socket.destroyed; left -= 4_096)
    if (!socket.write('1\r\n \r\n'.repeat(Math.min(left, 4_096)))) await Promise.race([once(socket, 'drain'), ended])
  socket.write('e\r\n{"reports":[]}\r\n0\r\n\r\n')
  return ended
}

it('a body in some thousand pieces of a byte is taken', async () => {
  expect(await send(await start(), 10_000)).toMatch(/^HTTP\/1\.1 200 /)
})

it('a body in ever more pieces of a byte is cut off', async () => {
  const attacked = await start()
  expect(await send(attacked, 200_000)).toMatch(/^HTTP\/1\.1 408 /)
  expect(await attacked.limited('slowRequest')).toBe(1)
  await attacked.answersOthers()
})

it.runIf(isWhole)('a body in pieces of a byte is small while the credential is looked up', async () => {
  const issuer = createServer().listen(0, '127.0.0.1')
  onTestFinished(() => void issuer.close())
  await once(issuer, 'listening')
  const { port } = issuer.address() as AddressInfo
  const attacked = await start({
    API_AUTH: 'jwt,open',
    API_JWT_JWKS_URL: `http://127.0.0.1:${port}/keys`,
    API_JWT_ISSUER: 'https://issuer.example',
    API_JWT_AUDIENCE: 'rollcall',
  })
  collect()
  const before = process.memoryUsage().heapUsed
  const asks = once(issuer, 'connection')
  const bearer = `eyJhbGciOiJSUzI1NiIsImtpZCI6ImEifQ.${Buffer.from('{"iss":"https://issuer.example"}').toString('base64url')}.AAAA`
  for (let index = 0; index < 4; index += 1) {
    const { socket } = await attacked.open()
    socket.write(`POST /graphql HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${bearer}\r\n`)
    socket.write(`Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n${'1\r\n \r\n'.repeat(100_000)}`)
  }
  const [connection] = await asks
  await attacked.answersOthers()
  collect()
  expect(process.memoryUsage().heapUsed - before).toBeLessThan(20e6)
  connection.destroy()
})

const asEvents = `GET /graphql?query=${encodeURIComponent('subscription { changes { cursor } }')} HTTP/1.1\r\nHost: x\r\nAccept: text/event-stream`
const large = `${(40 << 20).toString(16)}\r\n${' '.repeat(40 << 20)}\r\n`
it.each(
  casesOf(2, [
    ['a request without a body, while its response lasts', asEvents, '', 200],
    ['a request whose body is not read', 'POST /nowhere HTTP/1.1\r\nHost: x', '', 404],
    ['a request whose body is too large', 'POST /reports HTTP/1.1\r\nHost: x', large, 413],
  ]),
)('%s is cut off when ever more pieces of a byte follow', async (_, head, body, status) => {
  const attacked = await start()
  const { socket, ended } = await attacked.open()
  socket.write(`${head}\r\nTransfer-Encoding: chunked\r\n\r\n${body}`)
  const flood = (): void => {
    if (!socket.destroyed) socket.write('1\r\n \r\n'.repeat(4_096), flood)
  }
  flood()
  expect(await ended).toMatch(new RegExp(`^HTTP/1.1 ${status} `))
  expect(await attacked.limited('slowRequest')).toBe(1)
  await attacked.answersOthers()
})

it.each([
  ['a request whose body is not read', 'POST /nowhere HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello', 404],
  ['a request without a body', 'GET /healthz HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello', 200],
  [
    'a request whose body is too large',
    `POST /reports HTTP/1.1\r\nHost: x\r\nContent-Length: ${40 << 20}\r\n\r\n${' '.repeat(40 << 20)}`,
    413,
  ],
])('after the body of %s, its connection takes the next request', async (_, first, status) => {
  const attacked = await start()
  const { socket, ended } = await attacked.open()
  socket.write(`${first}GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`)
  expect((await ended).match(/HTTP\/1\.1 \d+/g)).toEqual([`HTTP/1.1 ${status}`, 'HTTP/1.1 200'])
})

it('a body of a request that has none is not kept while the response lasts', async () => {
  const attacked = await start()
  const { socket } = await attacked.open()
  const query = encodeURIComponent('subscription { changes { cursor } }')
  const head = `GET /graphql?query=${query} HTTP/1.1\r\nHost: x\r\nAccept: text/event-stream\r\n`
  socket.write(`${head}Transfer-Encoding: chunked\r\n\r\n`)
  await once(socket, 'data')
  // More than what the sockets keep.
  const size = 16 << 20
  await new Promise<void>((resolve, reject) => {
    socket.once('close', reject)
    socket.write(`${size.toString(16)}\r\n`)
    socket.write(Buffer.alloc(size, ' '), () => resolve())
  })
  await attacked.answersOthers()
})

it('a WebSocket message in a few fragments is read, and one in many closes its socket', async () => {
  const attacked = await start()
  const socket = attacked.kept(await openSocket(attacked.server.url))
  const text = JSON.stringify({ type: 'subscribe', id: '1', payload: { query: '{ __typename }' } })
  const sendIn = (message: string): void => {
    for (const [index, letter] of [...message].entries())
      socket.send(letter, { fin: index === message.length - 1, binary: false })
  }
  const answered = once(socket, 'message')
  sendIn(text)
  expect(String((await answered)[0])).toContain('"__typename":"Query"')
  const end = closed(socket)
  sendIn(`${text}${' '.repeat(300)}`)
  expect((await end).code).toBe(1008)
  expect(await attacked.limited('messageSize')).toBe(1)
  await attacked.answersOthers()
})
