/** Formats that a library or another program reads: the largest hostile input below each limit stops nothing else, and none is parsed before a limit applies. */
import { once } from 'node:events'
import { createServer } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { TracesConfig } from '../../src/outlets/traces/config.ts'
import { openExporter } from '../../src/outlets/traces/exporter.ts'
import { registerAll } from '../auth/devices/devices.ts'
import { hasGit, whyNoGit } from '../support/clients/git-client.ts'
import { type RunningApp, startApp } from '../support/servers/app.ts'
import { jsonYardstick, ownStall } from '../support/stall.ts'

let server: RunningApp
beforeAll(async () => {
  server = await startApp({ env: { GIT: hasGit ? 'git' : 'off' } })
  await registerAll(server, [{ deviceId: 'edge' }])
  // What the first request loads is no stall of the others.
  await post('/git/edge.git/git-upload-pack', git, Buffer.from('0000'))
  await post('/graphql', { 'content-type': 'application/json' }, Buffer.from('{"query":"{ __typename }"}'))
})
afterAll(() => server.stop())

/** Its status. The bytes are sent as they are. `length`: what the request says that it has. */
async function post(
  path: string,
  headers: Readonly<Record<string, string>>,
  body: Buffer,
  length = body.length,
): Promise<number> {
  const { host, hostname, port } = new URL(server.url)
  const socket = connect(Number(port), hostname)
  socket.on('error', () => undefined)
  const all = { host, ...headers, 'content-length': length, connection: 'close' }
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`)
  socket.write(`POST ${path} HTTP/1.1\r\n${lines.join('')}\r\n`)
  socket.write(body)
  let answer = ''
  socket.on('data', (bytes) => {
    answer += bytes.toString('latin1').slice(0, 100)
  })
  await new Promise((resolve) => socket.once('close', resolve))
  return Number(/^HTTP\/1\.1 (\d+)/.exec(answer)?.[1])
}

const git = { 'content-type': 'application/x-git-upload-pack-request', 'git-protocol': 'version=2' }
/** Bytes of a body of Git. */
const largest = 4 << 20
const hash = (index: number): string => index.toString(16).padStart(40, 'a')
const packets = (head: string, word: string): Buffer => {
  const length = (4 + word.length + 42).toString(16).padStart(4, '0')
  const count = Math.floor((largest - 100) / (word.length + 46))
  return Buffer.from(
    `${head}${Array.from({ length: count }, (_, index) => `${length}${word} ${hash(index)}\n`).join('')}0000`,
  )
}
/** As long as reading some mebibytes of JSON at once. */
const most = 8 * jsonYardstick(1 << 20)

describe.skipIf(!hasGit)(hasGit ? 'packet lines of Git' : `Git: skipped, ${whyNoGit}`, () => {
  const fetchHead = '0012command=fetch\n0001'
  const bodies: Readonly<Record<string, Buffer>> = {
    'wants of commits that are not there': packets(fetchHead, 'want'),
    'commits that the server does not have': packets(`${fetchHead}0032want ${hash(0)}\n`, 'have'),
    'shallow commits': packets(fetchHead, 'shallow'),
    'prefixes of references': packets('0014command=ls-refs\n0001', 'ref-prefix'),
    'empty packets': Buffer.from(`${fetchHead}${'0004'.repeat(1_000_000)}0000`),
    'flush packets': Buffer.alloc(largest, '0000'),
    'a packet with a wrong length': Buffer.from('fff0x'),
    'a length that is no number': Buffer.alloc(largest, 'zzzz'),
  }

  it.each(Object.entries(bodies))('stop nothing else: %s', async (_, body) => {
    expect(body.length).toBeLessThanOrEqual(largest)
    let status = 0
    const stall = await ownStall(most, async () => {
      status = await post('/git/edge.git/git-upload-pack', git, body)
    })
    // It is answered: by Git itself, within the protocol, or by the server.
    expect([200, 400]).toContain(status)
    expect(stall).toBeLessThan(most)
  })

  it('are not read beyond the limit, also if they are compressed', async () => {
    const bomb = gzipSync(Buffer.alloc(64 << 20, '0000'))
    let statuses: number[] = []
    const stall = await ownStall(most, async () => {
      statuses = [
        await post('/git/edge.git/git-upload-pack', { ...git, 'content-encoding': 'gzip' }, bomb),
        await post('/git/edge.git/git-upload-pack', git, Buffer.from('0000'), largest + 1),
      ]
    })
    expect(statuses).toEqual([413, 413])
    expect(stall).toBeLessThan(most)
  })
})

describe('a body in parts (multipart)', () => {
  it('is refused unread, with a file or with many parts', async () => {
    const part = '--x\r\ncontent-disposition: form-data; name="a"\r\n\r\nb\r\n'
    const many = Buffer.from(`${part.repeat(Math.floor((1 << 20) / part.length))}--x--\r\n`)
    const type = { 'content-type': 'multipart/form-data; boundary=x' }
    const statuses: number[] = []
    const stall = await ownStall(most, async () => {
      for (const path of ['/graphql', '/device/edge/deployment/a/status', '/reports', '/session'])
        statuses.push(await post(path, type, many))
    })
    expect(statuses[0]).toBe(415)
    for (const status of statuses) expect(status).toBeGreaterThanOrEqual(400)
    for (const status of statuses) expect(status).toBeLessThan(500)
    expect(stall).toBeLessThan(most)
  })
})

describe('an answer of a collector in protobuf', () => {
  it('is not parsed, whatever it is, and of one that is too long the rest is not read', async () => {
    // A message in a message, and so on: a parser would have a level of its stack for each two bytes.
    const nested = Buffer.alloc(16 << 20, Buffer.from([0x0a, 0x7f]))
    const { promise: ended, resolve } = Promise.withResolvers<boolean>()
    const collector = createServer((request, response) => {
      request.resume()
      response.writeHead(200, { 'content-type': 'application/x-protobuf' }).end(nested)
      response.once('close', () => resolve(response.writableFinished))
    })
    await once(collector.listen(0, '127.0.0.1'), 'listening')
    const url = `http://127.0.0.1:${(collector.address() as AddressInfo).port}/v1/traces`
    const { send, exporter } = openExporter({ url, headers: {}, service: 'test' } as TracesConfig)
    try {
      const stall = await ownStall(most, () => send([]))
      expect(stall).toBeLessThan(most)
      // The connection was closed before all was sent.
      expect(await ended).toBe(false)
    } finally {
      await exporter.shutdown()
      collector.closeAllConnections()
      collector.close()
    }
  })
})
