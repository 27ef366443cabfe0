/** An API server that sends without end, or more than it seems: what is kept of it is bounded, and so is the time that it has. */
import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import { type AddressInfo, createServer as createTcpServer } from 'node:net'
import { KubeConfig } from '@kubernetes/client-node'
import { expect, it, onTestFinished } from 'vitest'
import { type ApiServerLimits, createApiServer } from '../../src/ingest/clusters/api-server.ts'
import { isWatching, useWatched } from './harness.ts'

const { open } = useWatched()
const longestList = 4 << 20

async function serve(answer: (response: ServerResponse) => void, limits: ApiServerLimits = { longestList }) {
  const server = createServer((_, response) => answer(response.on('error', () => undefined)))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return apiOf((server.address() as AddressInfo).port, limits)
}

function apiOf(port: number, limits: ApiServerLimits) {
  const config = new KubeConfig()
  const address = `http://127.0.0.1:${port}`
  config.loadFromClusterAndUser({ name: 'edge', server: address, skipTLSVerify: true }, { name: 'user' })
  return createApiServer(async () => config, limits)
}

async function listAll(api: Awaited<ReturnType<typeof serve>>): Promise<number> {
  let size = 0
  for await (const { objects, others } of api.list('/states', new AbortController().signal, true))
    size += objects.length + others
  return size
}

it('a list without end is refused, and the connection is closed', async () => {
  let sent = 0
  const closed = Promise.withResolvers<void>()
  const item = JSON.stringify({ note: 'x'.repeat(100_000) })
  const api = await serve((response) => {
    // It ends where no limit applies, so that this test fails then and does not fill the memory.
    const send = (): void => {
      for (let isTaken = true; isTaken && sent < 20 * longestList; sent += item.length)
        isTaken = response.write(`${sent === 0 ? '' : ','}${item}`)
      if (sent >= 20 * longestList) response.end(']}')
    }
    response.once('close', closed.resolve).on('drain', send)
    response.write('{"metadata":{"resourceVersion":"1"},"items":[')
    send()
  })
  await expect(listAll(api)).rejects.toThrow('a list of it does not end')
  await closed.promise
})

it('a list up to the limit is read', async () => {
  const items = Array.from({ length: 30 }, () => ({ note: 'x'.repeat(100_000) }))
  const api = await serve((response) => response.end(JSON.stringify({ metadata: { resourceVersion: '1' }, items })))
  expect(await listAll(api)).toBe(30)
})

it('a list of very many small values is refused before they are created', async () => {
  const items = `[${'0,'.repeat(4_000_000)}0]`
  const api = await serve((response) => response.end(`{"metadata":{"resourceVersion":"1"},"items":${items}}`), {})
  await expect(listAll(api)).rejects.toThrow('more than 4000000 values')
})

/** Sends a blank now and then, so it is never silent. */
function drip(response: ServerResponse): void {
  const timer = setInterval(() => response.write(' '), 10)
  response.once('close', () => clearInterval(timer))
}

it('a list that arrives byte by byte is given up', async () => {
  const api = await serve(drip, { listTime: 200 })
  await expect(listAll(api)).rejects.toThrow('it does not end its answer')
})

it('a watch whose event arrives byte by byte is given up when its time is over', async () => {
  const api = await serve(drip, { streamSeconds: 0.1, timeout: 200 })
  const follow = async (): Promise<void> => {
    for await (const { events } of api.watch('/states', '1', new AbortController().signal)) expect(events).toEqual([])
  }
  await expect(follow()).rejects.toThrow('it does not end its answer')
})

it('a server that changes the protocol is given up', async () => {
  const server = createTcpServer((socket) => {
    socket.on('error', () => undefined)
    socket.once('data', () =>
      socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n'),
    )
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  await expect(listAll(apiOf((server.address() as AddressInfo).port, {}))).rejects.toThrow('it changes the protocol')
})

it('a cluster with more custom resources than are kept is reported, and the rest is not kept', async () => {
  const { cluster, watch, put, shown, logged } = await open()
  put('web', ['a'])
  const clusters = watch({ mostObjects: 1 })
  await isWatching(cluster)
  expect(await shown()).toEqual(['web/a PRESENT'])
  put('db', ['a'])
  await expect
    .poll(() => logged.map(({ msg }) => String(msg)).join())
    .toContain('it has more than 1 ResourceBundleStates')
  expect(await shown()).toEqual(['web/a PRESENT'])
  await clusters.stop()
})
