import { type IncomingMessage, request } from 'node:http'
import { EventSource } from 'eventsource'
import { afterAll, afterEach, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { type Api, startApi } from '../harness.ts'

const quiet = 'subscription { changes { change { kind } } }'

describe('server-sent events', () => {
  let api: Api

  beforeAll(async () => {
    api = await startApi({ graphql: { keepAlive: 50 } })
  })
  afterEach(async () => {
    await expect.poll(subscribers).toBe(0)
    await expect.poll(api.openSnapshots).toBe(0)
  })
  afterAll(() => api.close())

  const subscribers = (): number => api.road.feed.subscribers.changes + api.road.feed.subscribers.states
  const urlOf = (query: string): string => `${api.url}?${new URLSearchParams({ query })}`
  const headNow = (): Promise<string> => api.ask('{ revision }').then(({ revision }) => revision)

  /** The raw bytes, by block. */
  async function read(query: string, headers: Record<string, string> = {}, url = urlOf(query)) {
    const response = await new Promise<IncomingMessage>((resolve, reject) => {
      const client = request(url, { headers: { accept: 'text/event-stream', ...headers } }, resolve)
      client.on('error', reject)
      client.end()
    })
    // An open stream of a test that fails would keep the server from its end.
    onTestFinished(() => void response.destroy())
    response.setEncoding('utf8')
    const chunks = response[Symbol.asyncIterator]() as AsyncIterableIterator<string>
    let text = ''
    return {
      response,
      /** Blocks without comments and blank lines; null at the end. */
      async block(wanted: (block: string) => boolean = (block) => !block.startsWith(':')): Promise<string | null> {
        for (;;) {
          const end = text.indexOf('\n\n')
          if (end >= 0) {
            const block = text.slice(0, end)
            text = text.slice(end + 2)
            if (wanted(block)) return block
            continue
          }
          const { done, value } = await chunks.next()
          if (done) return null
          text += value
        }
      },
      close: () => response.destroy(),
    }
  }

  it('carry each change’s cursor as their id, selected or not', async () => {
    const after = Number(await headNow())
    const stream = await read(`subscription { changes(after: "${after}") { change { kind } } }`)
    expect(stream.response.headers['content-type']).toBe('text/event-stream; charset=utf-8')
    await api.report({ deploymentId: 'first', components: [{ name: 'web', state: 'PENDING', error: null }] })
    expect(await stream.block()).toBe(
      `id: ${after + 1}\nevent: next\ndata: {"data":{"changes":{"change":{"kind":"DEPLOYMENT_STATE_CHANGED"}}}}`,
    )
    expect(await stream.block()).toBe(
      `id: ${after + 2}\nevent: next\ndata: {"data":{"changes":{"change":{"kind":"COMPONENT_STATE_CHANGED"}}}}`,
    )
    stream.close()
  })

  it('have the same headers, however many streams there were before', async () => {
    for (const _ of [1, 2, 3]) {
      const stream = await read(quiet)
      expect(stream.response.headers['cache-control']).toBe('private, no-cache, no-transform')
      stream.close()
    }
  })

  it('send their start without `after`, so that a client disconnected at once resumes there', async () => {
    const head = await headNow()
    const stream = await read(quiet)
    expect(await stream.block()).toBe(`id: ${head}`)
    stream.close()
    await api.report({ deploymentId: 'meanwhile' })
    const resumed = await read(quiet, { 'last-event-id': head })
    expect(await resumed.block()).toMatch(new RegExp(`^id: ${Number(head) + 1}\n`))
    resumed.close()
  })

  it('resume from Last-Event-ID rather than from `after`', async () => {
    const start = Number(await headNow())
    for (const deploymentId of ['r-1', 'r-2', 'r-3']) await api.report({ deploymentId })
    const query = `subscription { changes(after: "${start}") { cursor } }`
    const stream = await read(query, { 'last-event-id': String(start + 2) })
    expect(await stream.block()).toMatch(new RegExp(`^id: ${start + 3}\n`))
    stream.close()
    const fromAfter = await read(query, { 'last-event-id': '' })
    expect(await fromAfter.block()).toMatch(new RegExp(`^id: ${start + 1}\n`))
    fromAfter.close()
  })

  it('resume a live list by the ID of its last update', async () => {
    const query = 'subscription { deployments(first: 1) { isSnapshot rows { deployment { deploymentId } } } }'
    await api.report({ deploymentId: 'listed' })
    const head = await headNow()
    const stream = await read(query)
    expect(await stream.block()).toMatch(new RegExp(`^id: ${head}\n.*\n.*"isSnapshot":true.*"listed"`))
    stream.close()
    await api.report({ deploymentId: 'listed-later' })
    const resumed = await read(query, { 'last-event-id': head })
    expect(await resumed.block()).toMatch(/^id: .*\n.*\n.*"isSnapshot":false.*"listed-later"/)
    resumed.close()
  })

  it('refuse an invalid Last-Event-ID', async () => {
    const stream = await read(quiet, { 'last-event-id': 'yesterday' })
    const event = await stream.block()
    expect(event).toContain('BAD_USER_INPUT')
    stream.close()
  })

  it('carry the cursor of a reset too', async () => {
    await api.report({})
    const stream = await read('subscription { changes(after: "1") { reset { reason } } }')
    expect(await stream.block()).toMatch(/^id: \d+\nevent: next\ndata: .*CURSOR_EXPIRED/)
    stream.close()
  })

  it('of a state carry no ID: a state starts with the present again', async () => {
    const stream = await read('subscription { deploymentCounts { counts { total } } }')
    expect(await stream.block()).toMatch(
      /^event: next\ndata: \{"data":\{"deploymentCounts":\{"counts":\{"total":\d+\}\}\}\}$/,
    )
    stream.close()
  })

  it('send comments at once and periodically to keep the connection open', async () => {
    const stream = await read('subscription { deployment(deploymentId: "none") { cursor } }')
    const isComment = (block: string): boolean => block === ':'
    expect(await stream.block((block) => isComment(block) || block.includes('next'))).toBe(':')
    expect(await stream.block(isComment)).toBe(':')
    expect(await stream.block(isComment)).toBe(':')
    stream.close()
  })

  it('reach a plain EventSource, whose own reconnection misses nothing', async () => {
    const attached = api.road.feed.hub.size
    const source = new EventSource(
      urlOf(`subscription { changes { cursor change { ... on DeploymentStateChanged { deploymentId } } } }`),
    )
    const seen: string[] = []
    const errors: unknown[] = []
    source.addEventListener('next', (event) => {
      const { changes } = JSON.parse(event.data).data
      expect(event.lastEventId).toBe(changes.cursor)
      seen.push(changes.change.deploymentId)
    })
    source.addEventListener('error', (error) => errors.push(error))
    await expect.poll(() => api.road.feed.hub.size).toBe(attached + 1)
    await api.report({ deploymentId: 'es-1' })
    await expect.poll(() => seen).toEqual(['es-1'])
    // The server stops, and changes are recorded meanwhile.
    api.cutConnections()
    await expect.poll(subscribers).toBe(0)
    await api.report({ deploymentId: 'es-2' })
    await api.report({ deploymentId: 'es-3' })
    await expect.poll(() => seen).toEqual(['es-1', 'es-2', 'es-3'])
    await api.report({ deploymentId: 'es-4' })
    await expect.poll(() => seen).toEqual(['es-1', 'es-2', 'es-3', 'es-4'])
    expect(errors.length).toBeGreaterThan(0)
    source.close()
  })

  it('end when their client disconnects, at any time', async () => {
    const streams = await Promise.all(
      [
        'changes { cursor }',
        'deploymentCounts { cursor }',
        'deployment(deploymentId: "x") { cursor }',
        'rollout(key: { name: "x" }) { cursor }',
      ].map((field) => read(`subscription { ${field} }`)),
    )
    await expect.poll(subscribers).toBe(4)
    for (const stream of streams) stream.close()
    await expect.poll(subscribers).toBe(0)
    // The client left before the response started.
    const early = Array.from({ length: 20 }, (_, i) => {
      const client = request(urlOf('subscription { deploymentCounts { cursor } }'), {
        headers: { accept: 'text/event-stream' },
      })
      client.on('error', () => undefined)
      client.end(() => setImmediate(() => (i % 2 === 0 ? client.destroy() : setTimeout(() => client.destroy(), i))))
      return client
    })
    await Promise.all(early.map((client) => new Promise((resolve) => client.once('close', resolve))))
    await expect.poll(subscribers).toBe(0)
  })

  it('leave no subscriber behind if the client does not accept event streams', async () => {
    const response = await fetch(api.url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', accept: 'application/json' },
      body: JSON.stringify({ query: 'subscription { deploymentCounts { cursor } }' }),
    })
    expect(response.status).toBe(406)
    await expect.poll(subscribers).toBe(0)
  })

  it('are closed without `complete` when the server stops, so that clients reconnect', async () => {
    const going = await startApi()
    const stream = await read(quiet, {}, `${going.url}?${new URLSearchParams({ query: quiet })}`)
    await expect.poll(() => going.road.feed.subscribers.changes).toBe(1)
    await going.graphql.dispose()
    expect(await stream.block((block) => block.includes('complete'))).toBeNull()
    expect(going.road.feed.subscribers.changes).toBe(0)
    await going.close()
  })

  it('answer a query with one result, and complete', async () => {
    const stream = await read('{ revision }')
    expect(await stream.block()).toMatch(/^event: next\ndata: \{"data":\{"revision":"\d+"\}\}$/)
    expect(await stream.block()).toBe('event: complete\ndata:')
    expect(await stream.block()).toBeNull()
  })
})

