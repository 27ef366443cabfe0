import { once } from 'node:events'
import { createServer, get, type IncomingMessage, type ServerResponse } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { describe, expect, it, onTestFinished } from 'vitest'
import { defaultTimeouts } from '../../src/api/rest/guard.ts'
import { createAdmission } from '../../src/platform/limits/admission.ts'
import { startApp } from '../support/servers/app.ts'

const mib = 1 << 20

/**
 * Answers `/own` with 16 MiB of each response's own, and `/shared` with the same 16 MiB, far more than what a connection takes at once; `/small` with
 * 10 kB; `/stream` with 16 MiB of a response that does not end.
 */
async function serve(options: { readonly buffered: number; readonly readingTimeout?: number }) {
  const seen: string[] = []
  const admission = createAdmission({
    limits: { rates: { address: null, device: null }, streams: null, buffered: options.buffered },
    readingTimeout: options.readingTimeout,
    proxies: ['127.0.0.1'],
    observe: (limit) => seen.push(limit),
  })
  const shared = Buffer.alloc(16 * mib)
  const streams: ServerResponse[] = []
  const server = createServer({ ServerResponse: admission.Response }, ({ url }, response) => {
    if (url === '/small') response.end('x'.repeat(10_000))
    else if (url !== '/stream') response.end(url === '/shared' ? shared : Buffer.alloc(16 * mib))
    else streams.push(response) && response.write(Buffer.alloc(16 * mib))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  /** The headers have been read, and nothing else. */
  const ask = async (path: string, address: string): Promise<IncomingMessage> => {
    const request = get({ port, path, headers: { 'x-forwarded-for': address }, agent: false })
    request.on('error', () => undefined)
    const [response] = (await once(request, 'response')) as [IncomingMessage]
    response.on('error', () => undefined)
    onTestFinished(() => void response.destroy())
    return response
  }
  /** A connection that sends these requests at once, and reads nothing. */
  const askAll = async (paths: readonly string[], address: string) => {
    const socket = connect(port, '127.0.0.1').pause()
    socket.on('error', () => undefined)
    onTestFinished(() => void socket.destroy())
    await once(socket, 'connect')
    socket.write(paths.map((path) => `GET ${path} HTTP/1.1\r\nHost: x\r\nX-Forwarded-For: ${address}\r\n\r\n`).join(''))
    return socket
  }
  return { ask, askAll, seen, streams }
}

/** Bytes until the end, or null of a response that broke off. */
async function readAll(response: IncomingMessage): Promise<number | null> {
  let size = 0
  try {
    for await (const chunk of response) size += (chunk as Buffer).length
    return size
  } catch {
    return null
  }
}

describe('responses that are not read', () => {
  it('close the connection of the oldest at one address above its share, and no other', async () => {
    const { ask, seen } = await serve({ buffered: 160 * mib })
    const other = await ask('/own', '192.0.2.2')
    const idle = [await ask('/own', '192.0.2.1'), await ask('/own', '192.0.2.1'), await ask('/own', '192.0.2.1')]
    expect(seen).toEqual(['unread'])
    expect(await Promise.all([...idle, other].map(readAll))).toEqual([null, 16 * mib, 16 * mib, 16 * mib])
    expect(await readAll(await ask('/own', '192.0.2.1'))).toBe(16 * mib)
    expect(seen).toHaveLength(1)
  })

  it('close the oldest of all above the whole budget', async () => {
    const { ask, seen } = await serve({ buffered: 68 * mib })
    const idle = []
    for (let n = 0; n < 6; n++) idle.push(await ask('/own', `192.0.2.${n}`))
    expect(seen).toEqual(['unread', 'unread'])
    expect(await Promise.all(idle.map(readAll))).toEqual([null, null, ...Array.from({ length: 4 }, () => 16 * mib)])
  })

  it('count once where they have the same bytes', async () => {
    const { ask, seen } = await serve({ buffered: 80 * mib })
    const idle = await Promise.all(Array.from({ length: 10 }, () => ask('/shared', '192.0.2.1')))
    expect(seen).toEqual([])
    expect(await Promise.all(idle.map(readAll))).toEqual(idle.map(() => 16 * mib))
    await ask('/own', '192.0.2.1')
    expect(seen).toEqual([])
  })

  it('close no connection of another address that receives the same bytes', async () => {
    const { ask, seen } = await serve({ buffered: 80 * mib })
    await ask('/shared', '192.0.2.1')
    const other = await ask('/shared', '192.0.2.2')
    await ask('/own', '192.0.2.1')
    await ask('/own', '192.0.2.1')
    expect(seen).toEqual(['unread', 'unread'])
    expect(await readAll(other)).toBe(16 * mib)
  })

  it('are not those of a stream that is read, however long it has been open', async () => {
    const { ask, seen, streams } = await serve({ buffered: 80 * mib })
    const stream = await ask('/stream', '192.0.2.1')
    let size = 0
    for await (const chunk of stream.iterator({ destroyOnReturn: false })) {
      size += (chunk as Buffer).length
      if (size === 16 * mib) break
    }
    await expect.poll(() => streams[0]?.writableNeedDrain).toBe(false)
    const idle = await ask('/own', '192.0.2.1')
    expect(seen).toEqual([])
    await ask('/own', '192.0.2.1')
    expect(seen).toEqual(['unread'])
    expect(await readAll(idle)).toBeNull()
    streams[0]?.end('the end')
    expect(await readAll(stream)).toBe('the end'.length)
  })

  it('are also the small ones that wait for a large one on their connection', async () => {
    const { askAll, seen } = await serve({ buffered: 67 * mib })
    const socket = await askAll(['/own', ...Array.from({ length: 200 }, () => '/small')], '192.0.2.1')
    await expect.poll(() => seen).toEqual(['unread'])
    socket.resume()
    await once(socket, 'close')
  })

  it('are sent when they are larger than the budget, and the only ones', async () => {
    const { ask, seen } = await serve({ buffered: mib })
    expect(await readAll(await ask('/own', '192.0.2.1'))).toBe(16 * mib)
    expect(seen).toEqual([])
  })

  it('close a connection that reads a little now and then, but too slowly', async () => {
    const { ask, seen } = await serve({ buffered: 1_000 * mib, readingTimeout: 20 })
    const response = await ask('/own', '192.0.2.1')
    const reading = setInterval(() => response.read(1_000), 10)
    onTestFinished(() => clearInterval(reading))
    await expect.poll(() => seen).toEqual(['unread'])
  })

  it('have their time from when the response before them on the connection ends', async () => {
    const { ask, askAll, seen, streams } = await serve({ buffered: 1_000 * mib, readingTimeout: 20 })
    await askAll(['/stream', '/own'], '192.0.2.1')
    await expect.poll(() => streams.length).toBe(1)
    await ask('/own', '192.0.2.1')
    await expect.poll(() => seen).toEqual(['unread'])
    expect(streams[0]?.req.socket.destroyed).toBe(false)
  })

  it('are held to this on the server itself', async () => {
    const server = await startApp({ timeouts: { ...defaultTimeouts, reading: 20 } })
    onTestFinished(() => server.stop())
    const limited = async () =>
      Number(/limited_total\{limit="unread"\} (\d+)/.exec(await server.app.metrics.print())?.[1] ?? 0)
    // The page of GraphiQL has 9 MB.
    const request = get(`${server.url}/graphql`, { headers: { accept: 'text/html' }, agent: false })
    request.on('error', () => undefined)
    onTestFinished(() => void request.destroy())
    const [response] = (await once(request, 'response')) as [IncomingMessage]
    response.on('error', () => undefined)
    expect(response.statusCode).toBe(200)
    await expect.poll(limited).toBe(1)
  })
})
