/** A collector that takes connections and answers nothing. */
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { expect, it, onTestFinished } from 'vitest'
import { startApp } from '../support/servers/app.ts'

it('does not hold up the end of the server, nor its last answers', async () => {
  const sockets = new Set<Socket>()
  const collector = createServer((socket) => void sockets.add(socket.resume())).listen(0, '127.0.0.1')
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy()
    collector.close()
  })
  await once(collector, 'listening')
  const { port } = collector.address() as AddressInfo
  const server = await startApp({
    env: { OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${port}`, TRACE_REQUESTS: '1' },
  })
  const report = (id: number) =>
    server.post(`/device/edge-${id}/deployment/web-${id}/status`, {
      deploymentId: `web-${id}`,
      status: { state: 'installed' },
      components: [],
    })
  expect((await report(1)).status).toBe(201)
  // Rollouts and requests are on their way.
  await expect.poll(() => sockets.size).toBe(2)
  const body = JSON.stringify({ deploymentId: 'web-2', status: { state: 'installed' }, components: [] })
  const device = connect(server.port, '127.0.0.1').setEncoding('utf8')
  const head = 'POST /device/edge-2/deployment/web-2/status HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n'
  device.write(`${head}Content-Length: ${body.length}\r\nExpect: 100-continue\r\n\r\n`)
  expect(String(await once(device, 'data'))).toContain('100 Continue')
  const began = performance.now()
  const stopped = server.stop()
  device.write(body)
  expect(String(await once(device, 'data'))).toMatch(/^HTTP\/1\.1 201 /)
  expect(performance.now() - began).toBeLessThan(5_000)
  await stopped
  expect(performance.now() - began).toBeLessThan(9_000)
  expect(server.logged.filter(({ level }) => level === 'error')).toEqual([])
})
