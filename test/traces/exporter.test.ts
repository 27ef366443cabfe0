/** A collector that answers, but not to the end, holds up no later spans. */
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { expect, it, onTestFinished } from 'vitest'
import { createExporter } from '../../src/outlets/traces/exporter.ts'
import { rolloutSpan } from '../../src/outlets/traces/spans.ts'
import { startCollector } from '../support/systems/collector.ts'

const created = { revision: 1, at: 1_000, traceparent: null }
const span = rolloutSpan({ key: 1, name: 'vision', kind: 'DECLARED', project: null, created })

/** Answers with this text, and then one byte now and then. */
async function startEndless(text: string) {
  const sockets: Socket[] = []
  const server = createServer((socket) => {
    sockets.push(socket.on('error', () => undefined))
    socket.once('data', () => {
      socket.write(text)
      const drip = setInterval(() => socket.write('x'), 100)
      socket.once('close', () => clearInterval(drip))
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    open: () => sockets.filter(({ destroyed }) => !destroyed).length,
    port: (server.address() as AddressInfo).port,
    close: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve())
        for (const socket of sockets) socket.destroy()
      }),
  }
}

it.each([
  ['changes the protocol', 'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: other\r\n\r\n'],
  ['does not end its answer', 'HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n'],
])('a collector that %s', async (_, text) => {
  const endless = await startEndless(text)
  const { port } = endless
  const config = { url: `http://127.0.0.1:${port}/v1/traces`, headers: {}, service: 'plant', requests: null }
  const exporter = createExporter(config, 500)
  // More than it sends at a time.
  const sent = await Promise.allSettled(Array.from({ length: 40 }, () => exporter.send([span])))
  expect(new Set(sent.map(({ status }) => status))).toEqual(new Set(['rejected']))
  await expect.poll(endless.open).toBe(0)
  await endless.close()
  const collector = await startCollector(port)
  onTestFinished(() => collector.close())
  await exporter.send([span])
  expect(collector.spans).toHaveLength(1)
  await exporter.close()
})
