/** Rollouts as traces: what a collector gets, whatever ends in between. */
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { defaultTimeouts } from '../../src/api/rest/guard.ts'
import type { Database } from '../../src/store/database.ts'
import { unlisted } from '../auth/published.ts'
import { type EmptyStore, postgresStores, stores } from '../support/databases/stores.ts'
import { type RunningApp, startApp } from '../support/servers/app.ts'
import { type CollectedSpan, type Collector, startCollector } from '../support/systems/collector.ts'

const traceOf = (n: number): string => String(n).repeat(32)
const parentOf = (n: number): string => `00-${traceOf(n)}-${String(n).repeat(16)}-01`
const historyOfWeb = `{ deployments(first: 1, filter: { deploymentIds: ["web-3"] }) { nodes { history(first: 10) { nodes { kind traceparent } } } } }`

const begin = Date.parse('2041-05-01T08:00:00Z')
const declare = `mutation ($deployments: [DeploymentDeclaration!]!) {
  declareDeployments(input: { rollout: { name: "vision" }, deployments: $deployments }) { __typename }
}`
const deployments = [1, 2].map((index) => ({
  ...{ deviceId: `edge-${index}`, deploymentId: `web-${index}`, application: 'web', applicationVersion: '2.0' },
  components: ['front', 'back'],
}))

