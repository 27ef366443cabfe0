/** Rollcall's own requests, operations and batches as traces. */
import { once } from 'node:events'
import { createServer, get } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createClient } from 'graphql-ws'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { WebSocket } from 'ws'
import { defaultTimeouts } from '../../src/api/rest/guard.ts'
import { createMetrics, type Metrics } from '../../src/outlets/metrics/metrics.ts'
import { createRequestTraces } from '../../src/outlets/traces/requests.ts'
import { unlisted } from '../auth/published.ts'
import { stores } from '../support/databases/stores.ts'
import { type RunningApp, startApp } from '../support/servers/app.ts'
import { type CollectedSpan, type Collector, startCollector } from '../support/systems/collector.ts'

const traceOf = (n: number): string => String(n).repeat(32)
const parentOf = (n: number, flags = '01'): string => `00-${traceOf(n)}-${String(n).repeat(16)}-${flags}`
const path = '/device/edge-1/deployment/web-1/status'
const route = '/device/:deviceId/deployment/:deploymentId/status'
const bodyOf = (state: string) => ({ deploymentId: 'web-1', status: { state }, components: [] })

describe.each(stores)('traces of requests on $name', (store) => {
  let collector: Collector
  let server: RunningApp
  beforeAll(async () => {
    collector = await startCollector()
    const env = { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url, OTEL_SERVICE_NAME: 'plant', TRACE_REQUESTS: '1' }
    server = await startApp({ store, env, timeouts: { ...defaultTimeouts, spans: 50 } })
  })
  afterAll(async () => {
    await server?.stop()
    await collector?.close()
  })
  const spanOf = async (found: (span: CollectedSpan) => boolean): Promise<CollectedSpan> => {
    await expect.poll(() => collector.spans.filter(found)).toHaveLength(1)
    return collector.spans.find(found) ?? expect.unreachable()
  }
  const ofTrace = (n: number) => (span: CollectedSpan) => span.traceId === traceOf(n)
  const ask = (query: string, headers: Record<string, string>, variables = {}) =>
    server.post('/graphql', { query, variables }, headers)

  it('have a span for a report, which continues the trace of its caller, and one for its batch, which has a link to it', async () => {
    expect((await server.post(path, bodyOf('installing'), { traceparent: parentOf(1) })).status).toBe(201)
    const span = await spanOf(ofTrace(1))
    expect(span).toMatchObject({ name: `POST ${route}`, parentSpanId: '1'.repeat(16), code: 0 })
    expect(span.resource).toEqual({ 'service.name': 'plant' })
    expect(span.attributes).toEqual({
      'http.request.method': 'POST',
      'http.route': route,
      'http.response.status_code': 201,
      'url.scheme': 'http',
    })
    expect(span.end).toBeGreaterThanOrEqual(span.start)
    const batch = await spanOf(
      ({ name, links }) => name === 'write batch' && links.some(({ spanId }) => spanId === span.spanId),
    )
    expect(batch.attributes).toEqual({
      'db.operation.batch.size': 1,
      'rollcall.revision': expect.stringMatching(/^\d+$/),
    })
    expect(batch).toMatchObject({ parentSpanId: '', links: [{ traceId: traceOf(1), spanId: span.spanId }] })
    expect(batch.end).toBeGreaterThanOrEqual(batch.start)
    expect(Math.abs(batch.end - span.end)).toBeLessThan(600_000)
    const { changes } = await server.query('{ changes(first: 1) { nodes { traceparent } } }')
    expect(changes.nodes).toEqual([{ traceparent: parentOf(1) }])
  })

  it('have the type and the name of an operation, and the code of its error', async () => {
    await ask('query Fleet { revision }', { traceparent: parentOf(2) })
    expect(await spanOf(ofTrace(2))).toMatchObject({
      name: 'POST /graphql',
      attributes: {
        ...{ 'http.route': '/graphql', 'graphql.operation.type': 'query', 'graphql.operation.name': 'Fleet' },
        'http.response.status_code': 200,
      },
    })
    const wrong = `query ($at: Revision) { deployments(first: 1, atRevision: $at) { nodes { deploymentId } } }`
    await ask(wrong, { traceparent: parentOf(4) }, { at: '999999999' })
    expect(await spanOf(ofTrace(4))).toMatchObject({
      code: 2,
      message: '',
      attributes: { 'error.type': expect.stringMatching(/^[A-Z_]+$/) },
    })
  })

  it('have a span for each operation of a socket, and for an event stream', async () => {
    class Sampled extends WebSocket {
      constructor(url: string, protocol: string) {
        super(url, protocol, { headers: { traceparent: parentOf(5) } })
      }
    }
    const client = createClient({ url: `${server.url.replace('http', 'ws')}/graphql`, webSocketImpl: Sampled })
    for await (const _ of client.iterate({ query: 'query OnSocket { revision }' }));
    for await (const _ of client.iterate({
      query: 'subscription Watch { deployment(deploymentId: "web-1") { cursor } }',
    }))
      break
    const named = (name: string) => (span: CollectedSpan) => span.attributes['graphql.operation.name'] === name
    expect(await spanOf(named('OnSocket'))).toMatchObject({
      name: 'query',
      traceId: traceOf(5),
      parentSpanId: '5'.repeat(16),
    })
    expect(await spanOf(named('Watch'))).toMatchObject({ name: 'subscription', traceId: traceOf(5) })
    await client.dispose()
    const query = 'subscription Stream { deployment(deploymentId: "web-1") { cursor } }'
    const stream = await ask(query, { accept: 'text/event-stream', traceparent: parentOf(6) })
    await stream.body?.cancel()
    expect(await spanOf(ofTrace(6))).toMatchObject({
      attributes: { 'graphql.operation.type': 'subscription', 'graphql.operation.name': 'Stream' },
    })
  })

  it('contain nothing of a request but its route and the name of its operation', async () => {
    const headers = {
      traceparent: parentOf(7),
      authorization: 'Bearer hidden-1',
      cookie: 'session=hidden-2',
      'x-api-key': 'hidden-3',
    }
    await server.post('/device/hidden-4/deployment/hidden-5/status?hidden-6', bodyOf('hidden-7'), headers)
    await server.post('/hidden-8/nothing', {}, { ...headers, traceparent: parentOf(8) })
    const query =
      'query Q($hidden9: String!) { deployments(first: 1, filter: { deploymentIds: [$hidden9] }) { nodes { deploymentId } } }'
    await ask(query, { ...headers, traceparent: parentOf(9) }, { hidden9: 'hidden-10' })
    for (const n of [7, 8, 9]) await spanOf(ofTrace(n))
    expect(JSON.stringify(collector.spans)).not.toContain('hidden')
    expect(collector.spans.find(ofTrace(8))?.name).toBe('POST')
  })

  it('have no span for a request whose caller does not trace it', async () => {
    await server.post(path, bodyOf('installed'), { traceparent: parentOf(1, '00') })
    await ask('query Traced { revision }', {})
    await spanOf(({ attributes }) => attributes['graphql.operation.name'] === 'Traced')
    expect(collector.spans.filter(ofTrace(1))).toHaveLength(1)
  })

  it('are dropped and counted while the collector refuses them, and requests do not wait', async () => {
    const figure = async (outcome: string) => {
      const [, count] =
        new RegExp(`request_spans_total\\{outcome="${outcome}"\\} (\\d+)`).exec(await server.app.metrics.print()) ?? []
      return Number(count ?? 0)
    }
    expect(await figure('sent')).toBeGreaterThan(5)
    collector.answer(400)
    const before = await figure('dropped')
    for (const state of ['installing', 'installed', 'installing'])
      expect((await server.post(path, bodyOf(state))).ok).toBe(true)
    await expect.poll(() => figure('dropped')).toBeGreaterThanOrEqual(before + 6)
    expect(server.logged.filter(({ msg }) => String(msg).startsWith('spans of requests are dropped'))).toHaveLength(1)
    collector.answer(200)
    await server.post(path, bodyOf('installed'), { traceparent: parentOf(3) })
    await expect
      .poll(() => collector.spans.filter(({ name, traceId }) => name === `POST ${route}` && traceId === traceOf(3)), {
        timeout: 10_000,
      })
      .toHaveLength(1)
  })

  it('have only values that the table of access lists', () => {
    expect(unlisted(collector.spans)).toEqual([])
  })
})

