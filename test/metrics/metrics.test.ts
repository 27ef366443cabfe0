import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { createMetrics } from '../../src/outlets/metrics/metrics.ts'
import { type RunningApp, startApp } from '../support/servers/app.ts'
import { startReceiver } from '../support/systems/receiver.ts'

describe('the metrics of a server', () => {
  let server: RunningApp
  beforeAll(async () => {
    server = await startApp()
  })
  afterAll(() => server.stop())

  const report = (state: string, more: object = {}) => ({
    deploymentId: 'd-1',
    status: { state },
    components: [],
    ...more,
  })
  const send = (body: object) => server.post('/device/edge-1/deployment/d-1/status', body)

  it('count what it took, by verdict and dialect, and what it refused, by status', async () => {
    await send(report('installing', { adoptedManifestVersion: 2 }))
    await send(report('installing', { adoptedManifestVersion: 2 }))
    await send(report('installing', { adoptedManifestVersion: 1 }))
    await send(report('failed', { kind: 'DeploymentStatus' }))
    await send(report('sideways'))
    const seen = await scrape()
    expect(seen('rollcall_reports_total{verdict="APPLIED",dialect="margo/1.0"}')).toBe(1)
    expect(seen('rollcall_reports_total{verdict="UNCHANGED",dialect="margo/1.0"}')).toBe(1)
    expect(seen('rollcall_reports_total{verdict="STALE",dialect="margo/1.0"}')).toBe(1)
    expect(seen('rollcall_reports_total{verdict="APPLIED",dialect="margo/2024-09"}')).toBe(1)
    expect(seen('rollcall_reports_refused_total{status="422"}')).toBe(1)
    expect(seen('rollcall_reports_nonconforming_total')).toBe(1)
    expect(seen('rollcall_report_deviations_total{kind="FAILED_WITHOUT_ERROR"}')).toBe(1)
    expect(seen('rollcall_report_deviations_total{kind="DEPLOYMENT_ID_NOT_UUID"}')).toBe(4)
    expect(seen('rollcall_batch_size_sum')).toBe(4)
    expect(seen('rollcall_commit_seconds_count')).toBe(4)
  })

  it('look at the event loop at most ten times a second', async () => {
    const metrics = createMetrics()
    // Node records the time between two looks. The gauge is huge until there is one.
    const between = async (): Promise<number> => reader(await metrics.print())('nodejs_eventloop_lag_min_seconds')
    await expect.poll(between, { interval: 400 }).toSatisfy((seconds: number) => seconds > 0.05 && seconds < 1_000)
  })

  it('show how the feed stands, and what the process costs', async () => {
    const { revision } = await server.query('{ revision }')
    const seen = await scrape()
    expect(seen('rollcall_feed_revision')).toBe(Number(revision))
    expect(seen('rollcall_feed_lag_revisions')).toBe(0)
    expect(seen('rollcall_log_ahead_seconds')).toBe(0)
    expect(seen('rollcall_queue_length')).toBe(0)
    expect(seen('process_cpu_seconds_total')).toBeGreaterThan(0)
  })

  it('have every label from the start, also of what has not happened', async () => {
    const seen = await scrape()
    expect(seen('rollcall_reports_refused_total{status="503"}')).toBe(0)
    expect(seen('rollcall_limited_total{limit="bodySize"}')).toBe(0)
    expect(seen('rollcall_device_credentials_refused_total{method="token",reason="missing"}')).toBe(0)
    expect(seen('rollcall_notifications_total{kind="WEBHOOK",outcome="failed"}')).toBe(0)
    expect(seen('rollcall_reports_total{verdict="STALE",dialect="margo/2024-05"}')).toBe(0)
  })

  it('show the fleet by rollout: the newest, and the others as one', async () => {
    for (let n = 1; n <= 22; n += 1)
      await server.query(
        `mutation { declareDeployments(input: { rollout: { name: "r-${n}" }, deployments: [{ deviceId: "edge-${n}", deploymentId: "m-${n}" }] }) { __typename } }`,
      )
    const seen = await scrape()
    expect(seen('rollcall_deployments{rollout="r-22",state="pending"}')).toBe(1)
    expect(seen('rollcall_deployments{rollout="r-3",state="pending"}')).toBe(1)
    expect(() => seen('rollcall_deployments{rollout="r-2",state="pending"}')).toThrow()
    expect(seen('rollcall_deployments{rollout="(others)",state="pending"}')).toBe(2)
    expect(seen('rollcall_deployments{rollout="(others)",state="failed"}')).toBe(1)
    expect(seen('rollcall_deployment_convergence{rollout="r-22",convergence="unknown"}')).toBe(1)
    expect(seen('rollcall_stalled_deployments{rollout="r-22"}')).toBe(0)
    expect(seen('rollcall_devices{connectivity="unknown"}')).toBeGreaterThan(0)
    expect(seen('rollcall_oldest_unfinished_seconds{state="pending"}')).toBeGreaterThanOrEqual(0)
  })

  it('show who is listening, until they leave', async () => {
    const leave = new AbortController()
    const response = await fetch(`${server.url}/graphql`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', accept: 'text/event-stream' },
      body: JSON.stringify({ query: 'subscription { changes { cursor } }' }),
      signal: leave.signal,
    })
    await response.body?.getReader().read()
    const listening = async (): Promise<number> => (await scrape())('rollcall_subscribers{kind="changes"}')
    await expect.poll(listening).toBe(1)
    leave.abort()
    await expect.poll(listening).toBe(0)
  })

  async function scrape(): Promise<(name: string) => number> {
    const response = await fetch(`${server.url}/metrics`)
    expect(response.headers.get('content-type')).toMatch(/^text\/plain; version=0\.0\.4/)
    return reader(await response.text())
  }
})