describe.each(stores)('traces on $name', (store) => {
  let empty: EmptyStore
  let collector: Collector
  let server: RunningApp
  let database: Database
  let now = begin
  const env = () => ({
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
    OTEL_EXPORTER_OTLP_HEADERS: 'authorization=Bearer%20one',
    OTEL_SERVICE_NAME: 'plant',
  })

  async function report(
    index: number,
    seconds: number,
    state: string,
    components: object,
    { error, parent }: { error?: object; parent?: string } = {},
  ) {
    now = begin + seconds * 1_000
    const body = {
      deploymentId: `web-${index}`,
      status: { state, ...(error && { error }) },
      components: Object.entries(components).map(([name, each]) => ({ name, state: each })),
    }
    const path = `/device/edge-${index}/deployment/web-${index}/status`
    const answer = await server.post(path, body, parent === undefined ? {} : { traceparent: parent })
    expect(answer.ok).toBe(true)
    return ((await answer.json()) as { readonly verdict: string }).verdict
  }
  const named = (name: string): readonly CollectedSpan[] => collector.spans.filter((span) => span.name === name)

  const open = async () => {
    database = await empty.open()
    return database
  }
  const start = () =>
    startApp({ on: { ...empty, open }, env: env(), clock: () => now, timeouts: { ...defaultTimeouts, duties: 50 } })

  beforeAll(async () => {
    collector = await startCollector()
    empty = await store.create()
    server = await start()
  })
  afterAll(async () => {
    await server?.stop()
    await collector?.close()
    await empty?.drop()
  })

  it('have a span for each attempt and each of its components, with what happened in between', async () => {
    await server.query(declare, { deployments })
    await expect.poll(() => named('rollout vision')).toHaveLength(1)
    await report(1, 10, 'pending', {}, { error: { code: 'WAIT', message: 'for others' } })
    await report(1, 20, 'installing', { front: 'installing', back: 'pending' })
    await report(1, 30, 'installing', { front: 'installed', back: 'installing' })
    const error = { code: '507', message: 'disk full' }
    await report(1, 40, 'failed', { front: 'installed', back: 'failed' }, { error })
    await report(1, 60, 'installing', { front: 'installed', back: 'installing' })
    await report(1, 90, 'installed', { front: 'installed', back: 'installed' })
    await expect.poll(() => named('install web')).toHaveLength(2)

    const [rollout] = named('rollout vision')
    const [failed, installed] = named('install web')
    expect(rollout).toMatchObject({ parentSpanId: '', start: begin, end: begin, resource: { 'service.name': 'plant' } })
    const seconds = (span?: CollectedSpan) => [span?.start, span?.end].map((time) => ((time ?? 0) - begin) / 1_000)
    expect([seconds(failed), seconds(installed)]).toEqual([
      [0, 40],
      [60, 90],
    ])
    for (const span of [failed, installed])
      expect(span).toMatchObject({
        traceId: rollout?.traceId,
        parentSpanId: rollout?.spanId,
        resource: { 'service.name': 'plant' },
      })
    expect(failed).toMatchObject({ code: 2, message: '507: disk full' })
    expect(installed).toMatchObject({ code: 1, message: '' })
    expect(failed?.attributes).toMatchObject({
      ...{
        'deployment.id': 'web-1',
        'deployment.name': 'vision',
        'deployment.status': 'failed',
        'device.id': 'edge-1',
      },
      ...{ 'error.type': '507', 'rollcall.application': 'web', 'rollcall.application.version': '2.0' },
      'rollcall.attempt': 1,
    })
    expect(installed?.attributes).toMatchObject({ 'deployment.status': 'succeeded', 'rollcall.attempt': 2 })
    expect(failed?.events.map(({ name, at }) => [name, (at - begin) / 1_000])).toEqual([
      ['pending', 0],
      ['waiting', 10],
      ['installing', 20],
    ])
    const parts = (of?: CollectedSpan) =>
      collector.spans
        .filter(({ parentSpanId }) => parentSpanId === of?.spanId)
        .map((span) => [span.name, ...seconds(span), span.code])
        .toSorted()
    expect(parts(failed)).toEqual([
      ['component back', 0, 40, 2],
      ['component front', 0, 30, 1],
    ])
    expect(parts(installed)).toEqual([['component back', 60, 90, 1]])
    expect(collector.headers.every(({ authorization }) => authorization === 'Bearer one')).toBe(true)
  })

  it('wait for a collector that refuses them, and are complete afterwards', async () => {
    const sent = new Set(collector.spans.map(({ spanId }) => spanId))
    // The exporter itself sends again for some seconds after a 503, and not after a 500.
    collector.answer(500)
    await report(2, 100, 'installing', { front: 'installing', back: 'installing' })
    await report(2, 110, 'installed', { front: 'installed', back: 'installed' })
    const failures = async () => (await server.app.metrics.print()).match(/duty_failures.*traces.* (\d+)/)?.[1]
    await expect.poll(async () => Number((await failures()) ?? 0)).toBeGreaterThan(0)
    expect(server.logged.filter(({ msg }) => msg === 'traces were not exported: trying again')).toHaveLength(1)
    collector.answer(200)
    await expect.poll(() => named('install web')).toHaveLength(3)
    await expect.poll(() => server.logged.filter(({ msg }) => msg === 'traces are exported again')).toHaveLength(1)
    const ids = collector.spans.map(({ spanId }) => spanId)
    expect([...sent].every((id) => ids.includes(id))).toBe(true)
    expect(new Set(ids).size).toBe(ids.length)
  })

  it('link to the trace contexts of the requests, which are stored with the changes', async () => {
    const declaration = { deviceId: 'edge-3', deploymentId: 'web-3', application: 'linked', components: ['front'] }
    const query = declare.replace('vision', 'linked')
    await server.post('/graphql', { query, variables: { deployments: [declaration] } }, { traceparent: parentOf(1) })
    await report(3, 200, 'installing', { front: 'installing' }, { parent: parentOf(2) })
    const again = await report(3, 205, 'installing', { front: 'installing' }, { parent: parentOf(9) })
    expect(again).toBe('UNCHANGED')
    await report(3, 210, 'installed', { front: 'installing' }, { parent: 'not-a-trace' })
    await expect.poll(() => named('install linked')).toHaveLength(1)
    const linksOf = (name: string) => named(name).map(({ links }) => links.map(({ traceId }) => traceId))
    expect(linksOf('rollout linked')).toEqual([[traceOf(1)]])
    expect(linksOf('install linked')).toEqual([[traceOf(1), traceOf(2)]])
    expect(named('install linked')[0]?.links[1]?.spanId).toBe('2'.repeat(16))

    // PGlite is in memory here: it does not outlive its server.
    if (store.name === 'PostgreSQL') {
      await server.stop()
      server = await start()
    }
    const { deployments: found } = await server.query(historyOfWeb)
    const kept = found.nodes[0].history.nodes.filter(
      ({ kind }: { kind: string }) => kind === 'DEPLOYMENT_STATE_CHANGED',
    )
    expect(kept.map(({ traceparent }: { traceparent: string | null }) => traceparent)).toEqual([
      parentOf(1),
      parentOf(2),
      null,
    ])
  })

  it("take the trace context from the header of a backlog or of an orchestrator's report, for all its changes", async () => {
    const later = ['installing', 'installed'].map((state) => ({
      ...{ deviceId: 'edge-4', deploymentId: 'web-4', status: { state }, components: [] },
    }))
    await server.post('/reports', { reports: later }, { traceparent: parentOf(4) })
    const group = '/v2/projects/traced/composite-apps/app/v1/deployment-intent-groups/group'
    await server.post(`${group}/actions`, { State: 'Created' }, { traceparent: parentOf(5) })
    const ofKind = async (kind: string, after: string) => {
      const document = `{ changes(first: 100, filter: { kinds: [${kind}] ${after} }) { nodes { traceparent } } }`
      return (await server.query(document)).changes.nodes
    }
    const kept = [{ traceparent: parentOf(4) }, { traceparent: parentOf(4) }]
    expect(await ofKind('DEPLOYMENT_STATE_CHANGED', 'deploymentIds: ["web-4"]')).toEqual(kept)
    expect(await ofKind('LIFECYCLE_ACTION_RECORDED', '')).toEqual([{ traceparent: parentOf(5) }])
  })

  it('wait for a collector that is killed and started again', async () => {
    const killed = collector
    await killed.close()
    for (const [index, state] of ['installing', 'installed'].entries())
      await report(5, 300 + index * 10, state, { front: state })
    collector = await startCollector(Number(new URL(killed.url).port))
    await expect.poll(() => named('install web-5')).toHaveLength(1)
    const ids = [...killed.spans, ...collector.spans].map(({ spanId }) => spanId)
    expect(new Set(ids).size).toBe(ids.length)
  })

  it('have only values that the table of access lists', () => {
    expect(unlisted(collector.spans)).toEqual([])
  })

  it('report once that changes have expired, when the collector is available again', async () => {
    const { session } = database
    const said = () => server.logged.filter(({ msg }) => msg === 'traces are missing: their changes have expired')
    const failures = async () => {
      const [row] = await session.run<{ failures: number }>("select failures from duties where name = 'traces'")
      return row?.failures ?? 0
    }
    collector.answer(500)
    await report(6, 400, 'installing', { front: 'installing' })
    const atFirst = await failures()
    await report(6, 410, 'installed', { front: 'installed' })
    // Not before: a round that has read the first report only sends nothing, and would note its cursor afterwards.
    await expect.poll(failures).toBeGreaterThan(atFirst)
    await session.run("update duties set cursor = (select tail - 1 from log_head) where name = 'traces'")
    const before = await failures()
    await expect.poll(failures).toBeGreaterThan(before + 2)
    expect(said()).toEqual([])
    collector.answer(200)
    await expect.poll(() => said().length).toBe(1)
  })
})