function createLines() {
  const lines: string[] = []
  const note =
    (level: string) =>
    (...line: readonly unknown[]) =>
      void lines.push(`${level}: ${line.find((part) => typeof part === 'string')}`)
  return [lines, { info: note('info'), warn: note('warn') }] as const
}

describe('a collector that is killed and started again', () => {
  it('delays no request and costs bounded memory, and each span is sent or counted as dropped', async () => {
    const first = await startCollector()
    const config = { url: `${first.url}/v1/traces`, headers: {}, service: 'plant', requests: 1 }
    const metrics: Metrics = createMetrics()
    const [logged, log] = createLines()
    const traces = createRequestTraces({ config, metrics, log })
    const server = createServer((_, response) => void response.end())
    traces.watch(server)
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    const figures = async () => {
      const text = await metrics.print()
      const figure = (outcome: string) =>
        Number(new RegExp(`request_spans_total\\{outcome="${outcome}"\\} (\\d+)`).exec(text)?.[1] ?? 0)
      return { sent: figure('sent'), dropped: figure('dropped') }
    }
    const ask = async (headers: Record<string, string> = {}) => expect((await fetch(url, { headers })).status).toBe(200)
    await ask()
    await expect.poll(figures).toEqual({ sent: 1, dropped: 0 })

    await first.close()
    // More than the 2,048 that wait and the 500 on the way.
    const total = 3_000
    for (let n = 0; n < total; n += 50) await Promise.all(Array.from({ length: 50 }, () => ask()))
    await expect.poll(async () => (await figures()).dropped).toBeGreaterThanOrEqual(total - 2_548)
    expect((await figures()).sent).toBe(1)

    const second = await startCollector(Number(new URL(first.url).port))
    onTestFinished(() => second.close())
    const counted = async () => Object.values(await figures()).reduce((sum, count) => sum + count)
    await expect.poll(counted).toBe(1 + total)
    await ask({ traceparent: parentOf(1) })
    await expect.poll(() => second.spans.filter(({ traceId }) => traceId === traceOf(1)).length).toBe(1)
    await expect.poll(counted).toBe(total + 2)
    expect((await figures()).sent).toBe(1 + second.spans.length)
    expect(logged).toEqual([
      'warn: spans of requests are dropped: the collector does not accept them',
      'info: the collector accepts spans of requests again',
    ])
    await traces.stop()
    await new Promise((resolve) => {
      server.close(resolve)
      server.closeAllConnections()
    })
  })
})

