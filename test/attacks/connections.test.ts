/** Clients that hold connections and send nothing, or too much, are cut off while others are answered. */
import { once } from 'node:events'
import type { Socket } from 'node:net'
import { describe, expect, it, onTestFinished } from 'vitest'
import { maxOperationsPerSocket } from '../../src/api/graphql/guards/limits.ts'
import { defaultTimeouts } from '../../src/api/rest/guard.ts'
import { isWhole } from '../support/runner/depth.ts'
import type { RunningApp } from '../support/servers/app.ts'
import { type Attacked, startAttacked } from './attacked.ts'
import { closed, openSilentSocket, openSocket, subscribe } from './transports.ts'

async function start(...options: Parameters<typeof startAttacked>): Promise<Attacked> {
  const attacked = await startAttacked(...options)
  onTestFinished(attacked.stop)
  return attacked
}

describe('a client that does not read its response', () => {
  it('is cut off, ten times', async () => {
    const { server, open, answersOthers } = await start({ OPERATION_TIMEOUT: '1' })
    await answersOthers()
    // It is rendered and compressed for the first request, which may take longer than a client may wait here.
    await expect.poll(() => pageSize(server).catch(() => 0)).toBeGreaterThan(1e6)
    const before = await socketsOf(server)
    const all = await Promise.all(Array.from({ length: 10 }, open))
    // GraphiQL's page is large: no kernel takes all of it.
    for (const { socket } of all) {
      socket.once('data', () => socket.pause())
      socket.write('GET /graphql HTTP/1.1\r\nHost: x\r\nAccept: text/html\r\n\r\n')
    }
    await Promise.all(all.map(({ socket }) => once(socket, 'data')))
    // The server's ends go, the clients' stay.
    await expect.poll(() => socketsOf(server)).toBeLessThanOrEqual(before + all.length)
    for (const { socket } of all) expect(socket.destroyed).toBe(false)
    await answersOthers()
  })
})

/** Characters of GraphiQL's page. */
async function pageSize({ url }: RunningApp): Promise<number> {
  const page = await fetch(`${url}/graphql`, { headers: { accept: 'text/html', connection: 'close' } })
  return (await page.text()).length
}

/** The sockets of this process: the server's, and its clients'. */
async function socketsOf({ app }: RunningApp): Promise<number> {
  const text = await app.metrics.print()
  return Number(/nodejs_active_resources\{type="TCPSocketWrap"\} (\d+)/.exec(text)?.[1] ?? 0)
}

/** Its response has 2 MB. */
const largeQuery = '{ devices { nodes { capabilities { document } } } }'

async function keepCapabilities(server: RunningApp): Promise<void> {
  for (let n = 0; n < 8; n += 1) {
    const properties = { id: `edge-${n}`, vendor: 'v', modelNumber: 'm', serialNumber: 's' }
    const body = { properties, note: 'x'.repeat(250_000) }
    expect((await server.post(`/device/edge-${n}/capabilities`, body)).status).toBe(201)
  }
}

