/** Bodies of devices and orchestrators that are compressed. */
import { randomBytes } from 'node:crypto'
import { EventEmitter } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { gzipSync, constants as zlib, zstdCompressSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ClientGone, createBodies } from '../../src/platform/limits/bodies.ts'
import { createHeldBytes } from '../../src/platform/limits/held-bytes.ts'
import { createRefuse } from '../../src/platform/limits/limits.ts'
import { bodyOf, registerAll, statusOf } from '../auth/devices/devices.ts'
import { newKey, signed } from '../auth/devices/signing.ts'
import { type RunningApp, startApp } from '../support/servers/app.ts'

let app: RunningApp
beforeAll(async () => {
  app = await startApp()
})
afterAll(() => app.stop())

const post = (path: string, body: Uint8Array, coding: string, headers: Readonly<Record<string, string>> = {}) =>
  fetch(`${app.url}${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'content-encoding': coding, ...headers },
    body: new Uint8Array(body),
  })
const stateOf = async (id: string) => (await app.query(`{ deployment(deploymentId: "${id}") { state } }`)).deployment
const report = (id: string, more: object = {}) => JSON.stringify(bodyOf(id, more))

describe('a compressed body', () => {
  it.each([
    ['gzip', gzipSync],
    ['x-gzip', gzipSync],
    ['GZIP', gzipSync],
    ['zstd', zstdCompressSync],
  ] as const)('is taken as %s, on the routes of devices and of orchestrators', async (coding, compress) => {
    const id = `in-${coding}`
    expect((await post(statusOf('edge', id), compress(report(id)), coding)).status).toBe(201)
    expect(await stateOf(id)).toEqual({ state: 'INSTALLED' })
    const backlog = JSON.stringify({ reports: [{ ...bodyOf(`late-${coding}`), reporter: 'edge' }] })
    const { results } = await (await post('/reports', compress(backlog), coding)).json()
    expect(results).toMatchObject([{ verdict: 'APPLIED' }])
  })

  it('is signed as it was sent', async () => {
    const secure = await startApp({ env: { DEVICE_AUTH: 'signature' } })
    try {
      const key = newKey.ed25519()
      await registerAll(secure, [{ deviceId: 'press', publicKeys: [key.publicKey] }])
      const url = `${secure.url}${statusOf('press')}`
      const body = zstdCompressSync(report('pump'))
      const headers = { ...signed(key, { url, body }), 'content-type': 'application/json', 'content-encoding': 'zstd' }
      expect((await fetch(url, { method: 'POST', headers, body: new Uint8Array(body) })).status).toBe(201)
      const other = signed(key, { url, body: report('pump') })
      const sent = { ...headers, ...other }
      expect((await fetch(url, { method: 'POST', headers: sent, body: new Uint8Array(body) })).status).toBe(400)
    } finally {
      await secure.stop()
    }
  })

  it.each(['br', 'deflate', 'gzip, gzip', 'constructor'])('is refused as %s, with what is accepted', async (coding) => {
    const answer = await post(statusOf('edge'), gzipSync(report('pump')), coding)
    expect([answer.status, answer.headers.get('accept-encoding')]).toEqual([415, 'gzip, zstd'])
    expect((await answer.json()).errors).toMatchObject([{ field: 'Content-Encoding' }])
  })

  it.each([
    ['gzip', 'that is none', Buffer.from(report('pump'))],
    ['zstd', 'that is none', Buffer.from(report('pump'))],
    ['gzip', 'that ends too early', gzipSync(randomBytes(1_000)).subarray(0, 500)],
    ['zstd', 'that ends too early', zstdCompressSync(randomBytes(1_000)).subarray(0, 500)],
    ['zstd', 'whose window is 128 MiB', windowOf(27)],
  ])('is refused as %s %s', async (coding, _, body) => {
    const answer = await post(statusOf('edge'), body, coding)
    expect([answer.status, (await answer.json()).errors]).toMatchObject([400, [{ field: 'Content-Encoding' }]])
  })

  it.each([
    ['gzip', gzipSync],
    ['zstd', zstdCompressSync],
  ] as const)(
    'costs no more than the limit of its route when it is a bomb of %s, a hundred at once',
    async (coding, compress) => {
      const bomb = compress(Buffer.alloc(64 << 20, ' '))
      const before = process.memoryUsage().arrayBuffers
      const answers = await Promise.all(Array.from({ length: 100 }, () => post(statusOf('edge'), bomb, coding)))
      const statuses = new Set(answers.map(({ status }) => status))
      // 503: the budget of one address.
      expect([...statuses].filter((status) => status !== 413 && status !== 503)).toEqual([])
      expect(statuses).toContain(413)
      expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(300 << 20)
      // All that was counted is let go.
      expect(
        (await post(statusOf('edge', 'after'), compress(report('after', { message: ' '.repeat(60_000) })), coding))
          .status,
      ).toBe(201)
    },
  )
})

describe('the decoders', () => {
  const request = (address: string) =>
    ({ headers: { 'content-encoding': 'gzip' }, address }) as unknown as IncomingMessage
  const response = () => new EventEmitter() as ServerResponse
  const ofMebibyte = gzipSync(Buffer.alloc(1 << 20))
  const serve = (most: number) => {
    const refuse = createRefuse()
    return createBodies(
      createHeldBytes(most, refuse),
      1_000,
      refuse,
      (sent) => (sent as never as { address: string }).address,
    )
  }

  it('count as many bytes as a body has without its coding, until the response is complete', async () => {
    const { decode } = serve(8 << 20)
    const first = response()
    const second = () => decode(request('here'), response(), ofMebibyte, 2 << 20)
    await decode(request('here'), first, ofMebibyte, 2 << 20)
    await second()
    await expect(second()).rejects.toMatchObject({ facts: { limit: 'bufferedBytes' } })
    first.emit('close')
    await second()
  })

  it('are a few at once, and one address has half of them', async () => {
    const { decode } = serve(1 << 30)
    const ended: string[] = []
    const one = async (address: string) => {
      await decode(request(address), response(), ofMebibyte, 2 << 20)
      ended.push(address)
    }
    await Promise.all([...Array.from({ length: 40 }, () => one('there')), one('here')])
    expect(ended.indexOf('here')).toBeLessThan(20)
  })

  it('are not used for a client that is gone', async () => {
    const { decode } = serve(1 << 30)
    const gone = Array.from({ length: 8 }, response)
    const bodies = gone.map((to) => decode(request('here'), to, ofMebibyte, 2 << 20))
    for (const to of gone) to.emit('close')
    for (const body of bodies) await expect(body).rejects.toBeInstanceOf(ClientGone)
    await decode(request('here'), response(), ofMebibyte, 2 << 20)
  })
})

/** A frame of zstd that asks for a window of 2^exponent bytes (RFC 8878 §3.1.1). */
function windowOf(exponent: number): Buffer {
  const params = { [zlib.ZSTD_c_windowLog]: exponent, [zlib.ZSTD_c_contentSizeFlag]: 0 }
  const frame = zstdCompressSync(randomBytes(200_000), { params })
  // Without the flag of a single segment, the second byte of the header is the window.
  frame.writeUInt8((exponent - 10) << 3, 5)
  return frame
}