describe('a share of 0', () => {
  it('traces what its caller traces, and nothing else', async () => {
    const collector = await startCollector()
    const server = await startApp({ env: { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url, TRACE_REQUESTS: '0' } })
    for (let n = 0; n < 5; n += 1) await server.post(path, bodyOf('installing'))
    await server.post(path, bodyOf('installed'), { traceparent: parentOf(1) })
    await server.stop()
    const names = collector.spans
      .map(({ name }) => name)
      .filter((name) => name.startsWith('POST') || name === 'write batch')
    expect(names.toSorted()).toEqual([`POST ${route}`, 'write batch'])
    await collector.close()
  })
})

describe('a request that has no response when the server stops', () => {
  it('has a span too', async () => {
    const collector = await startCollector()
    const config = { url: `${collector.url}/v1/traces`, headers: {}, service: 'plant', requests: 1 }
    const [logged, log] = createLines()
    const traces = createRequestTraces({ config, metrics: createMetrics(), log })
    const server = createServer()
    traces.watch(server)
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const { port } = server.address() as AddressInfo
    const asked = once(server, 'request')
    const request = get({ port, headers: { traceparent: parentOf(1) } })
    const cutOff = once(request, 'error')
    await asked
    server.closeAllConnections()
    await traces.stop()
    await cutOff
    await new Promise((resolve) => server.close(resolve))
    expect(collector.spans).toMatchObject([{ name: 'GET', traceId: traceOf(1) }])
    expect(logged).toEqual([])
    await collector.close()
  })
})
