import { once } from 'node:events'
import { createServer, get, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, expect, it, onTestFinished } from 'vitest'
import { createAdmission } from '../../src/limits/admission.ts'
import { defaultTimeouts } from '../../src/rest/guard.ts'
import { startApp } from '../support/app.ts'

const mib = 1 << 20

/** Answers `/own` with 16 MiB of each response's own, and `/shared` with the same 16 MiB, far more than what a connection takes at once. */
async function serve(options: { readonly buffered: number; readonly readingTimeout?: number }) {
  const seen: string[] = []
  const admission = createAdmission({
    limits: { rates: { address: null, device: null }, streams: null, buffered: options.buffered },
    readingTimeout: options.readingTimeout,
    proxies: ['127.0.0.1'],
    observe: (limit) => seen.push(limit),
  })
  const shared = Buffer.alloc(16 * mib)
  const server = createServer({ ServerResponse: admission.Response }, ({ url }, response) =>
    response.end(url === '/shared' ? shared : Buffer.alloc(16 * mib)),
  )
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
  return { ask, seen }
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
