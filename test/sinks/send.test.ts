/** What is sent goes nowhere inside, whatever a name resolves to, follows no redirect, and does not wait for ever. */
import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createAddressRule } from '../../src/outlets/sinks/address-rule.ts'
import { createSend, type Resolve, SendError } from '../../src/outlets/sinks/send.ts'
import { type Receiver, startReceiver } from '../support/systems/receiver.ts'

const resolved: { address: string; family: number }[] = []
const resolve: Resolve = (_, __, found) => found(null, resolved)

describe('a notification', () => {
  let receiver: Receiver
  let port: string
  beforeEach(async () => {
    receiver = await startReceiver()
    port = new URL(receiver.url).port
  })
  afterEach(() => receiver.close())
  const resolveTo = (...addresses: readonly string[]): void => {
    resolved.splice(0, resolved.length)
    for (const address of addresses) resolved.push({ address, family: address.includes(':') ? 6 : 4 })
  }
  const post = (url: string, allow: readonly string[] = [], timeout?: number) =>
    createSend(createAddressRule(allow), timeout, resolve)({ method: 'POST', url, headers: {}, body: '{}' })

  it.each([
    ['127.0.0.1'],
    ['10.1.2.3'],
    ['169.254.169.254'],
    ['192.168.0.1'],
    ['::1'],
    ['::ffff:127.0.0.1'],
    ['::ffff:7f00:1'],
    ['::127.0.0.1'],
    ['::a00:1'],
    ['::ffff:0:127.0.0.1'],
    ['::ffff:0:a9fe:a9fe'],
    ['64:ff9b::a00:1'],
    ['100:0:0:1::1'],
    ['2620:4f:8000::1'],
    ['3fff::1'],
    ['5f00::1'],
    ['192.31.196.1'],
    ['192.52.193.1'],
    ['192.88.99.1'],
    ['192.175.48.1'],
    ['fd00::1'],
    ['fe80::1'],
  ])('is not sent to a name that resolves to %s', async (address) => {
    resolveTo(address)
    await expect(post(`http://hook.example:${port}/`)).rejects.toThrow(/internal.*SINK_ALLOW/)
    resolveTo('93.184.215.14', address)
    await expect(post(`http://hook.example:${port}/`)).rejects.toThrow(/internal.*SINK_ALLOW/)
    expect(receiver.received).toEqual([])
  })

  it.each([['hook.example'], ['127.0.0.1'], ['127.0.0.0/8']])('is sent there when %s is allowed', async (allowed) => {
    resolveTo('127.0.0.1')
    expect(await post(`http://hook.example:${port}/x`, [allowed])).toMatchObject({ status: 200 })
    expect(receiver.received).toMatchObject([{ method: 'POST', path: '/x', text: '{}' }])
  })

  it.each(['8.8.8.8', '::ffff:8.8.8.8', '::ffff:808:808', '2001:4860:4860::8888'])('may be sent to %s', (address) => {
    expect(createAddressRule([]).allows('hook.example', address)).toBe(true)
  })

  it.each([
    ['http://127.0.0.1/', /internal/],
    ['http://localhost./', /without a dot at the end/],
    ['https://hook.example./', /without a dot at the end/],
    ['http://[::ffff:127.0.0.1]/', /internal/],
    ['http://[::127.0.0.1]/', /internal/],
    ['http://[::ffff:0:127.0.0.1]/', /internal/],
    ['http://[5f00::1]/', /internal/],
    ['http://[::1]/', /internal/],
    ['http://2130706433/', /internal/],
    ['http://0x7f.1/', /internal/],
    ['http://localhost/', /internal/],
    ['http://user:secret@hook.example/', /user or a password/],
    ['ftp://hook.example/', /http or https/],
    ['file:///etc/passwd', /http or https/],
    ['nothing', /http or https/],
  ])('is not sent to %s', async (url, said) => {
    resolveTo('93.184.215.14')
    const error = await post(url).catch((cause: Error) => cause)
    expect(error).toMatchObject({ message: expect.stringMatching(said) })
    expect(String(error)).not.toContain('secret')
  })

  it('that cannot be sent fails like one that is refused', async () => {
    const send = createSend(createAddressRule(['127.0.0.1']))
    const request = { method: 'POST', url: receiver.url, headers: { 'x-fromappid': 'A→B' }, body: '{}' } as const
    await expect(send(request)).rejects.toBeInstanceOf(SendError)
    expect(receiver.received).toEqual([])
  })

  it('follows no redirect', async () => {
    const other = await startReceiver()
    receiver.answer((_, response) => response.writeHead(302, { location: other.url }).end())
    expect(await post(receiver.url, ['127.0.0.1'])).toMatchObject({ status: 302 })
    expect(other.received).toEqual([])
    await other.close()
  })

  it('gives up a receiver that does not answer, or does not come to an end', async () => {
    receiver.answer(() => {})
    await expect(post(receiver.url, ['127.0.0.1'], 100)).rejects.toThrow('no answer within 0.1 s')
    receiver.answer((_, response) => void response.writeHead(200).write('and so on'))
    await expect(post(receiver.url, ['127.0.0.1'], 100)).rejects.toThrow('no answer within 0.1 s')
  })

  it('keeps no more of an answer than it needs', async () => {
    receiver.answer((_, response) => response.writeHead(200).end('x'.repeat(1_000_000)))
    const { bytes, isWhole } = await post(receiver.url, ['127.0.0.1'])
    expect([bytes.length, isWhole]).toEqual([256 * 1024, false])
  })

  const head = 'HTTP/1.1 200 OK\r\n'
  /** Writes it again and again, as fast as it is read. */
  const endlessly = (socket: Socket, text: string): void => {
    while (!socket.destroyed && socket.write(text));
    if (!socket.destroyed) socket.once('drain', () => endlessly(socket, text))
  }
  it.each<[name: string, meet: (socket: Socket) => void, outcome: unknown]>([
    [
      'a change of protocol',
      (socket) => socket.write('HTTP/1.1 101 X\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n'),
      /changes the protocol/,
    ],
    ['interim responses without end', (socket) => endlessly(socket, 'HTTP/1.1 103 X\r\n\r\n'), /interim responses/],
    [
      'a body without end',
      (socket) => {
        socket.write(`${head}\r\n`)
        endlessly(socket, 'x'.repeat(1 << 16))
      },
      { status: 200 },
    ],
    ['too large headers', (socket) => socket.write(`${head}X: ${'x'.repeat(1 << 20)}\r\n\r\n`), /HEADER_OVERFLOW/],
    ['a reset', (socket) => socket.resetAndDestroy(), /ECONNRESET/],
    ['the begin of a body', (socket) => socket.end(`${head}Content-Length: 9\r\n\r\nx`), /ECONNRESET/],
    ['two lengths', (socket) => socket.end(`${head}Content-Length: 1\r\nContent-Length: 2\r\n\r\nxx`), /HPE_/],
    ['a chunk of no size', (socket) => socket.end(`${head}Transfer-Encoding: chunked\r\n\r\nzz\r\n`), /HPE_/],
    ['something else than HTTP', (socket) => socket.end('SSH-2.0-x\r\n'), /HPE_/],
    [
      'a compressed body, which stays as it is',
      (socket) => socket.end(`${head}Content-Encoding: gzip\r\nContent-Length: 2\r\n\r\nxx`),
      { status: 200, bytes: Buffer.from('xx') },
    ],
  ])('settles when a receiver answers with %s', async (_, meet, outcome) => {
    const hostile = createServer((socket) => socket.on('error', () => undefined).once('data', () => meet(socket)))
    await once(hostile.listen(0, '127.0.0.1'), 'listening')
    const { port: at } = hostile.address() as AddressInfo
    const sent = post(`http://127.0.0.1:${at}/`, ['127.0.0.1'])
    if (outcome instanceof RegExp) await expect(sent).rejects.toThrow(outcome)
    else expect(await sent).toMatchObject(outcome as object)
    hostile.close()
  })
})
