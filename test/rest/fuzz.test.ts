/** Whatever is posted: the answer is a 2xx or a refusal, never a fault of ours, and the server goes on. */
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { someOf } from '../support/runner/depth.ts'
import { type RunningApp, startApp } from '../support/servers/app.ts'

let server: RunningApp
beforeAll(async () => {
  server = await startApp()
})
afterAll(async () => {
  expect((await fetch(`${server.url}/readyz`)).status).toBe(200)
  expect(server.logged.filter(({ level }) => level === 'error')).toEqual([])
  await server.stop()
})

// Made smaller, a failure would take longer than the test may: its seed is printed.
const sequence = { numRuns: someOf(20, 150) }
const targets = ['/device/edge-1/deployment/d-1/status', '/api/v1/deployments/d-1/status', '/reports'] as const
const target = fc.constantFrom(...targets)
const good = { deploymentId: 'd-1', status: { state: 'installed' }, components: [{ name: 'web', state: 'failed' }] }

/** Keys that mean something here, or to every object. */
const key = fc.oneof(
  fc.constantFrom(
    ...['deploymentId', 'deviceId', 'status', 'state', 'components', 'name', 'error', 'code', 'message', 'reports'],
    ...['metadata', 'rollcall', 'seq', 'boot', 'observedAt', 'adoptedManifestVersion', 'kind', 'reporter'],
    ...['__proto__', 'constructor', 'prototype', 'toString', 'hasOwnProperty', 'then'],
  ),
  fc.string(),
)
const leaf = fc.oneof(
  fc.constantFrom('installed', 'FAILED', 'd-1', 'edge-1', '', '\0', '\ud800', '2026-01-01T00:00:00Z', '1e400', '-0'),
  fc.constantFrom(0, -1, 1.5, 1e308, Number.MAX_SAFE_INTEGER, null, true),
  fc.string({ unit: 'binary' }),
  fc.double(),
)
const { tree } = fc.letrec<{ tree: unknown }>((tie) => ({
  tree: fc.oneof(
    { maxDepth: 6 },
    leaf,
    fc.array(tie('tree'), { maxLength: 5 }),
    fc.dictionary(key, tie('tree'), { maxKeys: 8, noNullPrototype: true }),
  ),
}))
/** A report of which some parts are replaced by anything. */
const nearly = fc
  .tuple(fc.dictionary(key, tree, { maxKeys: 4 }), fc.subarray(['deploymentId', 'status', 'components']))
  .map(([odd, kept]) => ({
    ...odd,
    ...Object.fromEntries(Object.entries(good).filter(([name]) => kept.includes(name as never))),
  }))

async function send(path: string, body: string | Uint8Array, type = 'application/json'): Promise<number> {
  const response = await server.post(path, body, { 'content-type': type })
  const text = await response.text()
  expect(text).not.toMatch(/\bselect\b|\binsert into\b|node:internal|\.ts:\d/i)
  expect(JSON.parse(text)).toBeTypeOf('object')
  return response.status
}
const isSound = (status: number): boolean => status < 500

describe('a body', () => {
  it('of any JSON', async () => {
    await fc.assert(
      fc.asyncProperty(target, tree, async (path, value) => isSound(await send(path, JSON.stringify(value) ?? ''))),
      sequence,
    )
  })

  it('that is nearly a report, alone and in a backlog', async () => {
    await fc.assert(
      fc.asyncProperty(target, nearly, async (path, value) =>
        isSound(await send(path, JSON.stringify(path === '/reports' ? { reports: [value, good] } : value))),
      ),
      sequence,
    )
  })

  it('of any bytes, broken UTF-8 included', async () => {
    const broken = fc.tuple(fc.uint8Array({ minLength: 1, maxLength: 8 }), fc.nat()).map(([bytes, at]) => {
      const text = Buffer.from(JSON.stringify(good))
      const place = at % text.length
      return Buffer.concat([text.subarray(0, place), bytes, text.subarray(place)])
    })
    const bytes = fc.oneof(fc.uint8Array({ maxLength: 500 }), broken)
    const types = fc.constantFrom('application/json', 'application/x-ndjson', 'application/json; charset=utf-16')
    await fc.assert(
      fc.asyncProperty(target, bytes, types, async (path, body, type) => isSound(await send(path, body, type))),
      sequence,
    )
  })

  it('with keys that come twice', async () => {
    const twice = fc.tuple(key, tree, tree).map(([name, a, b]) => {
      const named = JSON.stringify(name)
      return `{${named}:${JSON.stringify(a) ?? 0},${JSON.stringify(good).slice(1, -1)},${named}:${JSON.stringify(b) ?? 0}}`
    })
    await fc.assert(
      fc.asyncProperty(target, twice, async (path, body) => isSound(await send(path, body))),
      sequence,
    )
  })

  it('of any depth and size', async () => {
    for (const path of targets)
      for (const depth of [10, 100, 1_000, 100_000])
        for (const [open, close] of [
          ['[', ']'],
          ['{"status":', '}'],
        ] as const) {
          const inner = open.repeat(depth) + (open === '[' ? '' : '1') + close.repeat(depth)
          expect(isSound(await send(path, inner))).toBe(true)
          expect(isSound(await send(path, open.repeat(depth)))).toBe(true)
          expect(isSound(await send(path, `{"reports":[${inner}],"deploymentId":"d-1","status":${inner}}`))).toBe(true)
        }
    for (const path of targets) {
      expect(isSound(await send(path, JSON.stringify({ ...good, more: 'x'.repeat(900_000) })))).toBe(true)
      expect(isSound(await send(path, `{"components":[${'{},'.repeat(200_000)}{}]}`))).toBe(true)
      expect(isSound(await send(path, `[${'1,'.repeat(400_000)}1]`))).toBe(true)
      expect(isSound(await send(path, '9'.repeat(500_000)))).toBe(true)
    }
  })

  it('at any address', async () => {
    const segment = fc.oneof(
      fc.constantFrom('device', 'deployment', 'status', 'api', 'v1', 'margo', 'clients', '%00', '%ff', '%', '..', ''),
      fc.string({ unit: 'grapheme' }).map((text) => encodeURIComponent(text.isWellFormed() ? text : '')),
    )
    const address = fc.array(segment, { maxLength: 8 }).map((segments) => `/${segments.join('/')}`)
    await fc.assert(
      fc.asyncProperty(address, fc.constantFrom('GET', 'POST', 'PUT', 'DELETE', 'OPTIONS'), async (path, method) => {
        const response = await fetch(`${server.url}${path}`, {
          method,
          ...(method === 'POST' ? { body: JSON.stringify(good), headers: { 'content-type': 'application/json' } } : {}),
        })
        await response.arrayBuffer()
        return isSound(response.status)
      }),
      sequence,
    )
  })
})
