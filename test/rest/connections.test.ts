import { connect, type Socket } from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type RunningApp, startApp } from '../support/servers/app.ts'

let server: RunningApp
beforeAll(async () => {
  server = await startApp()
})
afterAll(() => server.stop())

const head = (path: string, ...headers: string[]): string =>
  [`POST ${path} HTTP/1.1`, 'Host: rollcall', 'Content-Type: application/json', ...headers, '', ''].join('\r\n')
const path = '/device/edge-1/deployment/d-1/status'
const good = JSON.stringify({ deploymentId: 'd-1', status: { state: 'installed' }, components: [] })

/** A connection that is written to and read from as it is. */
async function open(): Promise<{ socket: Socket; until(pattern: RegExp): Promise<string>; ended: Promise<void> }> {
  const socket = connect(server.port, '127.0.0.1')
  let text = ''
  socket.setEncoding('utf8').on('data', (chunk: string) => {
    text += chunk
  })
  socket.on('error', () => {})
  const ended = new Promise<void>((resolve) => socket.once('close', () => resolve()))
  await new Promise<void>((resolve) => socket.once('connect', resolve))
  const until = (pattern: RegExp): Promise<string> =>
    new Promise((resolve, reject) => {
      const check = (): void => void (pattern.test(text) && resolve(text))
      socket.on('data', check)
      socket.once('close', () => reject(new Error(`closed after: ${text}`)))
      check()
    })
  return { socket, until, ended }
}

describe('a connection', () => {
  it('takes one request after the other', async () => {
    const { socket, until } = await open()
    for (const verdict of ['APPLIED', 'UNCHANGED']) {
      socket.write(head(path, `Content-Length: ${good.length}`) + good)
      expect(await until(new RegExp(verdict))).toContain('201 Created')
    }
    socket.write('HEAD /healthz HTTP/1.1\r\nHost: rollcall\r\n\r\nGET /healthz HTTP/1.1\r\nHost: rollcall\r\n\r\n')
    const answers = (await until(/"alive"/)).split('HTTP/1.1 200 OK')
    expect(answers).toHaveLength(3)
    expect(answers[1]).toMatch(/\r\n\r\n$/)
    socket.destroy()
  })

  it('takes a body in pieces', async () => {
    const { socket, until } = await open()
    socket.write(head(path, 'Transfer-Encoding: chunked'))
    for (const part of [good.slice(0, 5), good.slice(5, 20), good.slice(20)])
      socket.write(`${part.length.toString(16)}\r\n${part}\r\n`)
    socket.write('0\r\n\r\n')
    expect(await until(/verdict/)).toContain('201 Created')
    socket.destroy()
  })

  it('gets a 413 for a body that is too large before it has sent it', async () => {
    const { socket, until } = await open()
    socket.write(head(path, 'Content-Length: 100000000'))
    expect(await until(/\r\n\r\n.*\}/)).toMatch(/413 .*application\/problem\+json/s)
    socket.destroy()
  })

  it('gets a 413 while it sends without an end', async () => {
    const { socket, until } = await open()
    socket.write(head(path, 'Transfer-Encoding: chunked'))
    const piece = `10000\r\n${'x'.repeat(0x10000)}\r\n`
    const feeding = setInterval(() => socket.writable && socket.write(piece), 1)
    expect(await until(/\r\n\r\n.*\}/)).toMatch(/413 .*application\/problem\+json/s)
    clearInterval(feeding)
    socket.destroy()
  })

  it('gets a 413 also when it sends everything before it reads', async () => {
    const response = await fetch(`${server.url}/reports`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: Buffer.alloc(64 << 20, 0x20),
    })
    expect(response.status).toBe(413)
  })

  it('that asks before it sends is answered', async () => {
    const { socket, until } = await open()
    socket.write(head(path, `Content-Length: ${good.length}`, 'Expect: 100-continue'))
    await until(/100 Continue/)
    socket.write(good)
    expect(await until(/verdict/)).toContain('201 Created')
    socket.destroy()
  })

  it('that breaks off in the middle of a report is recorded neither as a report nor as an error', async () => {
    const before = server.logged.length
    const { socket, ended } = await open()
    socket.write(head(path, 'Content-Length: 1000') + good.slice(0, 10))
    socket.end()
    await ended
    expect((await server.post(path, good)).status).toBe(201)
    expect(server.logged.slice(before).filter(({ level }) => level === 'error')).toEqual([])
    expect(await (await fetch(`${server.url}/metrics`)).text()).not.toMatch(
      /reports_refused_total\{status="400"\} [1-9]/,
    )
  })

  it('that speaks no HTTP is turned away', async () => {
    const { socket, until } = await open()
    socket.write('\x16\x03\x01\x02\x00 hello\r\n\r\n')
    expect(await until(/400/)).toContain('400 Bad Request')
    socket.destroy()
  })
})