describe('a WebSocket', () => {
  it('without connection_init is closed, a hundred times', async () => {
    const { server, kept, answersOthers } = await start()
    const all = await Promise.all(Array.from({ length: 100 }, () => openSilentSocket(server.url)))
    const ends = all.map((socket) => closed(kept(socket)))
    await answersOthers()
    for (const end of await Promise.all(ends)) expect(end.code).toBe(4408)
  })

  it.each([
    ['is not JSON', '{', 4400],
    ['is not of the protocol', '{"type":"nothing"}', 4400],
    ['is deep', `{"type":"subscribe","id":"1","payload":${'['.repeat(30_000)}`, 4400],
    ['comes before connection_init', '{"type":"subscribe","id":"1","payload":{"query":"{ revision }"}}', 4401],
    ['is too large', JSON.stringify({ type: 'ping', payload: { text: 'x'.repeat(70_000) } }), 1009],
    ['is binary', Buffer.from([0xff, 0xfe, 0]), 4400],
  ])('whose message %s is closed', async (_, message, code) => {
    const { server, kept, answersOthers } = await start()
    const socket = kept(await openSilentSocket(server.url))
    socket.send(message)
    expect((await closed(socket)).code).toBe(code)
    await answersOthers()
  })

  it('has at most so many operations under way, and may complete some', async () => {
    const { server, kept, answersOthers } = await start()
    const socket = kept(await openSocket(server.url))
    const query = 'subscription { changes { cursor } }'
    for (let n = 0; n < maxOperationsPerSocket; n++)
      socket.send(JSON.stringify({ type: 'subscribe', id: `${n}`, payload: { query } }))
    expect(await subscribe(socket, 'more', { query })).toMatchObject({
      errors: [{ extensions: { code: 'TOO_MANY', limit: 'operationsPerSocket', retryable: true } }],
    })
    await answersOthers()
    socket.send('{"type":"complete","id":"0"}')
    expect(await subscribe(socket, 'again', { query: '{ __typename }' })).toEqual({ data: { __typename: 'Query' } })
  })

  it('that subscribes and completes in a storm has the rate of its address', async () => {
    const now = Date.parse('2026-01-01T00:00:00Z')
    const { server, kept, answersOthers } = await start({ ADDRESS_RATE: '5' }, () => now)
    const socket = kept(await openSocket(server.url, { 'x-forwarded-for': '192.0.2.1' }))
    for (let n = 0; n < 60; n++) {
      socket.send(
        JSON.stringify({ type: 'subscribe', id: `${n}`, payload: { query: 'subscription { changes { cursor } }' } }),
      )
      socket.send(JSON.stringify({ type: 'complete', id: `${n}` }))
    }
    expect(await subscribe(socket, 'last', { query: '{ __typename }' })).toMatchObject({
      errors: [{ extensions: { code: 'TOO_MANY', limit: 'requestsPerAddress' } }],
    })
    await answersOthers()
    await expect(openSocket(server.url, { 'x-forwarded-for': '192.0.2.1' })).rejects.toThrow('429')
  })

  it('that talks without reading is cut off', async () => {
    const { server, kept, answersOthers, limited } = await start({}, undefined, defaultTimeouts)
    await keepCapabilities(server)
    const socket = kept(await openSocket(server.url))
    const { _socket: wire } = socket as unknown as { readonly _socket: Socket }
    wire.pause()
    const end = new Promise((resolve) => wire.once('close', resolve))
    let id = 0
    const storm = setInterval(() => {
      if (socket.readyState === socket.OPEN)
        socket.send(JSON.stringify({ type: 'subscribe', id: `${id++}`, payload: { query: largeQuery } }))
    }, 20)
    await expect.poll(() => limited('unread')).toBeGreaterThan(0)
    clearInterval(storm)
    wire.resume()
    await end
    expect(await limited('unread')).toBe(1)
    await answersOthers()
  })

  it('that reads nothing, but sends pings, is cut off when its reading time is over', async () => {
    const { server, kept, answersOthers, limited } = await start()
    await keepCapabilities(server)
    const socket = kept(await openSocket(server.url))
    const { _socket: wire } = socket as unknown as { readonly _socket: Socket }
    wire.pause()
    const end = new Promise((resolve) => wire.once('close', resolve))
    const pings = setInterval(() => socket.ping(), 50)
    onTestFinished(() => clearInterval(pings))
    for (let id = 0; id < 4; id += 1)
      socket.send(JSON.stringify({ type: 'subscribe', id: `${id}`, payload: { query: largeQuery } }))
    await expect.poll(() => limited('unread')).toBe(1)
    wire.resume()
    await end
    await answersOthers()
  })

  it.runIf(isWhole)(
    'that reads nothing is cut off above the budget of its address, and those of other addresses are not',
    async () => {
      const { server, kept, answersOthers, limited } = await start({ MAX_BUFFERED: '128' }, undefined, defaultTimeouts)
      await keepCapabilities(server)
      const open = async (address: string) => {
        const socket = kept(await openSocket(server.url, { 'x-forwarded-for': address }))
        const { _socket: wire } = socket as unknown as { readonly _socket: Socket }
        wire.pause()
        for (let id = 0; id < 8; id += 1)
          socket.send(JSON.stringify({ type: 'subscribe', id: `${id}`, payload: { query: largeQuery } }))
        return { end: new Promise((resolve) => wire.once('close', resolve)), socket, wire }
      }
      const other = await open('192.0.2.2')
      const idle = [await open('192.0.2.1'), await open('192.0.2.1'), await open('192.0.2.1')]
      await expect.poll(() => limited('unread')).toBeGreaterThan(0)
      for (const { wire } of idle) wire.resume()
      await idle[0]?.end
      await answersOthers()
      const all = new Promise<void>((resolve) => {
        let left = 8
        other.socket.on('message', (text) => {
          left -= Number(String(text).startsWith('{"id":"') && String(text).includes('"type":"next"'))
          if (left === 0) resolve()
        })
      })
      other.wire.resume()
      await all
    },
  )

  it('of which there are too many of one caller is closed, whatever its transport, and others’ are not', async () => {
    const { server, kept, answersOthers } = await start({ MAX_STREAMS: '3' })
    const from = { 'x-forwarded-for': '192.0.2.1' }
    const stream = (accept = 'text/event-stream'): Promise<Response> =>
      fetch(`${server.url}/graphql?query=${encodeURIComponent('subscription { changes { cursor } }')}`, {
        headers: { accept, ...from },
      })
    const [one, two] = [kept(await openSocket(server.url, from)), kept(await openSocket(server.url, from))]
    const first = await stream()
    expect(first.status).toBe(200)
    for (const accept of ['text/event-stream', 'multipart/mixed;subscriptionSpec=1.0']) {
      const refused = await stream(accept)
      expect([accept, refused.status]).toEqual([accept, 429])
      expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0)
      expect(await refused.text()).toContain('"limit":"streams"')
    }
    const fourth = kept(await openSilentSocket(server.url, from))
    fourth.send('{"type":"connection_init"}')
    expect(await closed(fourth)).toEqual({ code: 1013, reason: 'Too many sockets and event streams are open' })
    await answersOthers()
    await first.body?.cancel()
    await expect
      .poll(async () => {
        const again = await stream()
        await again.body?.cancel()
        return again.status
      })
      .toBe(200)
    one.close()
    two.close()
  })

  it('that goes during connection_init is no longer counted', async () => {
    const { server, kept } = await start({ MAX_STREAMS: '3' })
    for (let n = 0; n < 20; n++) {
      const socket = await openSilentSocket(server.url, { 'x-forwarded-for': '192.0.2.1' })
      socket.send('{"type":"connection_init"}')
      socket.terminate()
    }
    await expect
      .poll(() =>
        openSocket(server.url, { 'x-forwarded-for': '192.0.2.1' }).then((socket) => kept(socket).readyState, String),
      )
      .toBe(1)
  })
})

describe('a storm of questions', () => {
  it.runIf(isWhole)('over hundreds of connections keeps no other caller waiting for long', async () => {
    const { server, answersOthers } = await start({}, undefined, defaultTimeouts)
    const from = { 'x-forwarded-for': '192.0.2.1' }
    const query =
      '{ deployments(first: 100) { nodes { id history(first: 10) { nodes { at } } } } audit { drift { field } } }'
    const storm = Array.from({ length: 300 }, () =>
      server.post('/graphql', { query }, from).then((response) => response.json()),
    )
    await answersOthers()
    for (const answer of (await Promise.all(storm)) as { errors?: { extensions: { code: string } }[] }[])
      for (const { extensions } of answer.errors ?? []) expect(extensions.code).toMatch(/TOO_MANY|TIMED_OUT/)
  })
})