describe('a client of server-sent events that does not read', () => {
  it('gets all events up to the overflow, then OVERFLOW with the cursor to resume from', async () => {
    const capacity = 50
    const api = await startApi({ road: { feed: { capacity } } })
    const after = Number((await api.ask('{ revision }')).revision)
    // Large events fill the buffers between server and client quickly.
    const error = { code: 'E', message: 'x'.repeat(50_000) }
    const query = `subscription { changes(after: "${after}") { cursor reset { reason } change { ... on DeploymentStateChanged { error { message } } } } }`
    const stalled = await new Promise<IncomingMessage>((resolve) =>
      request(
        `${api.url}?${new URLSearchParams({ query })}`,
        { headers: { accept: 'text/event-stream' } },
        resolve,
      ).end(),
    )
    stalled.pause()
    await expect.poll(() => api.road.feed.subscribers.changes).toBe(1)
    const other = await fetch(
      `${api.url}?${new URLSearchParams({ query: 'subscription { deploymentCounts { cursor } }' })}`,
    )
    const reports = 400
    for (let i = 0; i < reports; i += 10)
      await Promise.all(
        Array.from({ length: 10 }, (_, j) => api.report({ deploymentId: `d-${i + j}`, state: 'FAILED', error })),
      )
    // Reading again: complete and in order up to the overflow.
    let text = ''
    stalled.setEncoding('utf8')
    for await (const chunk of stalled) text += chunk
    const results = [...text.matchAll(/^data: (\{.*\})$/gm)].map(([, json = '']) => JSON.parse(json).data.changes)
    const cursors = results.map(({ cursor }) => Number(cursor))
    const last = results.at(-1)
    expect(last.reset).toEqual({ reason: 'OVERFLOW' })
    expect(cursors.slice(0, -1)).toEqual(cursors.slice(0, -1).map((_, i) => after + 1 + i))
    expect(Number(last.cursor)).toBe(cursors.at(-2))
    expect(results.length).toBeLessThan(reports)
    expect(text.trimEnd().endsWith('event: complete\ndata:')).toBe(true)
    await other.body?.cancel()
    await expect.poll(() => api.road.feed.subscribers).toMatchObject({ changes: 0, states: 0 })
    await api.close()
  })
})