describe.each(postgresStores)('traces of several servers on $name', (store) => {
  let empty: EmptyStore
  let collector: Collector
  beforeAll(async () => {
    empty = await store.create()
    collector = await startCollector()
  })
  afterAll(async () => {
    await collector?.close()
    await empty?.drop()
  })

  it('are sent by one of them, and by the other after it has ended', async () => {
    const start = () =>
      startApp({
        on: { ...empty, drop: async () => {} },
        env: { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url },
        // A lease lasts six of them. A slow machine must not lose it, or the other server sends the same spans again.
        timeouts: { ...defaultTimeouts, duties: 1_000 },
      })
    const [one, two] = [await start(), await start()]
    onTestFinished(() => two.stop())
    const play = async (round: number): Promise<void> => {
      for (const state of ['installing', 'installed'])
        await Promise.all(
          Array.from({ length: 20 }, (_, index) =>
            [one, two][index % 2 === 0 && round === 0 ? 0 : 1]?.post(
              `/device/d-${index}/deployment/r${round}-${index}/status`,
              { deploymentId: `r${round}-${index}`, status: { state }, components: [] },
            ),
          ),
        )
    }
    const attempts = () => collector.spans.filter(({ name }) => name.startsWith('install '))
    await play(0)
    await expect.poll(() => attempts().length).toBe(20)
    await one.stop()
    await play(1)
    await expect.poll(() => attempts().length).toBe(40)
    const ids = collector.spans.map(({ spanId }) => spanId)
    expect(new Set(ids).size).toBe(ids.length)
  })
})