describe('the metrics of a fleet of a thousand rollouts', () => {
  it('are as many series as METRICS_ROLLOUTS allows', async () => {
    const server = await startApp({ env: { METRICS_ROLLOUTS: '3' } })
    const declare = (from: number) =>
      Promise.all(
        Array.from({ length: 50 }, (_, n) =>
          server.query(
            `mutation { declareDeployments(input: { rollout: { name: "r-${from + n}" }, deployments: [{ deviceId: "e", deploymentId: "m-${from + n}" }] }) { __typename } }`,
          ),
        ),
      )
    const series = async () =>
      (await (await fetch(`${server.url}/metrics`)).text())
        .split('\n')
        .filter((line) => /^rollcall_dep.*rollout/.test(line))
    await declare(0)
    const before = await series()
    expect(before).toHaveLength(4 * 11)
    await declare(100)
    expect(await series()).toHaveLength(before.length)
    await server.stop()
  })
})

describe('the metrics of sinks, duties and clusters', () => {
  it('are those of the scrape itself, however long they take to read', async () => {
    const metrics = createMetrics()
    let failures = 0
    const soon = async <T>(read: () => T): Promise<T> => new Promise((resolve) => setImmediate(() => resolve(read())))
    const unused = async (): Promise<number> => 0
    const on = await startApp()
    onTestFinished(() => on.stop())
    metrics.observe({
      queued: () => 0,
      head: () => 0,
      subscribers: () => ({ changes: 0, states: 0 }),
      lag: unused,
      logAhead: unused,
      unannounced: unused,
      sinks: () => soon(() => [{ key: 7, kind: 'WEBHOOK', name: 'w', lag: failures, failures }]),
      duties: () => soon(() => [{ name: 'silence', ageSeconds: failures, failures, seconds: failures }]),
      clusters: () => [{ cluster: 'c', failures, waiting: failures }],
      certificates: () => [],
      fleet: { database: on.app.database, rollouts: 1, clock: Date.now },
    })
    const shown = [
      'rollcall_sink_failures{sink="7",kind="WEBHOOK",name="w"}',
      'rollcall_sink_lag_revisions{sink="7",kind="WEBHOOK",name="w"}',
      ...['age_seconds', 'failures', 'seconds'].map((name) => `rollcall_duty_${name}{duty="silence"}`),
      ...['failures', 'waiting'].map((name) => `rollcall_cluster_${name}{cluster="c"}`),
    ]
    for (failures of [3, 5, 0]) {
      const seen = reader(await metrics.print())
      expect(shown.map(seen)).toEqual(shown.map(() => failures))
    }
  })

  it('have no series of a sink that is gone', async () => {
    const receiver = await startReceiver()
    onTestFinished(() => receiver.close())
    const server = await startApp({ env: { SINK_ALLOW: '127.0.0.1' } })
    onTestFinished(() => server.stop())
    const series = async (): Promise<number> =>
      (await server.app.metrics.print()).split('rollcall_sink_failures{').length - 1
    const { createWebhook } = await server.query(
      `mutation ($url: String!) { createWebhook(input: { name: "w", url: $url }) { ... on CreateWebhookSuccess { sink { id } } } }`,
      { url: receiver.url },
    )
    expect(await series()).toBe(1)
    await server.query('mutation ($id: ID!) { deleteSink(input: { id: $id }) { __typename } }', {
      id: createWebhook.sink.id,
    })
    expect(await series()).toBe(0)
  })
})

describe('a run of STALE reports', () => {
  const stale = { verdict: 'STALE', dialect: 'test', isNonConforming: false, deviations: [] } as const
  const fresh = { ...stale, verdict: 'APPLIED' } as const

  it('is counted once per reporter when it has become one, and is over with the first other verdict', async () => {
    const metrics = createMetrics()
    for (let n = 0; n < 9; n += 1) metrics.reportRecorded({ ...stale, reporter: 'a' })
    metrics.reportRecorded({ ...fresh, reporter: 'a' })
    for (let n = 0; n < 15; n += 1) for (const reporter of ['b', 'c']) metrics.reportRecorded({ ...stale, reporter })
    const midway = reader(await metrics.print())
    expect([midway('rollcall_stale_runs_total'), midway('rollcall_stale_reporters')]).toEqual([2, 2])
    metrics.reportRecorded({ ...fresh, reporter: 'b' })
    metrics.reportRecorded({ ...fresh, reporter: 'd' })
    const later = reader(await metrics.print())
    expect([later('rollcall_stale_runs_total'), later('rollcall_stale_reporters')]).toEqual([2, 1])
  })

  it('never makes a time series of a device', async () => {
    const metrics = createMetrics()
    const length = async (): Promise<number> => (await metrics.print()).split('\n').length
    metrics.reportRecorded({ ...stale, reporter: 'x' })
    const before = await length()
    for (let n = 0; n < 1_000; n += 1) metrics.reportRecorded({ ...stale, reporter: `edge-${n}` })
    expect(await length()).toBe(before)
  })
})

function reader(text: string): (name: string) => number {
  const values = new Map(
    text.split('\n').map((line) => [line.slice(0, line.lastIndexOf(' ')), Number(line.split(' ').at(-1))]),
  )
  return (name) => {
    const value = values.get(name)
    if (value === undefined) throw new Error(`there is no ${name}`)
    return value
  }
}
