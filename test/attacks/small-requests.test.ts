/** Requests of a few kilobytes, most without a credential, that cost far more than they are. */
import { once } from 'node:events'
import { connect } from 'node:net'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { FieldProblem } from '../../src/domain/errors.ts'
import { parseLabelSelector } from '../../src/domain/selectors/label-selector.ts'
import { bytesOf } from '../../src/ingest/dialects/margo/hardware.ts'
import { readYaml } from '../../src/ingest/dialects/margo/yaml.ts'
import { pglite } from '../support/databases/stores.ts'
import { collect } from '../support/garbage.ts'
import { isWhole } from '../support/runner/depth.ts'
import { type AppOptions, startApp } from '../support/servers/app.ts'
import { jsonYardstick, threadTime } from '../support/stall.ts'

async function start(options: AppOptions = {}) {
  const server = await startApp(options)
  onTestFinished(() => server.stop())
  const { hostname, port } = new URL(server.url)
  const send = async (text: string) => {
    const socket = connect({ host: hostname, port: Number(port), allowHalfOpen: true })
    onTestFinished(() => void socket.destroy())
    socket.on('error', () => undefined)
    await once(socket, 'connect')
    socket.write(text)
    return socket
  }
  return { server, send }
}

/** Milliseconds of this thread. */
function timeOf(work: () => unknown): number {
  const began = threadTime()
  work()
  return threadTime() - began
}

describe('a small request', () => {
  it.runIf(isWhole)('for the page of GraphiQL shares its bytes with all others that are not read', async () => {
    const { server, send } = await start()
    expect(
      (await (await fetch(`${server.url}/graphql`, { headers: { accept: 'text/html' } })).text()).length,
    ).toBeGreaterThan(1e6)
    collect()
    const before = process.memoryUsage()
    const socket = await send('GET /graphql HTTP/1.1\r\nHost: a\r\nAccept: text/html\r\n\r\n'.repeat(100))
    socket.pause()
    await expect.poll(() => server.app.metrics.print()).toMatch(/nodejs_active_resources\{type="TCPSocketWrap"\}/)
    // The requests before this one have been taken.
    expect((await fetch(`${server.url}/healthz`)).status).toBe(200)
    collect()
    const { heapUsed, arrayBuffers } = process.memoryUsage()
    expect(heapUsed + arrayBuffers - before.heapUsed - before.arrayBuffers).toBeLessThan(100e6)
  })

  it.each([
    'POST /graphql HTTP/1.1\r\nHost: a b\r\nContent-Type: application/json\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}',
    'GET /graphql?query=%7Bx%7D HTTP/1.1\r\nHost: [\r\nConnection: close\r\n\r\n',
    'GET /graphql?query=%7Bx%7D HTTP/1.1\r\nHost: a<b>\r\nConnection: close\r\n\r\n',
  ])('without a host that can be read is refused, and shows no stack: %j', async (text) => {
    const { send } = await start()
    const socket = await send(text)
    let answer = ''
    for await (const chunk of socket) answer += chunk
    expect(answer).toMatch(/^HTTP\/1\.1 400 /)
    expect(answer).toContain('Host')
    expect(answer).not.toContain('node_modules')
  })

  it('is one of at most 32 that a connection begins before it reads', async () => {
    const { send } = await start()
    const answersTo = async (count: number) => {
      const last = 'GET /healthz HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n'
      const socket = await send(
        'GET /graphql?query=%7Brevision%7D HTTP/1.1\r\nHost: a\r\n\r\n'.repeat(count - 1) + last,
      )
      let answers = ''
      for await (const chunk of socket) answers += chunk
      return [...answers.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => status)
    }
    expect(await answersTo(32)).toEqual(Array.from({ length: 32 }, () => '200'))
    expect(await answersTo(500)).toEqual([...Array.from({ length: 32 }, () => '200'), '429'])
  })

  it('for an upgrade that is refused leaves no socket, also of a client that never closes', async () => {
    // Its database is no socket.
    const { server, send } = await start({ store: pglite })
    const upgrade = (path: string, more = '') =>
      `GET ${path} HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n${more}\r\n`
    const open = async () =>
      Number(/nodejs_active_resources\{type="TCPSocketWrap"\} (\d+)/.exec(await server.app.metrics.print())?.[1] ?? 0)
    // Earlier tests of this process may have left connections that they would use again.
    const before = await open()
    const clients = await Promise.all([
      send(upgrade('/nothing')),
      send(upgrade('/graphql', 'Origin: http://other.example\r\n')),
    ])
    for (const socket of clients) {
      socket.resume()
      await once(socket, 'end')
    }
    // The clients' ends stay.
    await expect.poll(open).toBeLessThanOrEqual(before + clients.length)
  })

  it('with spaces or commas by the thousand costs no more than to read it', async () => {
    const { server } = await start()
    const page = (coding: string) =>
      fetch(`${server.url}/`, { headers: { accept: 'text/html', 'accept-encoding': coding } })
    await page('br')
    // The clock of threads may tick in 10 ms.
    const much = 10 + 2 * jsonYardstick(2_000_000)
    const began = threadTime()
    expect((await page(`x${' '.repeat(15_000)}y`)).status).toBe(200)
    expect(threadTime() - began).toBeLessThan(much)
    expect(timeOf(() => expect(bytesOf(`1${' '.repeat(150_000)}x`)).toBeNull())).toBeLessThan(much)
    expect(timeOf(() => parseLabelSelector(','.repeat(15_800)))).toBeLessThan(much)
    const problems = { list: null as FieldProblem[] | null }
    expect(timeOf(() => [...readYaml(problems, `[${','.repeat(79_000)}]`)])).toBeLessThan(much)
    expect(problems.list).toHaveLength(1)
    // The library folds a text of many lines without a pause.
    const folding = { list: null as FieldProblem[] | null }
    for (const _ of readYaml(folding, `a: >\n${'  x\n'.repeat(250_000)}`));
    expect(folding.list).toEqual([{ field: '', message: expect.stringContaining('words and marks') }])
    expect(timeOf(() => parseLabelSelector(`${'a,'.repeat(7_500)}b in (c)`))).toBeLessThan(much)
  })
})
