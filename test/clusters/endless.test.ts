/** An API server that sends without end: what is kept of it is bounded. */
import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { KubeConfig } from '@kubernetes/client-node'
import { expect, it, onTestFinished } from 'vitest'
import { createApiServer } from '../../src/clusters/api-server.ts'
import { isWatching, useWatched } from './harness.ts'

const { open } = useWatched()
const longestList = 4 << 20

async function serve(answer: (response: ServerResponse) => void) {
  const server = createServer((_, response) => answer(response.on('error', () => undefined)))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  const config = new KubeConfig()
  const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  config.loadFromClusterAndUser({ name: 'edge', server: address, skipTLSVerify: true }, { name: 'user' })
  return createApiServer(async () => config, { longestList })
}

async function listAll(api: Awaited<ReturnType<typeof serve>>): Promise<number> {
  let size = 0
  for await (const { items } of api.list('/states', new AbortController().signal, true)) size += items.length
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
