/** Those who send much and stop: what is held of them is bounded, they are cut off, and others are taken all the while. */
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { afterEach, describe, expect, it } from 'vitest'
import { WebSocket } from 'ws'
import { defaultTimeouts } from '../../src/api/rest/guard.ts'
import { casesOf } from '../support/runner/depth.ts'
import { type RunningApp, startApp } from '../support/servers/app.ts'

const mib = 1 << 20
const group = '/v2/projects/p/composite-apps/a/v1/deployment-intent-groups/g'
const routes = ['POST /reports', `POST ${group}/instances/c/resources`, 'POST /graphql']

let server: RunningApp
const sockets: Socket[] = []
afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy()
  await server.stop()
})

const start = async (bodyTimeout: number): Promise<void> => {
  const env = { MAX_BUFFERED: '128', TRUSTED_PROXIES: '127.0.0.1' }
  server = await startApp({ env, timeouts: { ...defaultTimeouts, body: bodyTimeout } })
}

/** Announces 15 MiB, sends all but a byte of it, and waits; what it is answered. */
function sendAndStop(line: string, address: string): Promise<string> {
  const socket = connect(server.port, '127.0.0.1')
  sockets.push(socket)
  const fields = [
    `Host: x`,
    `X-Forwarded-For: ${address}`,
    'Content-Type: application/json',
    `Content-Length: ${15 * mib}`,
  ]
  socket.write(`${line} HTTP/1.1\r\n${fields.join('\r\n')}\r\n\r\n`)
  socket.write(Buffer.alloc(15 * mib - 1, ' '))
  socket.on('error', () => undefined)
  return new Promise((resolve) => {
    let text = ''
    socket.setEncoding('utf8').on('data', (chunk: string) => {
      text += chunk
      if (text.includes('\r\n\r\n')) resolve(text)
    })
    socket.once('close', () => resolve(text))
  })
}

async function takesOthers(): Promise<void> {
  const from = { 'x-forwarded-for': '198.51.100.77' }
  const report = { deviceId: 'e', deploymentId: 'd', status: { state: 'installed' }, components: [] }
  const reports = Array.from({ length: 40 }, () => `${' '.repeat(mib / 2)}${JSON.stringify(report)}`)
  const padded = `{"reports":[${reports.join()}]}`
  expect((await server.post('/reports', padded, from)).status).toBe(200)
}

describe('bodies that are begun and not ended', () => {
  it.each(casesOf(1, routes))('are held up to a share of one address, the rest is refused: %s', async (line) => {
    await start(600_000)
    const answers = Array.from({ length: 12 }, () => sendAndStop(line, '203.0.113.5'))
    const first = await Promise.any(answers)
    expect(first).toMatch(/^HTTP\/1\.1 503 [\s\S]*retry-after: \d+/i)
    const answered = new Set<number>()
    for (const [index, answer] of answers.entries()) void answer.then(() => answered.add(index))
    // A quarter of 128 MiB: two are held.
    await expect.poll(() => answered.size).toBe(10)
    await takesOthers()
    expect(answered.size).toBe(10)
    const small = { deploymentId: 'd', status: { state: 'installed' }, components: [] }
    const same = { 'x-forwarded-for': '203.0.113.5' }
    expect((await server.post('/device/e/deployment/d/status', small, same)).status).toBe(201)
  })

  it.each(casesOf(1, routes))('are cut off when nothing more comes, and what they held is free: %s', async (line) => {
    await start(300)
    const answers = await Promise.all(Array.from({ length: 3 }, () => sendAndStop(line, '203.0.113.5')))
    expect(answers.some((text) => /^HTTP\/1\.1 408 /.test(text))).toBe(true)
    for (const text of answers) expect(text).toMatch(/^HTTP\/1\.1 (408|503) /)
    expect(await server.app.metrics.print()).toMatch(/rollcall_limited_total\{limit="slowRequest"\} [1-3]/)
    await takesOthers()
  })
})

/** Opens a WebSocket and sends all of a message but its last bytes; the code with which it is closed. */
async function beginMessage(
  address: string,
): Promise<{ readonly socket: WebSocket; readonly closed: Promise<number> }> {
  const url = `ws://127.0.0.1:${server.port}/graphql`
  const socket = new WebSocket(url, 'graphql-transport-ws', { headers: { 'x-forwarded-for': address } })
  socket.on('error', () => undefined)
  // Both events come in one turn.
  const [[response]] = await Promise.all([once(socket, 'upgrade'), once(socket, 'open')])
  sockets.push(response.socket)
  socket.send('{"type":"connection_init"}')
  await once(socket, 'message')
  const header = Buffer.alloc(8)
  header.writeUInt16BE(0x81fe)
  header.writeUInt16BE(60_000, 2)
  response.socket.write(Buffer.concat([header, Buffer.alloc(59_000, ' ')]))
  return { socket, closed: once(socket, 'close').then(([code]) => code as number) }
}

describe('messages that are begun and not ended', () => {
  it('count with the bodies of their address, and others go on', async () => {
    await start(600_000)
    // A quarter of 128 MiB, and each holds 59,008 bytes of which 16 KiB are not counted.
    const most = Math.floor(2 ** 25 / (59_008 - 2 ** 14))
    const opened = await Promise.all(Array.from({ length: most + 5 }, () => beginMessage('203.0.113.5')))
    const closed = new Set<number>()
    for (const [index, { closed: code }] of opened.entries()) void code.then(() => closed.add(index))
    await expect.poll(() => closed.size).toBe(5)
    const other = await beginMessage('198.51.100.77')
    expect(other.socket.readyState).toBe(WebSocket.OPEN)
    for (const { socket } of opened) socket.terminate()
  })

  it('are cut off when they do not end', async () => {
    await start(300)
    const { closed } = await beginMessage('203.0.113.5')
    expect(await closed).toBe(1006)
    expect(await server.app.metrics.print()).toMatch(/rollcall_limited_total\{limit="slowRequest"\} 1/)
  })
})
