/** An API server that answers without end, contradicts itself, or has one bad object: the outage is said once, and what can be read is taken. */
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { KubeConfig } from '@kubernetes/client-node'
import { describe, expect, it, onTestFinished } from 'vitest'
import { type ApiServerLimits, createApiServer } from '../../src/ingest/clusters/api-server.ts'
import { jsonYardstick, ownStall } from '../support/stall.ts'
import { bundle } from '../support/systems/emco.ts'
import { isWatching, showing, useWatched } from './harness.ts'

const { open } = useWatched()

async function serve(answer: (query: URLSearchParams, response: ServerResponse) => void, limits: ApiServerLimits = {}) {
  const asked: URLSearchParams[] = []
  const server = createServer((request: IncomingMessage, response) => {
    const { searchParams } = new URL(request.url ?? '', 'http://x')
    asked.push(searchParams)
    answer(
      searchParams,
      response.on('error', () => undefined),
    )
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  const config = new KubeConfig()
  const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  config.loadFromClusterAndUser({ name: 'edge', server: address, skipTLSVerify: true }, { name: 'user' })
  const api = createApiServer(async () => config, limits)
  const { signal } = new AbortController()
  async function list() {
    const names: unknown[] = []
    let [others, unreadable] = [0, 0]
    for await (const part of api.list('/states', signal, true)) {
      names.push(...part.objects.map(({ object }) => (object as { name?: unknown }).name))
      others += part.others
      unreadable += part.unreadable
    }
    return { names, others, unreadable }
  }
  return { asked, api, signal, list }
}

const page = (items: string, metadata: object = { resourceVersion: '1' }): string =>
  `{"metadata":${JSON.stringify(metadata)},"items":[${items}]}`

describe('a list', () => {
  it('whose pages have no end is given up after so many pages', async () => {
    let pages = 0
    const { list, asked } = await serve(
      (_, response) => {
        pages += 1
        response.end(page('', { resourceVersion: '1', continue: `page-${pages}` }))
      },
      { mostPages: 30 },
    )
    await expect(list()).rejects.toThrow('its list does not end, after 30 pages')
    expect(asked).toHaveLength(30)
  })

  it('whose page leads to itself is given up', async () => {
    const { list, asked } = await serve((_, response) =>
      response.end(page('', { resourceVersion: '1', continue: 'same' })),
    )
    await expect(list()).rejects.toThrow('a page leads to itself')
    expect(asked).toHaveLength(2)
  })

  it('is given up when all its pages together take too long', async () => {
    let pages = 0
    const { list } = await serve(
      (_, response) => {
        pages += 1
        setTimeout(() => response.end(page('', { resourceVersion: '1', continue: `page-${pages}` })), 20)
      },
      { listTime: 100 },
    )
    await expect(list()).rejects.toThrow(/does not end/)
    expect(pages).toBeLessThan(10)
  })

  it.each([
    ['resourceVersion', { resourceVersion: '9'.repeat(50 << 20) }, 'without a resourceVersion|a text of more than'],
    ['resourceVersion of some length', { resourceVersion: '9'.repeat(1_000) }, 'without a resourceVersion'],
    ['token of the next page', { resourceVersion: '1', continue: 'x'.repeat(10_000) }, 'a token of 10000 characters'],
  ])('with a long %s is refused, without a stall', async (_, metadata, why) => {
    const body = Buffer.from(page('', metadata))
    // To send and to receive 50 MiB takes a part of it.
    const most = Math.max(150, 10 * jsonYardstick(4 << 20))
    const stall = await ownStall(most, async () => {
      const { list, asked } = await serve((_query, response) => response.end(body))
      await expect(list()).rejects.toThrow(new RegExp(why))
      expect(asked).toHaveLength(1)
    })
    expect(stall).toBeLessThan(most)
  })

  const large = `"text":"${'x'.repeat(40_000)}"`
  it.each([
    ['small', ''],
    ['large', `,${large}`],
  ])('of %s objects is taken without what is no object that can be read', async (_, more) => {
    const deep = `${'['.repeat(2_000)}${']'.repeat(2_000)}`
    const items = [
      `{"name":"a"${more}}`,
      'null',
      '7',
      '"text"',
      `{"name":"deep","x":${deep}${more}}`,
      `{"name":"b"${more}}`,
    ]
    const { list } = await serve((_query, response) => response.end(page(items.join())))
    expect(await list()).toEqual({ names: ['a', 'b'], others: 3, unreadable: 1 })
  })

  it('of an object with too many values, or too long a text, is taken without it', async () => {
    const items = [
      '{"name":"a"}',
      `{"name":"many","x":[${'{},'.repeat(500_000)}{}]}`,
      `{"name":"long","x":"${'x'.repeat(3 << 20)}"}`,
      '{"name":"b"}',
    ]
    const { list } = await serve((_query, response) => response.end(page(items.join())))
    expect(await list()).toEqual({ names: ['a', 'b'], others: 0, unreadable: 2 })
  })
})

it('events without an object are left out of a watch, and the others are taken', async () => {
  const { api, signal } = await serve((_, response) => {
    response.write(
      '{"type":"ADDED","object":null}\nnull\n7\n{"type":"MODIFIED"}\n{"type":"ADDED","object":{"name":"a"}}\n',
    )
    response.end(`{"type":"ADDED","object":{"x":${'['.repeat(1_000)}${']'.repeat(1_000)}}}\n`)
  })
  let left = 0
  const types: string[] = []
  for await (const { events, leftOut } of api.watch('/states', '1', signal)) {
    left += leftOut
    types.push(...events.map(({ object }) => JSON.stringify(object)))
  }
  expect([types, left]).toEqual([['{"name":"a"}'], 5])
})

describe('a cluster', () => {
  const messages = (logged: readonly Record<string, unknown>[], text: string) =>
    logged.map(({ msg }) => String(msg)).filter((msg) => msg.includes(text))

  it('that breaks each stream at once is said to be away once, and again when it is there', async () => {
    const { cluster, watch, put, shown, logged, connections } = await open()
    put('web', ['a'])
    const clusters = watch({ steady: 50 })
    await isWatching(cluster)
    await expect.poll(connections).toEqual(['ONLINE'])
    cluster.garble('{"type":"ADDED","object":')
    cluster.drop()
    await expect.poll(connections).toEqual(['ONLINE', 'OFFLINE'])
    const before = cluster.asked.length
    await expect.poll(() => cluster.asked.length).toBeGreaterThan(before + 20)
    expect(messages(logged, 'cannot be watched')).toHaveLength(1)
    expect(messages(logged, 'was interrupted').length).toBeLessThan(10)
    cluster.garble(null)
    await expect.poll(connections).toEqual(['ONLINE', 'OFFLINE', 'ONLINE'])
    put('web', ['a', 'b'])
    await expect.poll(() => shown()).toEqual(['web/a PRESENT', 'web/b PRESENT'])
    await clusters.stop()
  })

  it('whose refusals have another text each time is said to be away once', async () => {
    const { cluster, watch, logged, connectivity } = await open()
    cluster.refuse(503, {}, () => `it is ${Math.random()} \u202e${'x'.repeat(10_000)}`)
    const clusters = watch()
    await expect.poll(connectivity).toBe('OFFLINE')
    await expect.poll(() => cluster.asked.length).toBeGreaterThan(20)
    const [line = '', ...more] = messages(logged, 'cannot be watched')
    expect(more).toEqual([])
    expect(line.length).toBeLessThan(500)
    expect(line).not.toContain('\u202e')
    await clusters.stop()
  })

  it('with an item that is no object is watched all the same', async () => {
    const { cluster, context, watch, put, shown, logged, verdicts } = await open()
    put('web', ['a'])
    cluster.addItems([null, 7, { metadata: null }, bundle(`${context}-db`, showing('x'))])
    const clusters = watch()
    await isWatching(cluster)
    expect(await shown()).toEqual(['web/a PRESENT'])
    cluster.send('{"type":"ADDED","object":null}\n')
    put('web', ['b'])
    await expect.poll(() => shown()).toEqual(['web/b PRESENT'])
    expect(messages(logged, 'is left out')).toHaveLength(1)
    expect(verdicts).toContainEqual({ verdict: 'REFUSED', count: 4 })
    expect(logged.filter(({ level }) => level === 'error')).toEqual([])
    await clusters.stop()
  })
})
